"""What a provider has cached of a conversation: the beginning that two requests have in common.

A prompt cache holds tools, then the system prompt, then messages, and one changed character makes everything
after it cold. Digests of each piece say which changed first, without keeping what was sent.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256

from midfold.wire import plain, strip_cache_control

_MARKER = '"cache_control"'
TOOLS = "tools"
SYSTEM = "system prompt"


@dataclass(frozen=True, slots=True)
class Prefix:
    """The pieces of a request, each as a digest of its bytes; markers are no part of it."""

    tools: bytes
    system: bytes
    messages: tuple[bytes, ...]

    def first_change(self, later: "Prefix") -> str | None:
        """Name the first piece of this request that a later one changed or lacks; `None` if it holds all."""
        if later.tools != self.tools:
            return TOOLS
        if later.system != self.system:
            return SYSTEM
        if later.messages[: len(self.messages)] == self.messages:
            return None
        pairs = enumerate(zip(self.messages, later.messages, strict=False))
        changed = next((index for index, (old, new) in pairs if old != new), len(later.messages))
        return f"message {changed}"


def digest_request(
    messages: Sequence[object], system: object = None, tools: Sequence[object] | None = None
) -> Prefix:
    """Digest a request as it is sent, piece by piece."""
    return Prefix(
        _digest(list(tools or ())), _digest(system), tuple([_digest(message) for message in messages])
    )


def _digest(value: object) -> bytes:
    spelled = _spell(value)
    if _MARKER in spelled:
        spelled = _spell(strip_cache_control([value])[0][0])
    return sha256(spelled.encode("utf-8", "surrogatepass")).digest()


def _spell_other(value: object) -> object:
    known = plain(value)
    return known if known is not value else repr(value)


_spell = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=_spell_other).encode
