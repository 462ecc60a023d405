"""Everything that was said in a conversation, as its store has it: read by number, and searched."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from midfold.folding import Span
from midfold.late_dataclasses import dataclass
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


@runtime_checkable
class HistoryStore(Protocol):
    """A store that has everything that was said in a conversation, folded or not."""

    def history(
        self, session_id: str, start: int = 0, stop: int | None = None
    ) -> Sequence[HistoryRecord]: ...


@runtime_checkable
class SearchedStore(HistoryStore, Protocol):
    """A store that also finds messages by what they say."""

    def find_numbers(self, session_id: str, written: Sequence[tuple[str, int]]) -> list[int | None]: ...

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
