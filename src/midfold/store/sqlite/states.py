"""The memory of engines, in SQLite: states of a conversation, and summaries that were paid for."""

import sqlite3
from collections.abc import Iterable, Mapping

from midfold.errors import SessionNotFound
from midfold.store.codec import read_value
from midfold.store.sqlite.session_rows import find_session
from midfold.store.sqlite.tenant import TenantStore

_DAY_SECONDS = 86_400.0


class SqliteStates(TenantStore):
    """See `midfold.store.base.States`."""

    def save_state(self, session_id: str, name: str, value: object) -> None:
        """Keep a JSON value with the conversation of a session; `None` forgets it."""
        bodies = self._redactor.states({name: value}, self._recall(session_id).conversation)
        self._database.write(_save, self._tenant, session_id, bodies, self._clock())

    def add_state(self, session_id: str, name: str, value: object) -> bool:
        """Keep a JSON value unless one was saved by that name; return whether it was kept."""
        body = self._redactor.states({name: value}, self._recall(session_id).conversation)[name]
        return self._database.write(_add, self._tenant, session_id, name, body, self._clock())

    def load_state(self, session_id: str, name: str) -> object | None:
        """Return what was saved by that name with the conversation of a session."""
        return self._database.read(_load, self._tenant, session_id, name)

    def conversation_key(self, session_id: str) -> bytes:
        """Return the key of the placeholders and fences of a conversation.

        One that is not stored yet has the id of its first session.
        """
        try:
            conversation = self._recall(session_id).conversation
        except SessionNotFound:
            conversation = session_id
        return self._redactor.secret_of(conversation)

    def remember_summary(self, span_digest: bytes, model: str, prompt: str, summary: object) -> None:
        """Keep a summary that was paid for until its fold is in place."""
        body = self._redactor.value(summary, "")
        identity = (span_digest, self._redactor.text(model, ""), self._redactor.text(prompt, ""))
        self._database.write(_remember_summary, self._tenant, identity, body, self._clock())

    def recall_summary(self, span_digest: bytes, model: str, prompt: str) -> object | None:
        """Return a summary that was paid for and not used."""
        identity = (span_digest, self._redactor.text(model, ""), self._redactor.text(prompt, ""))
        return self._database.read(_recall_summary, self._tenant, identity)


def save_states(
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


def _load(connection: sqlite3.Connection, tenant: str, session_id: str, name: str) -> object | None:
    """Return a state of the conversation of a session."""
    row = connection.execute(
        "SELECT body FROM states WHERE tenant = ? AND conversation = ? AND name = ?",
        (tenant, find_session(connection, tenant, session_id).conversation, name),
    ).fetchone()
    return read_value(row[0]) if row else None


def copy_states(connection: sqlite3.Connection, tenant: str, parent: str, branch: str, now: float) -> None:
    """Let a branch start with what was remembered of the conversation that it leaves."""
    connection.execute(
        "INSERT INTO states (tenant, conversation, name, body, updated_at)"
        " SELECT tenant, ?, name, body, ? FROM states WHERE tenant = ? AND conversation = ?",
        (branch, now, tenant, parent),
    )


def delete_orphaned_states(connection: sqlite3.Connection, tenant: str, conversations: Iterable[str]) -> None:
    """Delete the states of those of these conversations that have no session left."""
    for conversation in conversations:
        connection.execute(
            "DELETE FROM states WHERE tenant = ?1 AND conversation = ?2 AND NOT EXISTS"
            " (SELECT 1 FROM sessions WHERE tenant = ?1 AND conversation = ?2)",
            (tenant, conversation),
        )


def _save(
    connection: sqlite3.Connection,
    tenant: str,
    session_id: str,
    bodies: Mapping[str, str | None],
    now: float,
) -> None:
    save_states(connection, tenant, find_session(connection, tenant, session_id).conversation, bodies, now)


def _add(
    connection: sqlite3.Connection, tenant: str, session_id: str, name: str, body: str | None, now: float
) -> bool:
    added = connection.execute(
        "INSERT OR IGNORE INTO states (tenant, conversation, name, body, updated_at) VALUES (?, ?, ?, ?, ?)",
        (tenant, find_session(connection, tenant, session_id).conversation, name, body, now),
    )
    return added.rowcount == 1


def _remember_summary(
    connection: sqlite3.Connection, tenant: str, identity: tuple[bytes, str, str], body: str, now: float
) -> None:
    """Keep a summary that was paid for, by the digest of what it is about, its model and its prompt.

    What nobody came back for in a day goes; so does what a clock that went wrong dated ahead.
    """
    connection.execute(
        "DELETE FROM summaries WHERE tenant = ?1 AND abs(created_at - ?2) > ?3", (tenant, now, _DAY_SECONDS)
    )
    connection.execute(
        "INSERT OR REPLACE INTO summaries (tenant, span_digest, model, prompt, body, created_at)"
        " VALUES (?, ?, ?, ?, ?, ?)",
        (tenant, *identity, body, now),
    )


def _recall_summary(
    connection: sqlite3.Connection, tenant: str, identity: tuple[bytes, str, str]
) -> object | None:
    """Return a summary that was paid for and never used."""
    row = connection.execute(
        "SELECT body FROM summaries WHERE tenant = ? AND span_digest = ? AND model = ? AND prompt = ?",
        (tenant, *identity),
    ).fetchone()
    return read_value(row[0]) if row else None


def forget_summary(connection: sqlite3.Connection, tenant: str, span_digest: bytes) -> None:
    """Drop the summaries of what a fold in place is about: it has its own."""
    connection.execute("DELETE FROM summaries WHERE tenant = ? AND span_digest = ?", (tenant, span_digest))
