"""Requests of clients on their way through a gateway: what they say of themselves, and small changes to them.

A body is changed by copying it; fields that nothing here knows are kept.
"""

from collections.abc import Mapping

from midfold.wire import anthropic, openai_chat, openai_responses
from midfold.wire.dialect import Item, plain

_CAP_FIELDS = {
    openai_chat.DIALECT.name: ("max_completion_tokens", "max_tokens"),
    openai_responses.DIALECT.name: ("max_output_tokens",),
    anthropic.DIALECT.name: ("max_tokens",),
}
_LONG_CONTEXT_BETA = "context-1m"
_LONG_CONTEXT_TOKENS = 1_000_000
_MARKER = "cache_control"

CLIENT_HINTS = ("prompt_cache_key", "user_id")
"""The names of fields by which clients tell conversations apart."""


def find_client_hint(body: Mapping[str, object], hint: str) -> str:
    """Return the name that a client gives its conversation in a body; empty where it gives none."""
    if hint == "prompt_cache_key":
        found = body.get("prompt_cache_key")
    else:
        metadata = plain(body.get("metadata"))
        found = metadata.get("user_id") if isinstance(metadata, dict) else None
    return found if isinstance(found, str) else ""


def set_output_cap(body: Item, dialect: str, tokens: int) -> Item:
    """Return the body with another cap on the output, in the field that it uses."""
    fields = _CAP_FIELDS[dialect]
    used = next((name for name in fields if body.get(name) is not None), fields[0])
    return {**body, used: tokens}


def asked_window(betas: str) -> int | None:
    """Return the window that a client asks for with beta features; `None` is the model's usual one."""
    return _LONG_CONTEXT_TOKENS if _LONG_CONTEXT_BETA in betas else None


def has_own_marker(body: Mapping[str, object]) -> bool:
    """Whether a body leaves the choice of its cache breakpoints to the provider, which takes one of four."""
    return body.get(_MARKER) is not None
