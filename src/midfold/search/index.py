"""An index in memory: the ranking for what no store holds."""

from collections.abc import Collection, Iterable, Mapping, Sequence

from midfold.search.documents import Document, Ranked
from midfold.search.query import Key, Query, read_query
from midfold.search.ranking import rank
from midfold.search.terms import terms_in


class SearchIndex:
    """Documents that are found by what they say; their numbers are those of the order they were added in."""

    def __init__(self, documents: Iterable[Document] = ()) -> None:
        self._documents: list[Document] = []
        self._lengths: list[int] = []
        self._numbers: dict[str, list[int]] = {}
        for document in documents:
            self.add(document)

    def add(self, document: Document) -> int:
        """Add a document and return its number."""
        number = len(self._documents)
        terms = set(terms_in("\n".join((*document.texts, *document.carried))))
        self._documents.append(document)
        self._lengths.append(len(terms))
        for term in terms:
            self._numbers.setdefault(term, []).append(number)
        return number

    def search(self, query: Query | str, limit: int = 5) -> list[Ranked]:
        """Return the documents that answer a query best."""
        return rank(read_query(query) if isinstance(query, str) else query, self, limit)

    @property
    def total(self) -> int:
        """The number of documents."""
        return len(self._documents)

    def find(self, keys: Sequence[Key], most: int) -> Sequence[int]:
        """Return the documents that have all of these terms, the newest first."""
        lists = sorted((self._find(key) for key in keys), key=len)
        found = lists[0] if lists else []
        for others in lists[1:]:
            kept = set(others)
            found = [number for number in found if number in kept]
        return found[: -most - 1 : -1]

    def _find(self, key: Key) -> list[int]:
        if not key.is_prefix:
            return self._numbers.get(key.term, [])
        return sorted(
            {
                number
                for term, numbers in self._numbers.items()
                if term.startswith(key.term)
                for number in numbers
            }
        )

    def lengths(self, numbers: Collection[int]) -> Mapping[int, int]:
        """Return of how many terms documents are made."""
        return {number: self._lengths[number] for number in numbers}

    def neighbours(self, numbers: Collection[int]) -> Mapping[int, tuple[int | None, int | None]]:
        """Return what was added right before and right after documents."""
        last = len(self._documents) - 1
        return {
            number: (number - 1 if number else None, number + 1 if number < last else None)
            for number in numbers
        }

    def read(self, numbers: Collection[int]) -> Mapping[int, Document]:
        """Return documents by their numbers."""
        return {number: self._documents[number] for number in numbers}
