"""Everything that was said in a conversation, as its store has it: read by number, and searched."""

from bisect import bisect_left
from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from midfold.folding import Span
from midfold.late_dataclasses import dataclass, field
from midfold.messages import Message
from midfold.search import Origin
from midfold.wire import detect, parse


class HistoryRecord(Protocol):
    """A message as a store keeps it, and where it was written."""

    @property
    def session_id(self) -> str: ...

    @property
    def seq(self) -> int: ...

    @property
    def item(self) -> object: ...

    @property
    def created_at(self) -> float: ...


class HistoryHit(Protocol):
    """A message that a search found."""

    @property
    def session_id(self) -> str: ...

    @property
    def seq(self) -> int: ...

    @property
    def role(self) -> str: ...

    @property
    def snippet(self) -> str: ...

    @property
    def origin(self) -> Origin: ...

    @property
    def created_at(self) -> float: ...


class HistoryHits(Protocol):
    """The messages that a search found, the best first."""

    @property
    def hits(self) -> Sequence[HistoryHit]: ...


class HistorySession(Protocol):
    """The record of a session in a store."""

    @property
    def message_count(self) -> int: ...


@runtime_checkable
class HistoryStore(Protocol):
    """A store that has everything that was said in a conversation, folded or not."""

    def history(
        self, session_id: str, start: int = 0, stop: int | None = None
    ) -> Sequence[HistoryRecord]: ...


@runtime_checkable
class SearchedStore(HistoryStore, Protocol):
    """A store that also finds messages by what they say."""

    def session(self, session_id: str) -> HistorySession: ...

    def search(
        self,
        query: str,
        *,
        session_id: str | None = None,
        role: str | None = None,
        since: float | None = None,
        until: float | None = None,
        limit: int = 20,
    ) -> HistoryHits: ...


@dataclass(frozen=True, slots=True)
class NumberedMessage:
    """A message of the whole conversation under its number."""

    number: int
    message: Message
    created_at: float | None = None


@dataclass(frozen=True, slots=True)
class SearchedMessage:
    """A message that was found, with the passage that answers best."""

    number: int
    role: str
    text: str
    created_at: float | None = None


def read_numbered(store: HistoryStore, session_id: str, spans: Sequence[Span]) -> list[NumberedMessage]:
    """Read messages by their numbers, in order."""
    found: list[NumberedMessage] = []
    for span in spans:
        records = store.history(session_id, span.start, span.stop)
        items = [record.item for record in records]
        messages = parse(items, detect(items)) if items else []
        found += [
            NumberedMessage(number, message, record.created_at)
            for number, (message, record) in enumerate(zip(messages, records, strict=True), span.start)
        ]
    return found


@dataclass(slots=True)
class HistoryNumbers:
    """Says which number a message has that was written as message `seq` of some session.

    The messages that a session wrote follow one another, so one look at the first of them is enough.
    """

    store: SearchedStore
    session_id: str
    _shifts: dict[str, int] = field(default_factory=dict)
    """what to add to a `seq`, by session"""
    _newest: str = ""
    _start: int = 0
    """the number of the first message that the newest of these sessions wrote"""

    def find(self, session_id: str, seq: int) -> int | None:
        """Return the number of a message; `None` where the conversation does not have it."""
        while session_id not in self._shifts:
            start = self._end_of_newest()
            first = next(iter(self.store.history(self.session_id, start, start + 1)), None)
            if first is None or first.session_id in self._shifts:
                return None
            self._shifts[first.session_id] = start - first.seq
            self._newest, self._start = first.session_id, start
        return seq + self._shifts[session_id]

    def _end_of_newest(self) -> int:
        """Return the number behind all that the newest known session wrote and this conversation has."""
        if not self._newest:
            return 0
        written = self.store.session(self._newest).message_count
        numbers = range(self._start, self._start + written + 1)
        # A branch has only the beginning of what its parent wrote.
        return self._start + bisect_left(numbers, True, key=lambda number: not self._is_of_newest(number))

    def _is_of_newest(self, number: int) -> bool:
        found = self.store.history(self.session_id, number, number + 1)
        return bool(found) and found[0].session_id == self._newest
