"""Searches in SQLite: for messages by their words, for histories and folds by their digests."""

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from midfold.late_dataclasses import dataclass, replace
from midfold.search import SNIPPET_CHARS, Snippet, make_snippet, make_substring_snippet, read_query
from midfold.store.codec import DAMAGED_TEXT, DamagedRow, stored_texts
from midfold.store.sqlite.fold_rows import find_fold, find_history
from midfold.store.sqlite.row_scan import UNREADABLE
from midfold.store.sqlite.search.conditions import MessageFilters, to_match
from midfold.store.sqlite.search.find import MAX_ROWS, find, scan
from midfold.store.sqlite.search.found import COLUMNS, FoundMessage
from midfold.store.sqlite.session_rows import find_session
from midfold.store.sqlite.tenant import TenantStore
from midfold.store.values import Hit, KnownHistory, Order, SearchResults, StoredFold

_NAMED = "SELECT rowid FROM message_words WHERE message_words MATCH ? ORDER BY rowid DESC LIMIT ?"
_BY_ID = f"""
    SELECT {COLUMNS} FROM messages m JOIN sessions s ON s.key = m.session WHERE m.id = ? AND m.tenant = ?
"""  # noqa: S608 - constants only


class SqliteSearch(TenantStore):
    """See `midfold.store.base.Search`."""

    def search(
        self,
        query: str,
        *,
        session_id: str | None = None,
        role: str | None = None,
        tool: str | None = None,
        since: float | None = None,
        until: float | None = None,
        order: Order = Order.RELEVANCE,
        limit: int = 20,
        snippet_chars: Sequence[int] = (SNIPPET_CHARS,),
    ) -> SearchResults:
        """Find messages by words, questions, phrases and prefixes; no query is an error."""
        shown = tuple(snippet_chars) or (SNIPPET_CHARS,)
        request = SearchRequest(query, session_id, role, tool, since, until, Order(order), limit, shown)
        is_whole = self._database.index_all()
        found = self._database.read_around_damage(
            lambda each: _search(each, self._tenant, request),
            lambda each: _search_damaged(each, self._tenant, request),
        )
        return found if is_whole else replace(found, is_incomplete=True)

    def find_substring(self, session_id: str, text: str, limit: int = 20) -> SearchResults:
        """Find a text letter by letter in what one session says."""
        return self._database.read(_find_substring, self._tenant, session_id, text, limit)

    def find_history(self, chain: Sequence[bytes], *, session_id: str | None = None) -> KnownHistory | None:
        """Find the session that a history belongs to, by its chained digests."""
        return self._database.read(find_history, self._tenant, chain, session_id)

    def find_fold(self, chain: Sequence[bytes], *, session_id: str | None = None) -> StoredFold | None:
        """Find the fold that was made for the beginning of a history, by its chained digests."""
        return self._database.read(find_fold, self._tenant, chain, session_id)


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """The arguments of a search; see `SessionStore.search`."""

    query: str
    session_id: str | None
    role: str | None
    tool: str | None
    since: float | None
    until: float | None
    order: Order
    limit: int
    snippet_chars: tuple[int, ...]

    def chars_at(self, place: int) -> int:
        """Return how much of a hit is shown."""
        return self.snippet_chars[min(place, len(self.snippet_chars) - 1)]


def _search(connection: sqlite3.Connection, tenant: str, request: SearchRequest) -> SearchResults:
    """Search all sessions, or the chain of one."""
    conversation = None
    if request.session_id is not None:
        conversation = find_session(connection, tenant, request.session_id).conversation
    filters = MessageFilters(
        tenant,
        conversation=conversation,
        role=request.role,
        tool=request.tool,
        since=request.since,
        until=request.until,
    )
    query = read_query(request.query)
    found = find(connection, query, filters, order=request.order, limit=request.limit)
    hits = tuple(
        _hit(row, partial(make_snippet, query=query, chars=request.chars_at(place)))
        for place, row in enumerate(found.rows)
    )
    return SearchResults(hits, found.is_incomplete)


def _search_damaged(connection: sqlite3.Connection, tenant: str, request: SearchRequest) -> SearchResults:
    """Do what `_search` does where pages are damaged: message by message, past those that cannot be read."""
    query = read_query(request.query)
    if query.tree is None:
        return SearchResults(())
    conversation = None
    if request.session_id is not None:
        conversation = find_session(connection, tenant, request.session_id).conversation
    hits: list[Hit] = []
    for row in _read_singly(connection, tenant, to_match(query.tree)):
        is_wanted = (
            (conversation is None or row.conversation_id == conversation)
            and (request.role is None or row.speaker == request.role)
            and (request.tool is None or request.tool in row.tools.split())
            and (request.since is None or row.created_at >= request.since)
            and (request.until is None or row.created_at < request.until)
        )
        if is_wanted:
            cut_out = partial(make_snippet, query=query, chars=request.chars_at(len(hits)))
            hits.append(_hit(row, cut_out))
        if len(hits) >= request.limit:
            break
    return SearchResults(tuple(hits), is_incomplete=True)


def _read_singly(connection: sqlite3.Connection, tenant: str, match: str) -> Iterator[FoundMessage]:
    """Yield the messages that the index names, the newest first."""
    try:
        ids = connection.execute(_NAMED, (match, MAX_ROWS)).fetchall()
    except UNREADABLE:
        return
    for (rowid,) in ids:
        try:
            row = connection.execute(_BY_ID, (rowid, tenant)).fetchone()
        except UNREADABLE:
            continue
        if row is not None:
            yield FoundMessage(*row)


def _find_substring(
    connection: sqlite3.Connection, tenant: str, session_id: str, text: str, limit: int
) -> SearchResults:
    """Look for a text letter by letter in one session."""
    find_session(connection, tenant, session_id)
    found = scan(connection, tenant, session_id, text, limit=limit)
    hits = tuple(_hit(row, lambda texts: make_substring_snippet(texts, text)) for row in found.rows)
    return SearchResults(hits, found.is_incomplete)


def _hit(row: FoundMessage, cut_out: Callable[[list[str]], Snippet]) -> Hit:
    """Cut out of a message what was looked for; one that is damaged says that instead."""
    try:
        cut = cut_out(list(stored_texts(row.dialect, row.body))) if row.is_sound else None
    except DamagedRow:
        cut = None
    return Hit(
        session_id=row.session_id,
        conversation_id=row.conversation_id,
        seq=row.seq,
        role=row.role,
        tools=tuple(str(row.tools).split()),
        created_at=row.created_at,
        snippet=cut.text if cut else DAMAGED_TEXT,
        marks=tuple((mark.start, mark.stop) for mark in cut.marks) if cut else (),
        title=row.title,
        origin=row.kind,
        is_damaged=cut is None,
    )
