"""Folds in SQLite: continuing a session with one, and taking it back."""

import secrets
from collections.abc import Mapping, Sequence
from functools import partial

from midfold.folding import Compression
from midfold.store.base import ContinuedSession, Lease, Session, StoredFold
from midfold.store.continuing import RowFormat, plan_continuation, run_hooks
from midfold.store.sqlite import folds, lineage, sessions, writing
from midfold.store.sqlite.verbs.base import Verbs
from midfold.wire import DEFAULT_DIALECT


class ChainVerbs(Verbs):
    """See `midfold.store.base`."""

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
        place = self._read(sessions.find_open, session_id)
        failed = run_hooks(self._hooks, session_id, compression.originals)
        stored = [ref.digests for ref in self._read(writing.read_places, session_id)]
        conversation = self._recall(session_id).conversation
        spelling = RowFormat(place.dialect or DEFAULT_DIALECT, self._hiding.key(conversation))
        plan = plan_continuation(
            messages,
            compression,
            stored,
            spelling,
            child_id=secrets.token_hex(16),
            facts={**(facts or {}), **({"failed_hooks": failed} if failed else {})},
            system=system,
            states=self._hiding.states(states or {}, conversation),
        )
        self._write(lineage.continue_session, session_id, plan, lease, self._clock(), expected_count)
        return ContinuedSession(plan.child_id, tuple(failed))

    def undo_continuation(self, session_id: str) -> str:
        """Take back the newest fold of a chain; return the session that goes on with everything in it."""
        child_id = secrets.token_hex(16)
        self._write(lineage.undo_continuation, session_id, child_id, self._clock())
        return child_id

    def get_compression_tip(self, session_id: str) -> str:
        """Follow continuations to the newest session."""
        return self._read(sessions.find_tip, session_id)

    def chain(self, session_id: str) -> list[Session]:
        """List the sessions of a chain from the first to the tip."""
        return self._read(sessions.list_chain, session_id)

    def conversations(
        self, *, source: str | None = None, limit: int = 50, after: str | None = None
    ) -> list[Session]:
        """List conversations by their tips; the next page comes `after` the last tip of this one."""
        return self._read(partial(sessions.list_conversations, source=source, after=after, limit=limit))

    def folds(self, session_id: str | None = None, *, unannounced: bool = False) -> list[StoredFold]:
        """List the folds of a chain, or of all."""
        return self._read(partial(folds.list_folds, unannounced=unannounced), session_id)

    def mark_announced(self, child_id: str) -> None:
        """Note that engine and memory were told of the fold that opened this session."""
        self._write(folds.mark_announced, child_id, self._clock())
