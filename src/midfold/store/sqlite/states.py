"""What engines remember of a conversation, in SQLite: saved by name, deleted with the conversation."""

import sqlite3
from collections.abc import Iterable, Mapping

from midfold.store.codec import read_value
from midfold.store.sqlite.sessions import find_place


def save(
    connection: sqlite3.Connection,
    tenant: str,
    conversation: str,
    bodies: Mapping[str, str | None],
    now: float,
) -> None:
    """Replace states of a conversation."""
    for name, body in bodies.items():
        if body is None:
            connection.execute(
                "DELETE FROM states WHERE tenant = ? AND conversation = ? AND name = ?",
                (tenant, conversation, name),
            )
        else:
            connection.execute(
                "INSERT OR REPLACE INTO states (tenant, conversation, name, body, updated_at)"
                " VALUES (?, ?, ?, ?, ?)",
                (tenant, conversation, name, body, now),
            )


def load(connection: sqlite3.Connection, tenant: str, session_id: str, name: str) -> object | None:
    """Return a state of the conversation of a session."""
    row = connection.execute(
        "SELECT body FROM states WHERE tenant = ? AND conversation = ? AND name = ?",
        (tenant, find_place(connection, tenant, session_id).conversation, name),
    ).fetchone()
    return read_value(row[0]) if row else None


def copy(connection: sqlite3.Connection, tenant: str, parent: str, branch: str, now: float) -> None:
    """Let a branch start with what was remembered of the conversation that it leaves."""
    connection.execute(
        "INSERT INTO states (tenant, conversation, name, body, updated_at)"
        " SELECT tenant, ?, name, body, ? FROM states WHERE tenant = ? AND conversation = ?",
        (branch, now, tenant, parent),
    )


def delete_orphans(connection: sqlite3.Connection, tenant: str, conversations: Iterable[str]) -> None:
    """Delete the states of those of these conversations that have no session left."""
    for conversation in conversations:
        connection.execute(
            "DELETE FROM states WHERE tenant = ?1 AND conversation = ?2 AND NOT EXISTS"
            " (SELECT 1 FROM sessions WHERE tenant = ?1 AND conversation = ?2)",
            (tenant, conversation),
        )


def save_of_session(
    connection: sqlite3.Connection,
    tenant: str,
    session_id: str,
    bodies: Mapping[str, str | None],
    now: float,
) -> None:
    save(connection, tenant, find_place(connection, tenant, session_id).conversation, bodies, now)
