"""Sessions in SQLite: opening, finding, listing and ending them."""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from midfold.errors import SessionEnded, SessionGrew, SessionNotFound, StoreError
from midfold.store.base import Session, SessionKind
from midfold.store.codec import damage_noticed, read_value
from midfold.store.preparing import check_end_reason, check_id, check_new_id

_COLUMNS = """
    s.id, s.conversation, s.kind, p.id, s.source, s.model, s.title, s.dialect,
    s.started_at, s.ended_at, s.end_reason, s.undone_at IS NOT NULL, s.next_seq - s.own_from
"""
_FROM = "FROM sessions s LEFT JOIN sessions p ON p.key = s.parent"
# A session begins behind all that was written in its conversation.
_INSERT = """
    INSERT INTO sessions (tenant, id, conversation, kind, parent, source, model, title, dialect, system,
        started_at, last_chain, base_digest, first_position)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13,
        (SELECT coalesce(max(first_position + next_seq), 0) FROM sessions
            WHERE tenant = ?1 AND conversation = ?3))
"""

_RECALLED_SESSIONS = 1_000
_LAST_KEY = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class SessionRow:
    """A session as it is in the database, with what writing to it needs."""

    key: int
    id: str
    conversation: str
    dialect: str | None
    own_from: int
    next_seq: int
    last_chain: bytes
    ended_at: float | None


class SessionCache:
    """Sessions that were asked for lately; a few, because a server has many."""

    def __init__(self) -> None:
        self._places: dict[str, SessionRow] = {}

    def get(self, session_id: str) -> SessionRow | None:
        """Return a session as it was when it was found."""
        return self._places.get(session_id)

    def put(self, session_id: str, place: SessionRow) -> None:
        """Keep a session for the next time."""
        if len(self._places) >= _RECALLED_SESSIONS:
            self.clear()
        self._places[session_id] = place

    def clear(self) -> None:
        """Forget all: some of them may be gone."""
        self._places = {}


@dataclass(frozen=True, slots=True)
class NewSession:
    """A session that is about to be opened."""

    id: str
    conversation: str
    kind: SessionKind
    parent: int | None
    source: str
    model: str | None
    title: str | None
    dialect: str | None
    system: str | None
    last_chain: bytes = b""
    base_digest: bytes | None = None


def insert_session(connection: sqlite3.Connection, tenant: str, new: NewSession, now: float) -> int:
    """Open a session and return its key."""
    check_new_id(new.id)
    cursor = connection.execute(
        _INSERT,
        (
            tenant,
            new.id,
            new.conversation,
            new.kind,
            new.parent,
            new.source,
            new.model,
            new.title,
            new.dialect,
            new.system,
            now,
            new.last_chain,
            new.base_digest,
        ),
    )
    if cursor.lastrowid is None:
        raise StoreError("the session was not written")
    return cursor.lastrowid


def find_place(connection: sqlite3.Connection, tenant: str, session_id: str) -> SessionRow:
    """Find a session, or raise `SessionNotFound`."""
    check_id(session_id)
    row = connection.execute(
        "SELECT key, id, conversation, dialect, own_from, next_seq, last_chain, ended_at FROM sessions"
        " WHERE tenant = ? AND id = ?",
        (tenant, session_id),
    ).fetchone()
    if row is None:
        raise SessionNotFound(session_id)
    return SessionRow(*row)


def find_open(connection: sqlite3.Connection, tenant: str, session_id: str) -> SessionRow:
    """Find a session that takes messages, or raise `SessionEnded` with the one that goes on."""
    place = find_place(connection, tenant, session_id)
    if place.ended_at is not None:
        raise ended(connection, tenant, session_id)
    return place


def check_count(place: SessionRow, expected_count: int | None) -> None:
    """Raise `SessionGrew` where a session has not as many messages of its own as its caller knows of."""
    count = place.next_seq - place.own_from
    if expected_count is not None and count != expected_count:
        raise SessionGrew(place.id, count)


def ended(connection: sqlite3.Connection, tenant: str, session_id: str) -> SessionEnded:
    """Say that a session takes no more, and which one does."""
    tip = find_tip(connection, tenant, session_id)
    return SessionEnded(session_id, tip if tip != session_id else None)


def get_session(connection: sqlite3.Connection, tenant: str, session_id: str) -> Session:
    """Return what is known about a session, or raise `SessionNotFound`."""
    check_id(session_id)
    row = connection.execute(
        f"SELECT {_COLUMNS} {_FROM} WHERE s.tenant = ? AND s.id = ?",
        (tenant, session_id),
    ).fetchone()
    if row is None:
        raise SessionNotFound(session_id)
    return _session(row)


def list_sessions(
    connection: sqlite3.Connection,
    tenant: str,
    *,
    source: str | None,
    before: float | None,
    prefix: str,
    after: str | None,
    limit: int,
) -> list[Session]:
    """List the newest sessions first."""
    last = _LAST_KEY if after is None else find_place(connection, tenant, after).key
    # All ids that begin so, and no others, lie between the beginning and it with the last of all characters.
    rows = connection.execute(
        f"SELECT {_COLUMNS} {_FROM} WHERE s.tenant = ?1 AND (?2 IS NULL OR s.source = ?2)"
        " AND (?3 IS NULL OR s.started_at < ?3) AND s.key < ?4"
        f"{' AND s.id >= ?6 AND s.id <= ?7' if prefix else ''} ORDER BY s.key DESC LIMIT ?5",
        (tenant, source, before, last, limit, *((prefix, f"{prefix}\U0010ffff") if prefix else ())),
    )
    return [_session(row) for row in rows]


def list_conversations(
    connection: sqlite3.Connection, tenant: str, *, source: str | None, after: str | None, limit: int
) -> list[Session]:
    """List the tips of conversations, the newest first."""
    last = _LAST_KEY if after is None else find_place(connection, tenant, after).key
    rows = connection.execute(
        f"SELECT {_COLUMNS} {_FROM} WHERE s.tenant = ?1 AND (?2 IS NULL OR s.source = ?2)"  # noqa: S608
        " AND s.key < ?3 AND s.undone_at IS NULL AND NOT EXISTS (SELECT 1 FROM sessions c"
        " WHERE c.tenant = ?1 AND c.parent = s.key AND c.kind = 'continuation' AND c.undone_at IS NULL)"
        " ORDER BY s.key DESC LIMIT ?4",
        (tenant, source, last, max(0, min(limit, _LAST_KEY))),
    )
    return [_session(row) for row in rows]


def list_chain(connection: sqlite3.Connection, tenant: str, session_id: str) -> list[Session]:
    """List the sessions that lead from the first one to the tip; what was taken back is not among them."""
    conversation = find_place(connection, tenant, session_id).conversation
    rows = connection.execute(
        f"SELECT {_COLUMNS} {_FROM} WHERE s.tenant = ? AND s.conversation = ?"
        " AND s.undone_at IS NULL ORDER BY s.key",
        (tenant, conversation),
    )
    return [_session(row) for row in rows]


def find_tip(connection: sqlite3.Connection, tenant: str, session_id: str) -> str:
    """Follow continuations from a session to the newest; one taken back leads to what replaced it."""
    check_id(session_id)
    row = connection.execute(
        """
        WITH RECURSIVE
            climb (key, parent, undone_at) AS (
                SELECT key, parent, undone_at FROM sessions WHERE tenant = ?1 AND id = ?2
                UNION
                SELECT s.key, s.parent, s.undone_at FROM climb JOIN sessions s ON s.key = climb.parent
                WHERE climb.undone_at IS NOT NULL
            ),
            steps (key, depth) AS (
                SELECT key, 0 FROM climb WHERE undone_at IS NULL
                UNION
                SELECT c.key, depth + 1 FROM steps JOIN sessions c ON c.parent = steps.key
                WHERE c.tenant = ?1 AND c.kind = 'continuation' AND c.undone_at IS NULL
            )
        SELECT s.id FROM steps JOIN sessions s USING (key) ORDER BY depth DESC LIMIT 1
        """,
        (tenant, session_id),
    ).fetchone()
    if row is None:
        raise SessionNotFound(session_id)
    return str(row[0])


def end_session(
    connection: sqlite3.Connection, tenant: str, session_id: str, reason: str, now: float
) -> None:
    """End a session that is still open; ending it twice changes nothing."""
    check_end_reason(reason)
    place = find_place(connection, tenant, session_id)
    connection.execute(
        "UPDATE sessions SET ended_at = ?, end_reason = ? WHERE key = ? AND ended_at IS NULL",
        (now, reason, place.key),
    )


def reopen_session(connection: sqlite3.Connection, tenant: str, session_id: str) -> None:
    """Open a session again that was closed; one that a fold ended stays as it is."""
    place = find_place(connection, tenant, session_id)
    tip = find_tip(connection, tenant, session_id)
    if tip != session_id:
        raise SessionEnded(session_id, tip)
    connection.execute("UPDATE sessions SET ended_at = NULL, end_reason = NULL WHERE key = ?", (place.key,))


def set_title(connection: sqlite3.Connection, tenant: str, session_id: str, title: str | None) -> None:
    """Name a session."""
    place = find_place(connection, tenant, session_id)
    connection.execute("UPDATE sessions SET title = ? WHERE key = ?", (title, place.key))


def read_system(connection: sqlite3.Connection, tenant: str, session_id: str) -> object:
    """Return the system prompt that is kept with a session."""
    place = find_place(connection, tenant, session_id)
    (system,) = connection.execute("SELECT system FROM sessions WHERE key = ?", (place.key,)).fetchone()
    return None if system is None else read_value(system)


def _session(row: Sequence[Any]) -> Session:
    session = Session(*row)
    with damage_noticed("session"):
        return replace(session, kind=SessionKind(session.kind), is_undone=bool(session.is_undone))
