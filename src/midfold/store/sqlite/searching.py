"""Searches in SQLite, from the words of a person to messages with the place marked."""

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass

from midfold.store.base import Found, Hit, Order
from midfold.store.codec import read_body, texts_in
from midfold.store.search.find import Row, find
from midfold.store.search.query import read_query
from midfold.store.search.scan import scan
from midfold.store.search.scope import Filters
from midfold.store.search.snippets import Snippet, make_snippet, make_substring_snippet
from midfold.store.sqlite.sessions import find_place


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is searched for; see `SessionStore.search`."""

    query: str
    session_id: str | None
    role: str | None
    tool: str | None
    since: float | None
    until: float | None
    order: Order
    limit: int


def search(connection: sqlite3.Connection, tenant: str, wanted: Wanted) -> Found:
    """Search all sessions, or the chain of one."""
    conversation = None
    if wanted.session_id is not None:
        conversation = find_place(connection, tenant, wanted.session_id).conversation
    filters = Filters(
        tenant,
        conversation=conversation,
        role=wanted.role,
        tool=wanted.tool,
        since=wanted.since,
        until=wanted.until,
    )
    query = read_query(wanted.query)
    found = find(connection, query, filters, order=wanted.order, limit=wanted.limit, read_texts=read_texts)
    hits = tuple(_hit(row, make_snippet(_texts(row), query)) for row in found.rows)
    return Found(hits, found.is_incomplete)


def find_substring(
    connection: sqlite3.Connection, tenant: str, session_id: str, text: str, limit: int
) -> Found:
    """Look for a text letter by letter in one session."""
    find_place(connection, tenant, session_id)
    found = scan(connection, tenant, session_id, text, read_texts=read_texts, limit=limit)
    hits = tuple(_hit(row, make_substring_snippet(_texts(row), text)) for row in found.rows)
    return Found(hits, found.is_incomplete)


def read_texts(dialect: str, body: str) -> Iterable[str]:
    """Return what a stored message is found by."""
    return texts_in(read_body(dialect, body))


def _texts(row: Row) -> list[str]:
    return list(read_texts(row.dialect, row.body))


def _hit(row: Row, cut: Snippet) -> Hit:
    return Hit(
        session_id=row.session_id,
        conversation_id=row.conversation_id,
        seq=row.seq,
        role=row.role,
        tools=tuple(row.tools.split()),
        created_at=row.created_at,
        snippet=cut.text,
        marks=tuple((mark.start, mark.stop) for mark in cut.marks),
        title=row.title,
    )
