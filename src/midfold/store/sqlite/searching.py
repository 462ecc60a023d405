"""Searches in SQLite, from the words of a person to messages with the place marked."""

import sqlite3
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from midfold.store.base import Hit, Order, SearchResults
from midfold.store.codec import DAMAGED_TEXT, DamagedRow, read_body, texts_in
from midfold.store.search.query import read_query
from midfold.store.search.snippets import Snippet, make_snippet, make_substring_snippet
from midfold.store.sqlite.search.find import COLUMNS, MAX_ROWS, FoundMessage, find
from midfold.store.sqlite.search.match import to_match
from midfold.store.sqlite.search.scan import scan
from midfold.store.sqlite.search.scope import SearchFilters
from midfold.store.sqlite.sessions import find_place
from midfold.store.sqlite.skipping import UNREADABLE

_NAMED = "SELECT rowid FROM message_words WHERE message_words MATCH ? ORDER BY rowid DESC LIMIT ?"
_BY_ID = f"""
    SELECT {COLUMNS} FROM messages m JOIN sessions s ON s.key = m.session WHERE m.id = ? AND m.tenant = ?
"""  # noqa: S608 - constants only


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """What is searched for; see `SessionStore.search`."""

    query: str
    session_id: str | None
    role: str | None
    tool: str | None
    since: float | None
    until: float | None
    order: Order
    limit: int


def search(connection: sqlite3.Connection, tenant: str, wanted: SearchRequest) -> SearchResults:
    """Search all sessions, or the chain of one."""
    conversation = None
    if wanted.session_id is not None:
        conversation = find_place(connection, tenant, wanted.session_id).conversation
    filters = SearchFilters(
        tenant,
        conversation=conversation,
        role=wanted.role,
        tool=wanted.tool,
        since=wanted.since,
        until=wanted.until,
    )
    query = read_query(wanted.query)
    found = find(connection, query, filters, order=wanted.order, limit=wanted.limit, read_texts=read_texts)
    hits = tuple(_hit(row, lambda texts: make_snippet(texts, query)) for row in found.rows)
    return SearchResults(hits, found.is_incomplete)


def search_damaged(connection: sqlite3.Connection, tenant: str, wanted: SearchRequest) -> SearchResults:
    """Do what `search` does where pages are damaged: message by message, past those that cannot be read."""
    query = read_query(wanted.query)
    if query.tree is None:
        return SearchResults(())
    conversation = None
    if wanted.session_id is not None:
        conversation = find_place(connection, tenant, wanted.session_id).conversation
    hits: list[Hit] = []
    for row in _read_singly(connection, tenant, to_match(query.tree)):
        is_wanted = (
            (conversation is None or row.conversation_id == conversation)
            and (wanted.role is None or row.role == wanted.role)
            and (wanted.tool is None or wanted.tool in row.tools.split())
            and (wanted.since is None or row.created_at >= wanted.since)
            and (wanted.until is None or row.created_at < wanted.until)
        )
        if is_wanted:
            hits.append(_hit(row, lambda texts: make_snippet(texts, query)))
        if len(hits) >= wanted.limit:
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


def find_substring(
    connection: sqlite3.Connection, tenant: str, session_id: str, text: str, limit: int
) -> SearchResults:
    """Look for a text letter by letter in one session."""
    find_place(connection, tenant, session_id)
    found = scan(connection, tenant, session_id, text, read_texts=read_texts, limit=limit)
    hits = tuple(_hit(row, lambda texts: make_substring_snippet(texts, text)) for row in found.rows)
    return SearchResults(hits, found.is_incomplete)


def read_texts(dialect: str, body: str) -> Iterable[str]:
    """Return what a stored message is found by."""
    return texts_in(read_body(dialect, body))


def _hit(row: FoundMessage, cut_out: Callable[[list[str]], Snippet]) -> Hit:
    """Cut out of a message what was looked for; one that is damaged says that instead."""
    try:
        cut = cut_out(list(read_texts(row.dialect, row.body))) if row.is_sound else None
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
        is_damaged=cut is None,
    )
