"""Tools that nothing uses: their schemas can be left out of requests until something names them.

They are left out at a fold alone, as the provider's cache of the prompt begins anew there anyway.
"""

import re
from collections.abc import Iterable, Sequence

from midfold.late_patterns import compile_late
from midfold.messages import Message, ToolCall, texts_of

LEAST_CALLS = 20
"""Calls of other tools after which one that was not called is idle."""
_WORD = compile_late(r"[A-Za-z0-9_-]{1,64}", re.ASCII)
_REMARK = compile_late(r"\[Tools left out, [^\]]{0,4000}\]")


def find_idle_tools(names: frozenset[str], messages: Sequence[Message], system: str) -> frozenset[str]:
    """Return the tools that no message calls or names, where there were many calls of others."""
    called = [part.name for message in messages for part in message.parts if isinstance(part, ToolCall)]
    if len(called) < LEAST_CALLS:
        return frozenset()
    waiting = names.difference(called, _WORD.findall(system))
    return waiting - find_named_tools(waiting, messages)


def find_named_tools(names: frozenset[str], messages: Iterable[Message]) -> frozenset[str]:
    """Return the tools that messages name, but for the remark that they are left out."""
    found: set[str] = set()
    for message in messages:
        for text in texts_of(message):
            found |= names.intersection(_WORD.findall(_REMARK.sub("", text)))
    return frozenset(found)


def write_remark(names: Iterable[str]) -> str:
    """Tell the model which tools are left out, and how to get one back."""
    listed = ", ".join(sorted(names))
    return (
        f"[Tools left out, since nothing used them for long: {listed}. Name one in your answer, and it is "
        "offered again.]"
    )


def write_notice(names: Iterable[str]) -> str:
    """Tell the user the same."""
    listed = ", ".join(sorted(names))
    return (
        f"Tools that nothing used for long are left out of requests until something names them: {listed}. "
        "context.prune_tools: false stops that."
    )
