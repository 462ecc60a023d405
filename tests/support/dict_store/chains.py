"""Chains and leases in dictionaries: a fold ends a session and opens its continuation.

What to write is worked out by `plan_continuation`, as for every store. What a fold keeps is not written
again: the continuation has it in its view.
"""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import replace

from midfold.errors import SessionBusy, StoreError
from midfold.folding import Compression
from midfold.store import LEASE_SECONDS, ContinuedSession, EndReason, Lease, Session, SessionKind, StoredFold
from midfold.store.codec import read_value
from midfold.store.continuation import Continuation, DivergedList, RowFormat, plan_continuation, run_hooks
from midfold.store.fold_json import fold_from_json
from midfold.wire import DEFAULT_DIALECT
from support.dict_store.base import Verbs, digests_of
from support.dict_store.shelf import Entry, KeptFold, KeptLease, Written


class LeaseVerbs(Verbs):
    """`Leases` of `midfold.store.base`."""

    def acquire_lease(self, session_id: str, holder: str, seconds: float = LEASE_SECONDS) -> Lease:
        """Take the right to fold a session, or raise `SessionBusy`."""
        with self._lock:
            self._find_open(session_id)
            now, name = self._clock(), self._redactor.text(holder, "")
            held = self._tenant.leases.get(session_id)
            if held is not None and held.holder not in (None, name) and held.runs(now):
                raise SessionBusy(session_id, held.holder or "")
            epoch = held.epoch + 1 if held else 1
            self._tenant.leases[session_id] = KeptLease(name, epoch, now, now + seconds)
            return Lease(session_id, name, epoch, now + seconds)

    def renew_lease(self, lease: Lease, seconds: float = LEASE_SECONDS) -> Lease:
        """Keep it; raises `SessionBusy` when somebody took it over."""
        with self._lock:
            self._find(lease.session_id)
            held, now = self._check_lease(lease), self._clock()
            self._tenant.leases[lease.session_id] = replace(held, renewed_at=now, expires_at=now + seconds)
            return replace(lease, expires_at=now + seconds)

    def release_lease(self, lease: Lease) -> None:
        """Give it back; one that somebody took over is left alone."""
        with self._lock:
            held = self._tenant.leases.get(lease.session_id)
            if held is not None and held.epoch == lease.epoch:
                self._tenant.leases[lease.session_id] = replace(held, holder=None)

    def _check_lease(self, lease: Lease) -> KeptLease:
        """Raise `SessionBusy` unless a lease still is the newest; running out alone takes nothing away."""
        held = self._tenant.leases.get(lease.session_id)
        if held is None or (held.holder, held.epoch) != (lease.holder, lease.epoch):
            raise SessionBusy(lease.session_id, held.holder or "" if held else "")
        return held


class ChainVerbs(LeaseVerbs):
    """`Chains` of `midfold.store.base`."""

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
        """Do what `continue_session` does, save states with it, and say which hooks failed before it."""
        with self._lock:
            self._find_open(session_id)
        # What others do before a fold may take its time, and may use the store.
        failed = run_hooks(self._hooks, session_id, compression.originals)
        with self._lock:
            entry = self._find_open(session_id)
            self._check_count(entry, expected_count)
            if lease is not None:
                self._check_lease(lease)
            plan = plan_continuation(
                messages,
                compression,
                [digests_of(each) for each in entry.view],
                RowFormat(entry.session.dialect or DEFAULT_DIALECT, self._redactor.key(entry.origin)),
                child_id=secrets.token_hex(16),
                facts={**(facts or {}), **({"failed_hooks": failed} if failed else {})},
                system=system,
                states=self._redactor.states(states or {}, entry.origin),
            )
            self._fold(entry, plan)
            return ContinuedSession(plan.child_id, tuple(failed))

    def undo_continuation(self, session_id: str) -> str:
        """Take back the newest fold of a chain; return the session that goes on with everything in it."""
        with self._lock:
            tip = self._find_tip(self._find(session_id))
            since = self._find_since_fold(tip)
            opened = since[-1]
            unfolded = self._find(self._tenant.folds[opened.id].stored.session_id)
            now = self._clock()
            for entry in since:
                ended_at = now if entry.session.ended_at is None else entry.session.ended_at
                entry.session = replace(
                    entry.session, is_undone=True, ended_at=ended_at, end_reason=EndReason.UNDONE
                )
            child = self._open_after(unfolded, secrets.token_hex(16), now)
            child.view = [*unfolded.view, *tip.view[opened.opening :]]
            child.opening, child.last_chain = len(child.view), tip.last_chain
            return child.id

    def get_compression_tip(self, session_id: str) -> str:
        """Follow continuations to the newest session."""
        with self._lock:
            return self._find_tip(self._find(session_id)).id

    def chain(self, session_id: str) -> list[Session]:
        """List the sessions of a chain from the first to the tip."""
        with self._lock:
            entries = self._tenant.in_conversation(self._find(session_id).conversation)
            return [self._describe(entry) for entry in entries if not entry.session.is_undone]

    def conversations(
        self, *, source: str | None = None, limit: int = 50, after: str | None = None
    ) -> list[Session]:
        """List conversations by their tips; the next page comes `after` the last tip of this one."""
        with self._lock:
            found = [
                self._describe(entry)
                for entry in self._newest_first(source, after)
                if self._find_tip(entry) is entry
            ]
            return found[: max(0, limit)]

    def folds(self, session_id: str | None = None, *, unannounced: bool = False) -> list[StoredFold]:
        """List the folds of a chain, or of all, that were not taken back."""
        with self._lock:
            conversation = None if session_id is None else self._find(session_id).conversation
            return [
                kept.stored
                for child_id, kept in self._tenant.folds.items()
                if conversation in (None, self._find(child_id).conversation)
                and not self._find(child_id).session.is_undone
                and not (unannounced and kept.stored.is_announced)
            ]

    def mark_announced(self, child_id: str) -> None:
        """Note that engine and memory were told of the fold that opened this session."""
        with self._lock:
            kept = self._tenant.folds.get(child_id)
            if kept is not None:
                told = replace(kept, stored=replace(kept.stored, is_announced=True))
                self._tenant.folds[child_id] = told

    def _fold(self, entry: Entry, plan: Continuation) -> None:
        """End a session, write what the caller had and the store had not, and open the continuation."""
        now = self._clock()
        if plan.diverged is None:
            entry.view += self._shelf.write(entry, plan.unsaved, now)
            named, late = [[each] for each in entry.view], entry.view[len(plan.before) :]
        else:
            self._end_with_fold(entry, now)
            entry, named, late = self._write_diverged(entry, plan.diverged, now)
        self._end_with_fold(entry, now)
        child = self._open_after(entry, plan.child_id, now)
        child.system = entry.system if plan.system is None else plan.system
        child.base_digest = plan.base_digest
        made = iter(self._shelf.write(child, [each.row for each in plan.view if each.row is not None], now))
        for each in plan.view:
            child.view += [next(made)] if each.index is None else named[each.index]
        child.view += late
        child.opening = len(child.view)
        known = 0
        while known < min(len(late), len(plan.since)) and plan.since[known].digest in digests_of(late[known]):
            known += 1
        child.view += self._shelf.write(child, plan.since[known:], now)
        self._keep_fold(entry, plan, now)

    def _keep_fold(self, ended: Entry, plan: Continuation, now: float) -> None:
        facts = read_value(plan.facts)
        known = facts if isinstance(facts, dict) else {}
        stored = StoredFold(
            ended.id, plan.child_id, fold_from_json(plan.fold), known, now, is_announced=False
        )
        self._tenant.folds[plan.child_id] = KeptFold(plan.prefix_digest, stored)
        for identity in [each for each in self._tenant.summaries if each[0] == plan.span_digest]:
            del self._tenant.summaries[identity]
        for name, body in plan.states.items():
            if body is None:
                self._tenant.states.pop((ended.conversation, name), None)
            else:
                self._tenant.states[ended.conversation, name] = body

    def _write_diverged(
        self, entry: Entry, diverged: DivergedList, now: float
    ) -> tuple[Entry, list[list[Written]], list[Written]]:
        """Open a session that says what the caller's list said, so that the fold can be taken back."""
        stored = entry.view
        session = self._open_after(entry, diverged.session_id, now)
        named = [
            [stored[each]]
            if isinstance(each, int)
            else self._shelf.write(session, each, now, is_chained=False)
            for each in diverged.changed
        ]
        late = stored[diverged.late_from :]
        session.view = [*(each for some in named for each in some), *late]
        session.opening = len(session.view)
        unsaved = [self._shelf.write(session, rows, now) for rows in diverged.unsaved]
        session.view += [each for some in unsaved for each in some]
        return session, [*named, *unsaved], late

    def _open_after(self, entry: Entry, child_id: str, now: float) -> Entry:
        session = replace(
            entry.session,
            id=child_id,
            kind=SessionKind.CONTINUATION,
            parent_id=entry.id,
            started_at=now,
            ended_at=None,
            end_reason=None,
            is_undone=False,
        )
        child = Entry(session, entry.origin, entry.system, last_chain=entry.last_chain)
        self._tenant.entries[child_id] = child
        return child

    def _end_with_fold(self, entry: Entry, now: float) -> None:
        entry.session = replace(entry.session, ended_at=now, end_reason=EndReason.COMPRESSION)

    def _find_since_fold(self, tip: Entry) -> list[Entry]:
        """Return the sessions from a tip up to the one that the newest fold opened."""
        since = [tip]
        while since[-1].id not in self._tenant.folds:
            session = since[-1].session
            if session.kind is not SessionKind.CONTINUATION or session.parent_id is None:
                raise StoreError(f"the session {tip.id} has no fold to take back")
            since.append(self._find(session.parent_id))
        return since
