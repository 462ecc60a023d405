"""What a caller's list has in common with what the store knows of it.

Hosts edit their lists: a tool result is put aside, a notice is added, a turn is taken back. What was folded
must be in the store all the same. So the list is written down as the caller had it: named where the store has
it, written where it has not, as a session of its own between the one that was stored and the continuation.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from midfold.store.rows import MessageRow


@dataclass(frozen=True, slots=True)
class DivergedList:
    """A list that differs from the stored one, message by message: a place in the stored one, or rows."""

    session_id: str
    stored: int
    """how many messages the store knew when this was worked out"""
    messages: tuple[int | tuple[MessageRow, ...], ...]
    late_from: int
    """from here on, stored messages came in after the list was taken and follow it"""

    @property
    def changed(self) -> tuple[int | tuple[MessageRow, ...], ...]:
        """The list up to the last message that the store has; others in it say in other words what it has."""
        stop = len(self.messages)
        while stop and not isinstance(self.messages[stop - 1], int):
            stop -= 1
        return self.messages[:stop]

    @property
    def unsaved(self) -> tuple[tuple[MessageRow, ...], ...]:
        """What comes after that: the history goes on with it."""
        return tuple(each for each in self.messages[len(self.changed) :] if not isinstance(each, int))


def align(digests: Sequence[bytes], stored: Sequence[Sequence[bytes]]) -> list[int | None]:
    """Return, for each message, the stored one that says the same; the order is kept on both sides."""
    names = {digest: either[0] for either in stored for digest in either}
    ours = [names.get(digest, digest) for digest in digests]
    matcher = SequenceMatcher(None, ours, [either[0] for either in stored], autojunk=False)
    places: list[int | None] = [None] * len(digests)
    for block in matcher.get_matching_blocks():
        for offset in range(block.size):
            places[block.a + offset] = block.b + offset
    return places


def find_late(places: Sequence[int | None], stored: int) -> int:
    """Return where stored messages begin that are newer than a list.

    A list that ends otherwise than the stored one has taken another way, and nothing follows it.
    """
    last = places[-1] if places else None
    return stored if last is None else last + 1
