"""Reads a damaged file row by row: where one cannot be read, the next is tried."""

import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from midfold.errors import StoreError
from midfold.store.base import Call
from midfold.store.sqlite import calls
from midfold.store.sqlite.driver import driver, primary_code
from midfold.store.sqlite.messages import read_history
from midfold.store.transfer.incoming import Said
from midfold.transcripts import decode_json

# Behind a damaged page every number fails until the next one that is sound; behind the last, for ever.
_MOST_FAILURES = 50_000
# SQLite's primary result codes for: there is no such table, and this is no database.
_HOPELESS = (1, 26)
UNREADABLE = (driver.Error, UnicodeDecodeError)
"""What reading a damaged file may raise; the words of SQLite's own errors may be damaged, too."""
_SESSIONS = """
    SELECT key, tenant, id, conversation, source, model, title, dialect, system, started_at
    FROM sessions WHERE key >= ? ORDER BY key
"""
_MESSAGES = """
    SELECT id, session, body, created_at, tokens, finish_reason
    FROM messages NOT INDEXED WHERE id >= ? AND origin = 'said' ORDER BY id
"""


@dataclass(frozen=True, slots=True)
class FoundSession:
    """A session of a damaged file."""

    key: int
    tenant: str
    id: str
    conversation: str
    source: str
    model: str | None
    title: str | None
    dialect: str | None
    system: object
    started_at: float


def read_sessions(connection: sqlite3.Connection) -> list[FoundSession]:
    """Return the sessions that can be read, oldest first."""
    found = [FoundSession(*row) for row in _each(connection, _SESSIONS)]
    return [replace(session, system=_read_system(session.system)) for session in found]


def read_said(connection: sqlite3.Connection, chain: Sequence[FoundSession]) -> list[Said]:
    """Return what was said in a conversation, as far as it can be read."""
    try:
        records = read_history(connection, chain[0].tenant, chain[0].conversation)
    except (*UNREADABLE, ValueError, TypeError, AttributeError, StoreError):
        return list(_read_said_singly(connection, {session.key for session in chain}))
    return [Said(each.item, each.created_at, each.tokens, each.finish_reason) for each in records]


def read_calls(connection: sqlite3.Connection, session: FoundSession) -> list[Call]:
    """Return the recorded calls of a session's conversation; none where they cannot be read."""
    try:
        return calls.read_calls(
            connection, session.tenant, session.id, whole_chain=True, since=None, until=None
        )
    except (*UNREADABLE, ValueError, TypeError, ArithmeticError, StoreError):
        return []


def _read_system(stored: object) -> object:
    try:
        return None if stored is None else decode_json(str(stored))
    except ValueError:
        return None


def _read_said_singly(connection: sqlite3.Connection, keys: set[int]) -> Iterator[Said]:
    for _, session, body, created_at, tokens, finish_reason in _each(connection, _MESSAGES):
        if session not in keys:
            continue
        try:
            item = decode_json(body)
        except (ValueError, TypeError, RecursionError):
            continue
        yield Said(item, created_at, tokens, finish_reason)


def _each(connection: sqlite3.Connection, statement: str) -> Iterator[tuple[Any, ...]]:
    """Yield rows from the number on that the statement is given; damaged ones are passed over."""
    following, failures = 0, 0
    while failures < _MOST_FAILURES:
        try:
            for row in connection.execute(statement, (following,)):
                yield row
                following, failures = int(row[0]) + 1, 0
        except UNREADABLE as error:
            if primary_code(error) in _HOPELESS:
                return
            following, failures = following + 1, failures + 1
        else:
            return
