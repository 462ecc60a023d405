"""Chains in SQLite: continuing a session with a fold, taking it back, and listing what there is."""

import secrets
import sqlite3
from collections.abc import Mapping, Sequence

from midfold.faults import faultpoint
from midfold.folding import Compression
from midfold.store.continuation import Continuation, RowFormat, plan_continuation, run_hooks
from midfold.store.sqlite.fold_rows import insert_fold, list_folds, mark_announced
from midfold.store.sqlite.leases import check_lease
from midfold.store.sqlite.lineage import undo_continuation, write_continuation
from midfold.store.sqlite.message_rows import read_refs
from midfold.store.sqlite.session_rows import (
    LAST_KEY,
    check_count,
    find_open,
    find_session,
    find_tip,
    key_after,
    select_sessions,
)
from midfold.store.sqlite.states import forget_summary, save_states
from midfold.store.sqlite.tenant import TenantStore
from midfold.store.values import ContinuedSession, Lease, Session, StoredFold
from midfold.wire import DEFAULT_DIALECT


class SqliteChains(TenantStore):
    """See `midfold.store.base.Chains`."""

    def continue_session(
        self,
        session_id: str,
        messages: Sequence[object],
        compression: Compression[object],
        *,
        lease: Lease | None = None,
        system: object = None,
        facts: Mapping[str, object] | None = None,
    ) -> str:
        """End a session with a fold and open its continuation; return the new id."""
        return self.continue_session_result(
            session_id, messages, compression, lease=lease, system=system, facts=facts
        ).session_id

    def continue_session_result(
        self,
        session_id: str,
        messages: Sequence[object],
        compression: Compression[object],
        *,
        lease: Lease | None = None,
        system: object = None,
        facts: Mapping[str, object] | None = None,
        states: Mapping[str, object] | None = None,
        expected_count: int | None = None,
    ) -> ContinuedSession:
        """Do what `continue_session` does, and say which hooks failed before it; may raise `SessionGrew`."""
        session = self._database.read(find_open, self._tenant, session_id)
        failed = run_hooks(self._hooks, session_id, compression.originals)
        stored = self._database.read(_read_digests, self._tenant, session_id)
        conversation = self._recall(session_id).conversation
        plan = plan_continuation(
            messages,
            compression,
            stored,
            RowFormat(session.dialect or DEFAULT_DIALECT, self._redactor.key(conversation)),
            child_id=secrets.token_hex(16),
            facts={**(facts or {}), **({"failed_hooks": failed} if failed else {})},
            system=system,
            states=self._redactor.states(states or {}, conversation),
        )
        now = self._clock()
        self._database.write(_continue, self._tenant, session_id, plan, lease, now, expected_count)
        return ContinuedSession(plan.child_id, tuple(failed))

    def undo_continuation(self, session_id: str) -> str:
        """Take back the newest fold of a chain; return the session that goes on with everything in it."""
        child_id = secrets.token_hex(16)
        self._database.write(undo_continuation, self._tenant, session_id, child_id, self._clock())
        return child_id

    def get_compression_tip(self, session_id: str) -> str:
        """Follow continuations to the newest session."""
        return self._database.read(find_tip, self._tenant, session_id)

    def chain(self, session_id: str) -> list[Session]:
        """List the sessions of a chain from the first to the tip."""

        def list_chain(connection: sqlite3.Connection) -> list[Session]:
            conversation = find_session(connection, self._tenant, session_id).conversation
            condition = "s.tenant = ? AND s.conversation = ? AND s.undone_at IS NULL ORDER BY s.key"
            return select_sessions(connection, condition, (self._tenant, conversation))

        return self._database.read(list_chain)

    def conversations(
        self, *, source: str | None = None, limit: int = 50, after: str | None = None
    ) -> list[Session]:
        """List conversations by their tips; the next page comes `after` the last tip of this one."""

        def list_tips(connection: sqlite3.Connection) -> list[Session]:
            last = key_after(connection, self._tenant, after)
            return select_sessions(
                connection,
                "s.tenant = ?1 AND (?2 IS NULL OR s.source = ?2) AND s.key < ?3 AND s.undone_at IS NULL"
                " AND NOT EXISTS (SELECT 1 FROM sessions c WHERE c.tenant = ?1 AND c.parent = s.key"
                " AND c.kind = 'continuation' AND c.undone_at IS NULL) ORDER BY s.key DESC LIMIT ?4",
                (self._tenant, source, last, max(0, min(limit, LAST_KEY))),
            )

        return self._database.read(list_tips)

    def folds(self, session_id: str | None = None, *, unannounced: bool = False) -> list[StoredFold]:
        """List the folds of a chain, or of all."""
        return self._database.read(list_folds, self._tenant, session_id, unannounced=unannounced)

    def mark_announced(self, child_id: str) -> None:
        """Note that the fold that opened this session was announced to engine and memory."""
        self._database.write(mark_announced, self._tenant, child_id, self._clock())


def _read_digests(connection: sqlite3.Connection, tenant: str, session_id: str) -> list[tuple[bytes, ...]]:
    """Return the digests that each message of a session is known by."""
    refs = read_refs(connection, tenant, find_session(connection, tenant, session_id))
    return [ref.digests for ref in refs]


def _continue(
    connection: sqlite3.Connection,
    tenant: str,
    session_id: str,
    plan: Continuation,
    lease: Lease | None,
    now: float,
    expected_count: int | None,
) -> None:
    """End a session and open its continuation; all of it, or nothing.

    Raises `SessionBusy` when somebody else holds the lease, `SessionEnded` when somebody was quicker, and
    `SessionGrew` where it has not as many messages as are expected.
    """
    session = find_session(connection, tenant, session_id)
    check_count(session, expected_count)
    if lease is not None:
        check_lease(connection, tenant, session, lease)
    ended, child = write_continuation(connection, tenant, session, plan, now)
    insert_fold(connection, tenant, ended.key, child, plan, now)
    forget_summary(connection, tenant, plan.span_digest)
    save_states(connection, tenant, ended.conversation, plan.states, now)
    faultpoint("store.continue.linked")
