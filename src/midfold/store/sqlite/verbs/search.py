"""Searches in SQLite: for messages by their words, for histories and folds by their digests."""

from collections.abc import Sequence

from midfold.store.base import KnownHistory, Order, SearchResults, StoredFold
from midfold.store.sqlite import folds, searching, writing
from midfold.store.sqlite.verbs.base import Verbs


class SearchVerbs(Verbs):
    """See `midfold.store.base`."""

    def search(
        self,
        query: str,
        *,
        session_id: str | None = None,
        role: str | None = None,
        tool: str | None = None,
        since: float | None = None,
        until: float | None = None,
        order: Order = Order.NEWEST,
        limit: int = 20,
    ) -> SearchResults:
        """Find messages by words, phrases and prefixes; whatever the query says, it is never an error."""
        wanted = searching.SearchRequest(query, session_id, role, tool, since, until, Order(order), limit)
        return writing.search(self._database, self._tenant, wanted)

    def find_substring(self, session_id: str, text: str, limit: int = 20) -> SearchResults:
        """Find a text letter by letter in what one session says."""
        return self._read(searching.find_substring, session_id, text, limit)

    def find_history(self, chain: Sequence[bytes]) -> KnownHistory | None:
        """Find the session that a history belongs to, by its chained digests."""
        return self._read(folds.find_history, chain)

    def find_fold(self, chain: Sequence[bytes]) -> StoredFold | None:
        """Find the fold that was made for the beginning of a history, by its chained digests."""
        return self._read(folds.find_fold, chain)
