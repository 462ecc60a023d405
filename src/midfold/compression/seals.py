"""Digests of messages, each alone and all in a chain.

To spell everything that is folded takes longer than to choose what is. An engine seals a message when it
comes and hands the seals on, as it does with sizes.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256

from midfold.messages import Message
from midfold.messages.digests import EMPTY_CHAIN, spell


@dataclass(frozen=True, slots=True)
class Seal:
    """What a message is known by."""

    digest: bytes
    """of what it says"""
    link: bytes
    """of what it says and of everything before it"""


def seal(messages: Iterable[Message], before: Sequence[Seal] = ()) -> list[Seal]:
    """Seal messages that follow those of the seals `before`."""
    link = before[-1].link if before else EMPTY_CHAIN
    seals = []
    for message in messages:
        said = spell(message)
        if said:  # what says nothing but thinking may be dropped by a client, and breaks no chain
            link = sha256(link + said).digest()
        seals.append(Seal(sha256(said).digest(), link))
    return seals


def join_digests(digests: Iterable[bytes]) -> bytes:
    """Digest messages by the digest of each, so that no two of them can look like one."""
    return sha256(b"".join(digests)).digest()
