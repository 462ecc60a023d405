"""What engines remember of a conversation, in SQLite: saved by name, deleted with the conversation."""

import sqlite3
from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from midfold.errors import SessionNotFound, StoreError
from midfold.store.codec import clean_text, read_value
from midfold.store.preparing import Hiding
from midfold.store.sqlite.sessions import Place, find_place

T = TypeVar("T")

_MAX_NAME_CHARS = 256


class StateVerbs:
    """The verbs of a store for the state of engines."""

    _hiding: Hiding
    _clock: Callable[[], float]
    _write: Callable[..., None]
    _read: Callable[..., object]
    _recall: Callable[[str], Place]

    def save_state(self, session_id: str, name: str, value: object) -> None:
        """Keep a JSON value with the conversation of a session; `None` forgets it."""
        bodies = self._pack_states(session_id, {name: value})
        self._write(_save_of_session, session_id, bodies, self._clock())

    def load_state(self, session_id: str, name: str) -> object | None:
        """Return what was saved by that name with the conversation of a session."""
        return self._read(load, session_id, name)

    def conversation_key(self, session_id: str) -> bytes:
        """Return the key of the placeholders and fences of a conversation.

        One that is not stored yet has the id of its first session.
        """
        try:
            conversation = self._recall(session_id).conversation
        except SessionNotFound:
            conversation = session_id
        return self._hiding.secret_of(conversation)

    def _pack_states(self, session_id: str, values: Mapping[str, object]) -> dict[str, str | None]:
        """Spell states for storing, with placeholders where credentials were."""
        conversation = self._recall(session_id).conversation
        for name in values:
            if not name or len(name) > _MAX_NAME_CHARS or clean_text(name) != name:
                raise StoreError(f"the name of a state is text of 1 to {_MAX_NAME_CHARS} characters")
        return {
            name: None if value is None else self._hiding.value(value, conversation)
            for name, value in values.items()
        }


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


def _save_of_session(
    connection: sqlite3.Connection,
    tenant: str,
    session_id: str,
    bodies: Mapping[str, str | None],
    now: float,
) -> None:
    save(connection, tenant, find_place(connection, tenant, session_id).conversation, bodies, now)
