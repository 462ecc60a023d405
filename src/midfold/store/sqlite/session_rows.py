"""Rows of sessions in SQLite: inserting them, and finding one with what reading and writing it needs."""

import sqlite3
from collections.abc import Sequence

from midfold.errors import SessionEnded, SessionGrew, SessionNotFound, StoreError
from midfold.late_dataclasses import dataclass, replace
from midfold.store.codec import damage_noticed
from midfold.store.inputs import check_id, check_new_id
from midfold.store.values import Session, SessionKind

LAST_KEY = (1 << 63) - 1
SESSION_ROW = "key, id, conversation, dialect, own_from, next_seq, last_chain, ended_at"
"""The columns of a `SessionRow`."""
_BY_ID = f"SELECT {SESSION_ROW} FROM sessions WHERE tenant = ? AND id = ?"  # noqa: S608 - constants only
_SESSIONS = """
    SELECT s.id, s.conversation, s.kind, p.id, s.source, s.model, s.title, s.dialect,
        s.started_at, s.ended_at, s.end_reason, s.undone_at IS NOT NULL, s.next_seq - s.own_from
    FROM sessions s LEFT JOIN sessions p ON p.key = s.parent
"""
# A session begins behind all that was written in its conversation.
_INSERT = """
    INSERT INTO sessions (tenant, id, conversation, kind, parent, source, model, title, dialect, system,
        started_at, last_chain, base_digest, first_position)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13,
        (SELECT coalesce(max(first_position + next_seq), 0) FROM sessions
            WHERE tenant = ?1 AND conversation = ?3))
"""
# The newest of what a branch took over was the newest there was: what its parent said up to that came before.
_BRANCH = """
    SELECT parent.conversation,
        (SELECT coalesce(sum(stop - start), 0) FROM ranges WHERE tenant = :tenant AND session = branch.key),
        (SELECT coalesce(sum(r.stop - r.start), 0) FROM sessions first
            CROSS JOIN ranges r ON r.tenant = :tenant AND r.session = first.key
            WHERE first.tenant = :tenant AND first.conversation = parent.conversation
            AND first.kind <> 'continuation'),
        (SELECT count(*) FROM sessions s CROSS JOIN messages m ON m.tenant = s.tenant AND m.session = s.key
            WHERE s.tenant = :tenant AND s.conversation = parent.conversation AND m.origin = 'said'
            AND s.first_position + m.seq < (
                SELECT max(source.first_position + r.stop) FROM ranges r
                JOIN sessions source ON source.key = r.source
                WHERE r.tenant = :tenant AND r.session = branch.key
                AND source.conversation = parent.conversation
            ))
    FROM sessions branch JOIN sessions parent ON parent.key = branch.parent
    WHERE branch.tenant = :tenant AND branch.conversation = :conversation AND branch.kind = 'branch'
"""


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


def find_session(connection: sqlite3.Connection, tenant: str, session_id: str) -> SessionRow:
    """Find a session, or raise `SessionNotFound`."""
    check_id(session_id)
    row = connection.execute(_BY_ID, (tenant, session_id)).fetchone()
    if row is None:
        raise SessionNotFound(session_id)
    return SessionRow(*row)


def find_open(connection: sqlite3.Connection, tenant: str, session_id: str) -> SessionRow:
    """Find a session that takes messages, or raise `SessionEnded` with the one that goes on."""
    session = find_session(connection, tenant, session_id)
    if session.ended_at is not None:
        raise session_ended(connection, tenant, session_id)
    return session


def check_count(session: SessionRow, expected_count: int | None) -> None:
    """Raise `SessionGrew` where a session has not as many messages of its own as its caller knows of."""
    count = session.next_seq - session.own_from
    if expected_count is not None and count != expected_count:
        raise SessionGrew(session.id, count)


def session_ended(connection: sqlite3.Connection, tenant: str, session_id: str) -> SessionEnded:
    """Say that a session takes no more, and which one does."""
    tip = find_tip(connection, tenant, session_id)
    return SessionEnded(session_id, tip if tip != session_id else None)


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


@dataclass(frozen=True, slots=True)
class Branch:
    """Where a conversation left another, its parent.

    It took over `taken_over` messages, and the parent itself `parent_taken_over` of an earlier one. What the
    parent had said by itself up to then is `said_before`.
    """

    parent: str
    taken_over: int
    parent_taken_over: int
    said_before: int


def find_branch(connection: sqlite3.Connection, tenant: str, conversation: str) -> Branch | None:
    """Say where a conversation comes from; `None` if it is no branch, or its parent is gone."""
    row = connection.execute(_BRANCH, {"tenant": tenant, "conversation": conversation}).fetchone()
    return Branch(*row) if row else None


def find_as_of_origin(connection: sqlite3.Connection, tenant: str, session_id: str) -> SessionRow:
    """Find a session as one of the conversation that its own branched from, or that one from another.

    By that conversation credentials are hidden, so that one has the same placeholder wherever it is read.
    """
    session = find_session(connection, tenant, session_id)
    while branch := find_branch(connection, tenant, session.conversation):
        session = replace(session, conversation=branch.parent)
    return session


def copy_session(
    connection: sqlite3.Connection,
    parent: SessionRow,
    child_id: str,
    kind: SessionKind,
    conversation: str,
    chain: bytes,
) -> NewSession:
    """Return a new session that is like its parent in all that people see of it."""
    source, model, title, dialect, system = connection.execute(
        "SELECT source, model, title, dialect, system FROM sessions WHERE key = ?", (parent.key,)
    ).fetchone()
    return NewSession(
        child_id, conversation, kind, parent.key, source, model, title, dialect, system, last_chain=chain
    )


def select_sessions(
    connection: sqlite3.Connection, condition: str, parameters: Sequence[object]
) -> list[Session]:
    """Return the sessions `s` that a condition, and an order behind it, picks."""
    rows = connection.execute(f"{_SESSIONS} WHERE {condition}", parameters)
    with damage_noticed("session"):
        return [
            replace(session, kind=SessionKind(session.kind), is_undone=bool(session.is_undone))
            for session in (Session(*row) for row in rows)
        ]


def key_after(connection: sqlite3.Connection, tenant: str, session_id: str | None) -> int:
    """Return the key below which the next page of sessions begins, the newest first."""
    return LAST_KEY if session_id is None else find_session(connection, tenant, session_id).key
