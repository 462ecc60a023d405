"""What was made of each message of a list that grows: looked up by identity, so that only new ones cost."""

from collections.abc import Callable, Sequence
from operator import is_
from typing import Generic, TypeVar

_T = TypeVar("_T")


class Growing(Generic[_T]):
    """Remembers the last list, and what was made of each message in it.

    It is for messages that nobody changes in place, which is so for those of a conversation here.
    """

    def __init__(self, make: Callable[[Sequence[object]], Sequence[_T]]) -> None:
        """`make` makes one thing of each message that it is given."""
        self._make = make
        self._items: list[object] = []
        self._made: list[_T] = []

    def of(self, items: Sequence[object]) -> list[_T]:
        """Return what was made of these messages."""
        known = self._count_known(items)
        del self._items[known:], self._made[known:]
        new = items[known:]
        if new:
            self._made += self._make(new)
            self._items += new
        return list(self._made)

    def _count_known(self, items: Sequence[object]) -> int:
        if len(self._items) <= len(items) and all(map(is_, self._items, items)):
            return len(self._items)
        pairs = enumerate(zip(self._items, items, strict=False))
        return next((place for place, (old, new) in pairs if old is not new), len(items))
