"""Digests that recognise a history when a client sends it again.

Clients move cache markers every turn, switch between string and block spelling, drop old thinking and
re-serialise arguments. None of that is covered here, so it cannot break a chain.
"""

import json
from collections.abc import Iterable
from hashlib import sha256
from typing import assert_never

from midfold.messages.parts import (
    Media,
    Message,
    Opaque,
    Part,
    Reasoning,
    Removed,
    Text,
    ToolCall,
    ToolResult,
)

EMPTY_CHAIN = b""
"""The chained digest before the first message."""

_canonical = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode
_read_json = json.JSONDecoder().raw_decode  # a third of the time of json.loads on texts this short


def digest(message: Message) -> bytes | None:
    """Return the SHA-256 of what the message says, or `None` when it says nothing but thinking."""
    said = _spell(message)
    return sha256(said).digest() if said else None


def chain_digests(messages: Iterable[Message], start: bytes = EMPTY_CHAIN) -> list[bytes]:
    """Return, for each message, a digest of it and everything before it.

    A message that says nothing (thinking alone) repeats the digest before it, so that a client may drop it.
    """
    chain = []
    link = start
    for message in messages:
        said = _spell(message)
        if said:
            link = sha256(link + said).digest()
        chain.append(link)
    return chain


def _spell(message: Message) -> bytes:
    """Spell what a digest covers of a message; empty when that is nothing."""
    said = "".join([_spell_part(part) for part in message.parts])
    return f"{message.role}\n{said}".encode("utf-8", "surrogatepass") if said else b""


def _spell_part(part: Part) -> str:
    """Spell a part with its length before each free text, so that no two parts can look like one."""
    if isinstance(part, Text):
        return f"t{len(part.text)}:{part.text}" if part.text else ""
    if isinstance(part, ToolResult):
        media = "".join([_spell_part(item) for item in part.media]) if part.media else ""
        return f"r{len(part.call_id)}:{part.call_id}{len(part.text)}:{part.text}{media}"
    if isinstance(part, ToolCall):
        arguments = _spell_arguments(part.arguments)
        return f"c{len(part.id)}:{part.id}{len(part.name)}:{part.name}{len(arguments)}:{arguments}"
    if isinstance(part, Media):
        return f"m{part.kind}{len(part.source)}:{part.source}"
    if isinstance(part, Opaque):
        return f"o{len(part.kind)}:{part.kind}{len(part.text)}:{part.text}"
    if isinstance(part, Reasoning | Removed):
        return ""
    assert_never(part)


def _spell_arguments(arguments: str) -> str:
    """Spell arguments by keys in order, as clients parse and dump them anew; odd text stays as it is."""
    text = arguments.strip()
    try:
        value, end = _read_json(text)
        if end != len(text):
            return arguments
        if not isinstance(value, dict):
            return _spell_value(value)
        return "".join([f"{len(key)}:{key}{_spell_value(value[key])}" for key in sorted(value)])
    except (ValueError, RecursionError):
        return arguments


def _spell_value(value: object) -> str:
    # Nearly all arguments are texts and numbers, and to encode each would cost more than to hash it.
    if isinstance(value, str):
        return f"s{len(value)}:{value}"
    return repr(value) if value is None or isinstance(value, (int, float)) else _canonical(value)
