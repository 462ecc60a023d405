"""Sessions in SQLite: opening, finding, naming and ending them."""

import secrets
import sqlite3
from collections.abc import Sequence
from functools import partial

from midfold.errors import SessionEnded, SessionNotFound
from midfold.late_dataclasses import replace
from midfold.store.codec import clean_text, read_value
from midfold.store.inputs import check_end_reason, check_id, check_kind
from midfold.store.rows import DatedRows, PreparedRows, prepare, prepare_runs
from midfold.store.sqlite.message_rows import append_rows, insert_ranges, join_refs, read_refs
from midfold.store.sqlite.session_rows import (
    NewSession,
    copy_session,
    find_session,
    find_tip,
    insert_session,
    key_after,
    select_sessions,
)
from midfold.store.sqlite.states import copy_states, save_states
from midfold.store.sqlite.tenant import TenantStore
from midfold.store.values import IMPORTED, EndReason, ImportedMessage, Session, SessionKind
from midfold.wire import get_dialect


class SqliteSessions(TenantStore):
    """See `midfold.store.base.Sessions`."""

    def create_session(
        self,
        *,
        session_id: str | None = None,
        source: str = "",
        model: str | None = None,
        title: str | None = None,
        dialect: str | None = None,
        system: object = None,
        parent_id: str | None = None,
        kind: SessionKind = SessionKind.ROOT,
        messages: Sequence[object] = (),
    ) -> Session:
        """Open a session with its first messages. A branch begins with all that its parent says."""
        new_id = session_id or secrets.token_hex(16)
        check_kind(kind, parent_id)
        parent = self._recall(parent_id) if parent_id and kind is SessionKind.BRANCH else None
        origin = parent.conversation if parent else new_id
        new = self._new(new_id, origin, source, model, title, dialect, system, kind)
        first = prepare(messages, parent.dialect if parent else new.dialect, self._redactor.key(origin))
        self._database.write(_insert, self._tenant, parent_id, new, first, self._quota, self._clock())
        return self.session(new_id)

    def import_conversation(
        self,
        said: Sequence[ImportedMessage],
        *,
        dialect: str,
        session_id: str | None = None,
        source: str = "",
        model: str | None = None,
        title: str | None = None,
        system: object = None,
        started_at: float | None = None,
    ) -> Session:
        """Write a whole conversation as a session of its own, dated as it was said; all of it, or nothing."""
        new_id = session_id or secrets.token_hex(16)
        new = self._new(new_id, new_id, source, model, title, dialect, system)
        # Everything that takes time is done before the transaction begins.
        runs = prepare_runs(said, dialect, self._redactor.key(new_id))
        now = self._clock()
        self._database.write(_insert_runs, self._tenant, new, runs, self._quota, started_at, now)
        return self.session(new_id)

    def session(self, session_id: str) -> Session:
        """Return what is known about a session."""
        check_id(session_id)
        condition = "s.tenant = ? AND s.id = ?"
        found = self._database.read(select_sessions, condition, (self._tenant, session_id))
        if not found:
            raise SessionNotFound(session_id)
        return found[0]

    def sessions(
        self,
        *,
        source: str | None = None,
        limit: int = 50,
        before: float | None = None,
        prefix: str = "",
        after: str | None = None,
    ) -> list[Session]:
        """List sessions, the newest first; the next page comes `after` the last session of this one."""

        def list_sessions(connection: sqlite3.Connection) -> list[Session]:
            last = key_after(connection, self._tenant, after)
            start = clean_text(prefix)
            # All ids that begin so, and no others, lie between it and it with the last of all characters.
            ids = (start, f"{start}\U0010ffff") if start else ()
            return select_sessions(
                connection,
                "s.tenant = ?1 AND (?2 IS NULL OR s.source = ?2) AND (?3 IS NULL OR s.started_at < ?3)"
                f" AND s.key < ?4{' AND s.id >= ?6 AND s.id <= ?7' if ids else ''}"
                " ORDER BY s.key DESC LIMIT ?5",
                (self._tenant, source, before, last, limit, *ids),
            )

        return self._database.read(list_sessions)

    def system(self, session_id: str) -> object:
        """Return the system prompt that was kept with a session."""
        return self._database.read(_read_system, self._tenant, session_id)

    def end_session(self, session_id: str, reason: str = EndReason.CLOSED) -> None:
        """End a session; it stays readable."""
        hidden = self._redactor.text(reason, self._recall(session_id).conversation)
        check_end_reason(hidden)
        change = "ended_at = ?, end_reason = ? WHERE key = ? AND ended_at IS NULL"
        self._database.write(_update, self._tenant, session_id, change, self._clock(), hidden)

    def reopen_session(self, session_id: str) -> None:
        """Go on with a session that was closed."""
        self._database.write(_reopen, self._tenant, session_id)

    def set_title(self, session_id: str, title: str) -> None:
        """Name a session."""
        hidden = self._redactor.text(title, self._recall(session_id).conversation)
        self._database.write(_update, self._tenant, session_id, "title = ? WHERE key = ?", hidden)

    def _new(
        self,
        new_id: str,
        origin: str,
        source: str,
        model: str | None,
        title: str | None,
        dialect: str | None,
        system: object,
        kind: SessionKind = SessionKind.ROOT,
    ) -> NewSession:
        """Prepare a session; `origin` is the conversation by which credentials are hidden in it."""
        hide = partial(self._redactor.text, conversation=origin)
        return NewSession(
            id=new_id,
            conversation=new_id,
            kind=kind,
            parent=None,
            source=hide(source),
            model=model and hide(model),
            title=title and hide(title),
            dialect=dialect and get_dialect(dialect).name,
            system=None if system is None else self._redactor.value(system, origin),
        )


def _insert(
    connection: sqlite3.Connection,
    tenant: str,
    parent_id: str | None,
    new: NewSession,
    first: PreparedRows,
    quota: int | None,
    now: float,
) -> None:
    """Open a session and write its first messages: a process that is killed leaves both or neither."""
    if parent_id is None:
        insert_session(connection, tenant, new, now)
    elif new.kind is SessionKind.BRANCH:
        _insert_branch(connection, tenant, parent_id, new, now)
    else:
        _insert_below(connection, tenant, parent_id, new, now)
    if first.rows:
        append_rows(connection, tenant, new.id, first, quota, now)


def _insert_branch(
    connection: sqlite3.Connection, tenant: str, parent_id: str, new: NewSession, now: float
) -> None:
    """Open a session that begins with all that its parent says; what is not said about it is its parent's."""
    parent = find_session(connection, tenant, parent_id)
    refs = read_refs(connection, tenant, parent)
    copy = copy_session(connection, parent, new.id, SessionKind.BRANCH, new.id, parent.last_chain)
    branch = replace(
        copy,
        source=new.source or copy.source,
        model=new.model or copy.model,
        title=new.title or copy.title,
        system=copy.system if new.system is None else new.system,
    )
    key = insert_session(connection, tenant, branch, now)
    insert_ranges(connection, tenant, key, join_refs(refs), own_from=0)
    copy_states(connection, tenant, parent.conversation, branch.conversation, now)


def _insert_below(
    connection: sqlite3.Connection, tenant: str, parent_id: str, new: NewSession, now: float
) -> None:
    """Open a session of its own that belongs to another: that of a sub-agent."""
    parent = find_session(connection, tenant, parent_id)
    insert_session(connection, tenant, replace(new, parent=parent.key), now)


def _insert_runs(
    connection: sqlite3.Connection,
    tenant: str,
    new: NewSession,
    runs: Sequence[DatedRows],
    quota: int | None,
    started_at: float | None,
    now: float,
) -> None:
    """Open a session and write what was said in it, dated as it was said.

    It is one transaction: a process that is killed meanwhile leaves nothing of it.
    """
    insert_session(connection, tenant, new, now if started_at is None else started_at)
    for run in runs:
        append_rows(connection, tenant, new.id, run.prepared, quota, now if run.at is None else run.at)
    save_states(connection, tenant, new.conversation, {IMPORTED: "true"}, now)


def _update(
    connection: sqlite3.Connection, tenant: str, session_id: str, change: str, *values: object
) -> None:
    session = find_session(connection, tenant, session_id)
    connection.execute(f"UPDATE sessions SET {change}", (*values, session.key))  # noqa: S608 - our own words


def _reopen(connection: sqlite3.Connection, tenant: str, session_id: str) -> None:
    """Open a session again that was closed; one that a fold ended stays as it is."""
    session = find_session(connection, tenant, session_id)
    tip = find_tip(connection, tenant, session_id)
    if tip != session_id:
        raise SessionEnded(session_id, tip)
    connection.execute("UPDATE sessions SET ended_at = NULL, end_reason = NULL WHERE key = ?", (session.key,))


def _read_system(connection: sqlite3.Connection, tenant: str, session_id: str) -> object:
    session = find_session(connection, tenant, session_id)
    (system,) = connection.execute("SELECT system FROM sessions WHERE key = ?", (session.key,)).fetchone()
    return None if system is None else read_value(system)
