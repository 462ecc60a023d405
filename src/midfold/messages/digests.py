"""Digests that recognise a history when a client sends it again.

Clients move cache markers every turn, switch between string and block content, drop old thinking,
re-serialise arguments and reword their system prompt. None of that is covered here, so it cannot break a
chain.
"""

from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from typing import NamedTuple

from midfold.messages.parts import SYSTEM_ROLES, Message

EMPTY_CHAIN = b""
"""The chained digest before the first message."""

_VERSION = b"\x02"
"""Part of every link, so that digests of another version never match by chance."""
_OWN_BYTES = 16


class MessageDigest(NamedTuple):  # one is made for every message, which a tuple does in half the time
    """The digest of one message."""

    own: bytes
    """of what the message says"""
    chained: bytes
    """of what the message says and of everything before it"""


def canonical_bytes(message: Message) -> bytes:
    """Write what a digest covers of a message; empty when that is nothing."""
    parts = message.parts
    said = parts[0].canonical() if len(parts) == 1 else "".join([part.canonical() for part in parts])
    return f"{message.role}\n{said}".encode("utf-8", "surrogatepass") if said else b""


def own_digest(message: Message) -> bytes:
    """Digest what one message says; it is worked out once."""
    facts = message.facts
    if facts.digest is None:
        facts.digest = hash_canonical(canonical_bytes(message))
    return facts.digest


def hash_canonical(canonical: bytes) -> bytes:
    """Digest what one message says, by its canonical bytes."""
    return sha256(canonical).digest()[:_OWN_BYTES]


SILENT = hash_canonical(b"")
"""The own digest of every message that says nothing."""


def digest(message: Message) -> bytes | None:
    """Return the digest of what the message says, or `None` when it says nothing but thinking."""
    own = own_digest(message)
    return None if own == SILENT else own


def link(chained: bytes, own: bytes, role: str) -> bytes:
    """Return the chained digest after one more message.

    A message that says nothing (thinking alone) repeats the digest before it, so that a client may drop it;
    so does the system prompt at the start, which clients reword as they like.
    """
    if own == SILENT or (not chained and role in SYSTEM_ROLES):
        return chained
    return sha256(_VERSION + chained + own).digest()


def digest_messages(
    messages: Iterable[Message], before: Sequence[MessageDigest] = ()
) -> Iterator[MessageDigest]:
    """Yield the digest of each message; the messages follow those of the digests `before`."""
    chained = before[-1].chained if before else EMPTY_CHAIN
    for message in messages:
        own = own_digest(message)
        chained = link(chained, own, message.role)
        yield MessageDigest(own, chained)


def chain_digests(messages: Iterable[Message]) -> list[bytes]:
    """Return, for each message, the digest of it and everything before it."""
    chain, chained = [], EMPTY_CHAIN
    for message in messages:
        chained = link(chained, own_digest(message), message.role)
        chain.append(chained)
    return chain


def join_digests(digests: Iterable[bytes]) -> bytes:
    """Digest several messages by the own digest of each."""
    return sha256(b"".join(digests)).digest()
