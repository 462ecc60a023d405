"""Digests that recognise a history when a client sends it again.

Clients move cache markers every turn, switch between string and block spelling, drop old thinking and
re-serialise arguments. None of that is covered here, so it cannot break a chain.
"""

from collections.abc import Iterable
from hashlib import sha256

from midfold.messages.parts import Message

EMPTY_CHAIN = b""
"""The chained digest before the first message."""


def digest(message: Message) -> bytes | None:
    """Return the SHA-256 of what the message says, or `None` when it says nothing but thinking."""
    said = spell(message)
    return sha256(said).digest() if said else None


def chain_digests(messages: Iterable[Message], start: bytes = EMPTY_CHAIN) -> list[bytes]:
    """Return, for each message, a digest of it and everything before it.

    A message that says nothing (thinking alone) repeats the digest before it, so that a client may drop it.
    """
    return chain_spelled(map(spell, messages), start)


def chain_spelled(spelled: Iterable[bytes], start: bytes = EMPTY_CHAIN) -> list[bytes]:
    """Chain messages that were spelled before."""
    chain = []
    link = start
    for said in spelled:
        if said:
            link = sha256(link + said).digest()
        chain.append(link)
    return chain


def spell(message: Message) -> bytes:
    """Spell what a digest covers of a message; empty when that is nothing."""
    parts = message.parts
    said = parts[0].said() if len(parts) == 1 else "".join([part.said() for part in parts])
    return f"{message.role}\n{said}".encode("utf-8", "surrogatepass") if said else b""
