"""Finds what a fold took out of the context: word for word, or by a question that it answers."""

from collections.abc import Iterator, Sequence
from functools import lru_cache

from midfold.documents import read_document, read_documents
from midfold.late_dataclasses import dataclass
from midfold.messages import Message, texts_of
from midfold.search import Document, Origin, SearchIndex, make_snippet, read_query

MAX_ANSWERS = 20
"""So many messages are found by a question."""

_SNIPPET_CHARS = 80


@dataclass(frozen=True, slots=True)
class OriginalMatch:
    """Where something stands in a message that is no longer in the context word for word."""

    index: int
    snippet: str
    role: str = ""
    origin: Origin = Origin.MESSAGE


class Originals:
    """The messages that a fold took out, which stay the same: equal when they are the same objects."""

    def __init__(self, before: Sequence[Message], touched: Sequence[int]) -> None:
        self.before = before
        self.touched = tuple(touched)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Originals) and other.before is self.before and other.touched == self.touched

    def __hash__(self) -> int:
        return hash((id(self.before), self.touched))

    def find(self, text: str) -> list[OriginalMatch]:
        """Find a text as it is, whatever its case, or else what answers it; with enough words, both."""
        exact = list(self._find_exact(text.casefold()))
        query = read_query(text)
        if exact and not query.asks:
            return exact
        known = {match.index for match in exact}
        found = [self.touched[ranked.number] for ranked in _index(self).search(query, MAX_ANSWERS)]
        answers = [
            self._match(index, make_snippet(texts_of(self.before[index]), query).text)
            for index in found
            if index not in known
        ]
        return exact + answers

    def documents(self) -> Iterator[Document]:
        """Yield the messages as a search sees them; what a search asked and found is empty."""
        read = read_documents(self.before)
        for index in self.touched:
            each = read[index]
            is_empty = not (each.texts or each.carried)
            yield Document(("",), each.role, each.origin) if is_empty else each

    def _find_exact(self, wanted: str) -> Iterator[OriginalMatch]:
        for index in self.touched:
            for text in texts_of(self.before[index]):
                position = text.casefold().find(wanted)
                if position >= 0:
                    start = max(0, position - _SNIPPET_CHARS // 2)
                    yield self._match(index, text[start : position + len(wanted) + _SNIPPET_CHARS // 2])
                    break

    def _match(self, index: int, snippet: str) -> OriginalMatch:
        message = self.before[index]
        return OriginalMatch(index, snippet, message.role, read_document(message).origin)


# Whoever asks once asks again; to index ten thousand messages takes a second.
@lru_cache(maxsize=1)
def _index(originals: Originals) -> SearchIndex:
    return SearchIndex(originals.documents())
