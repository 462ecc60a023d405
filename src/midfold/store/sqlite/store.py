"""The store that everybody gets: one SQLite file, no server, safe to share between threads and processes."""

import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

from midfold.compression.results import Compression
from midfold.errors import StoreError
from midfold.store.base import (
    OWN,
    BeforeContinue,
    Call,
    Deleted,
    EndReason,
    Found,
    Item,
    Kind,
    Known,
    Lease,
    Order,
    Session,
    StoredFold,
    StoredMessage,
)
from midfold.store.codec import clean_text
from midfold.store.continuing import Continued, Writing, plan_continuation, run_hooks
from midfold.store.leasing import LEASE_SECONDS
from midfold.store.preparing import DEFAULT_DIALECT, Hiding, prepare
from midfold.store.search import maintain
from midfold.store.sqlite import (
    calls,
    deleting,
    folds,
    leases,
    lineage,
    pruning,
    searching,
    sessions,
    writing,
)
from midfold.store.sqlite.files import Database, Status
from midfold.store.sqlite.health import Problem
from midfold.store.sqlite.sessions import NewSession, Place, Recalled
from midfold.store.sqlite.states import StateVerbs
from midfold.tokens.usage import CanonicalUsage
from midfold.wire.dialects import get_dialect

T = TypeVar("T")


class SqliteStore(StateVerbs):
    """Sessions of one tenant in a SQLite file; see `SessionStore` for the verbs."""

    def __init__(
        self,
        database: Database,
        *,
        tenant: str = OWN,
        redact: bool = True,
        quota_bytes: int | None = None,
        clock: Callable[[], float] = time.time,
        before_continue: Sequence[BeforeContinue] = (),
    ) -> None:
        self._database = database
        self._quota = quota_bytes
        if clean_text(tenant) != tenant:
            raise StoreError("a tenant's name has characters that no database holds")
        self._tenant = tenant
        self._hiding = Hiding(database.redaction_key, self._tenant, is_on=redact)
        self._clock = clock
        self._hooks = tuple(before_continue)
        self._recalled = Recalled()

    def for_tenant(self, tenant: str) -> "SqliteStore":
        """Return the same store as another tenant sees it."""
        return SqliteStore(
            self._database,
            tenant=tenant,
            redact=self._hiding.is_on,
            quota_bytes=self._quota,
            clock=self._clock,
            before_continue=self._hooks,
        )

    @property
    def status(self) -> Status:
        """Say how the store is doing."""
        return self._database.status

    def check(self, *, deep: bool = True) -> list[Problem]:
        """Look for damage, in the file of all tenants. Damage that writing could spread ends all writing."""
        return self._database.check(deep=deep)

    def rebuild_index(self) -> int:
        """Make the search index anew from the messages; return how many there are."""
        return self._database.write(lambda connection: maintain.rebuild(connection, searching.read_texts))

    def forget_loss(self) -> None:
        """Put away the warning that commits are missing from the log."""
        self._database.forget_loss()

    def close(self) -> None:
        """Finish what is waiting and let go of the file; for every tenant."""
        self._database.close()

    def __enter__(self) -> "SqliteStore":
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    # Sessions

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
        kind: Kind = Kind.ROOT,
    ) -> Session:
        """Open a session and return it. A branch begins with all that its parent says."""
        new_id = session_id or secrets.token_hex(16)
        if kind is Kind.CONTINUATION:
            raise StoreError("a continuation comes from continue_session")
        if (parent_id is None) is not (kind is Kind.ROOT):
            raise StoreError("a branch and a sub-agent have a parent, and a root has none")
        origin = self._recall(parent_id).conversation if parent_id and kind is Kind.BRANCH else new_id
        hide = partial(self._hiding.text, conversation=origin)
        new = NewSession(
            id=new_id,
            conversation=new_id,
            kind=kind,
            parent=None,
            source=hide(source),
            model=model and hide(model),
            title=title and hide(title),
            dialect=dialect and get_dialect(dialect).name,
            system=None if system is None else self._hiding.value(system, origin),
        )
        if parent_id is None:
            self._write(sessions.insert_session, new, self._clock())
        elif kind is Kind.BRANCH:
            self._write(lineage.branch_session, parent_id, new, self._clock())
        else:
            self._write(lineage.open_below, parent_id, new, self._clock())
        return self.session(new_id)

    def session(self, session_id: str) -> Session:
        """Return what is known about a session."""
        return self._read(sessions.get_session, session_id)

    def sessions(
        self, *, source: str | None = None, limit: int = 50, before: float | None = None
    ) -> list[Session]:
        """List sessions, the newest first."""
        return self._read(partial(sessions.list_sessions, source=source, before=before, limit=limit))

    def system(self, session_id: str) -> object:
        """Return the system prompt that was kept with a session."""
        return self._read(sessions.read_system, session_id)

    def end_session(self, session_id: str, reason: str = EndReason.CLOSED) -> None:
        """End a session; it stays readable."""
        hidden = self._hiding.text(reason, self._recall(session_id).conversation)
        self._write(sessions.end_session, session_id, hidden, self._clock())

    def reopen_session(self, session_id: str) -> None:
        """Go on with a session that was closed."""
        self._write(sessions.reopen_session, session_id)

    def set_title(self, session_id: str, title: str) -> None:
        """Name a session."""
        hidden = self._hiding.text(title, self._recall(session_id).conversation)
        self._write(sessions.set_title, session_id, hidden)

    # Messages

    def append(
        self,
        session_id: str,
        messages: Sequence[object] | object,
        *,
        tokens: Sequence[int] | None = None,
        finish_reason: str | None = None,
        expected_count: int | None = None,
    ) -> int:
        """Add messages, all or none; return the number of the first. `SessionGrew`, `MessagesDamaged`."""
        if not self._recalled.get(session_id):
            self._read(writing.check_end, session_id)
        place = self._recall(session_id)
        prepared = prepare(
            messages,
            place.dialect,
            self._hiding.key(place.conversation),
            tokens=tokens,
            finish_reason=finish_reason,
        )
        now = self._clock()
        return self._write(writing.append, session_id, prepared, self._quota, now, expected_count)

    def messages(self, session_id: str) -> list[Item]:
        """Return what the session says, as it would be sent; raises `MessagesDamaged`."""
        return writing.read_items(self._database, self._tenant, session_id)

    def records(self, session_id: str, start: int = 0, stop: int | None = None) -> list[StoredMessage]:
        """Return what the session says with all that is known about each message, and marks for damage."""
        return writing.read_view(self._database, self._tenant, session_id, start, stop)

    def history(self, session_id: str) -> list[StoredMessage]:
        """Return everything that was said in a conversation, folded or not, with marks for damage."""
        return writing.read_history(self._database, self._tenant, session_id)

    def count_history(self, session_id: str) -> int:
        """Count what was said in a conversation, folded or not, without reading it."""
        return writing.count_history(self._database, self._tenant, session_id)

    # Chains

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
    ) -> Continued:
        """Do what `continue_session` does, and say which hooks failed before it; may raise `SessionGrew`."""
        place = self._read(sessions.find_open, session_id)
        failed = run_hooks(self._hooks, session_id, compression.originals)
        stored = [ref.digests for ref in self._read(writing.read_places, session_id)]
        key = self._hiding.key(self._recall(session_id).conversation)
        spelling = Writing(place.dialect or DEFAULT_DIALECT, key)
        plan = plan_continuation(
            messages,
            compression,
            stored,
            spelling,
            child_id=secrets.token_hex(16),
            facts={**(facts or {}), **({"failed_hooks": failed} if failed else {})},
            system=system,
            states=self._pack_states(session_id, states or {}),
        )
        self._write(lineage.continue_session, session_id, plan, lease, self._clock(), expected_count)
        return Continued(plan.child_id, tuple(failed))

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

    def find_history(self, chain: Sequence[bytes]) -> Known | None:
        """Find the session that a history belongs to, by its chained digests."""
        return self._read(folds.find_history, chain)

    def find_fold(self, chain: Sequence[bytes]) -> StoredFold | None:
        """Find the fold that was made for the beginning of a history, by its chained digests."""
        return self._read(folds.find_fold, chain)

    def folds(self, session_id: str | None = None, *, unannounced: bool = False) -> list[StoredFold]:
        """List the folds of a chain, or of all."""
        return self._read(partial(folds.list_folds, unannounced=unannounced), session_id)

    def mark_announced(self, child_id: str) -> None:
        """Note that engine and memory were told of the fold that opened this session."""
        self._write(folds.mark_announced, child_id, self._clock())

    def remember_summary(self, span_digest: bytes, model: str, prompt: str, summary: object) -> None:
        """Keep a summary that was paid for until its fold is in place."""
        body = self._hiding.value(summary, "")
        identity = (span_digest, self._hiding.text(model, ""), self._hiding.text(prompt, ""))
        self._write(folds.remember_summary, identity, body, self._clock())

    def recall_summary(self, span_digest: bytes, model: str, prompt: str) -> object | None:
        """Return a summary that was paid for and not used."""
        identity = (span_digest, self._hiding.text(model, ""), self._hiding.text(prompt, ""))
        return self._read(folds.recall_summary, identity)

    # Leases

    def acquire_lease(self, session_id: str, holder: str, seconds: float = LEASE_SECONDS) -> Lease:
        """Take the right to fold a session, or raise `SessionBusy`."""
        return self._write(leases.acquire, session_id, self._hiding.text(holder, ""), seconds, self._clock())

    def renew_lease(self, lease: Lease, seconds: float = LEASE_SECONDS) -> Lease:
        """Keep it; raises `SessionBusy` when somebody took it over."""
        return self._write(leases.renew, lease, seconds, self._clock())

    def release_lease(self, lease: Lease) -> None:
        """Give it back."""
        self._write(leases.release, lease)

    # Search and usage

    def search(
        self,
        query: str,
        *,
        session_id: str | None = None,
        role: str | None = None,
        tool: str | None = None,
        since: float | None = None,
        until: float | None = None,
        order: Order = Order.NEWEST,
        limit: int = 20,
    ) -> Found:
        """Find messages by words, phrases and prefixes; whatever the query says, it is never an error."""
        wanted = searching.Wanted(query, session_id, role, tool, since, until, Order(order), limit)
        return writing.search(self._database, self._tenant, wanted)

    def find_substring(self, session_id: str, text: str, limit: int = 20) -> Found:
        """Find a text letter by letter in what one session says."""
        return self._read(searching.find_substring, session_id, text, limit)

    def record_call(self, session_id: str, call: Call) -> None:
        """Record what a call used, at once; the same call twice is counted once."""
        place = self._recall(session_id)
        known = replace(call, id=call.id or secrets.token_hex(16))
        key = self._hiding.key(place.conversation)
        self._write(calls.insert_call, session_id, known, key, self._clock())

    def calls(
        self,
        session_id: str | None = None,
        *,
        whole_chain: bool = False,
        since: float | None = None,
        until: float | None = None,
    ) -> list[Call]:
        """List recorded calls, oldest first: of a session, of its whole chain, or of all."""
        return self._read(calls.read_calls, session_id, whole_chain, since, until)

    def usage(self, session_id: str | None = None, *, whole_chain: bool = False) -> CanonicalUsage:
        """Add up what calls used."""
        return self._read(calls.sum_usage, session_id, whole_chain)

    def prune(
        self, *, older_than: float | None = None, keep_bytes: int | None = None, dry_run: bool = False
    ) -> Deleted:
        """Delete conversations untouched since `older_than`, then the oldest down to `keep_bytes`."""
        self._recalled.clear()
        return pruning.prune(
            self._database, self._tenant, older_than=older_than, keep_bytes=keep_bytes, dry_run=dry_run
        )

    def delete(self, session_id: str, *, branches: bool = False) -> Deleted:
        """Delete a conversation: every session of its chain, their index and their sub-agents."""
        self._recalled.clear()
        return deleting.delete(self._database, self._tenant, session_id, branches=branches)

    def _write(self, work: Callable[..., T], *arguments: object) -> T:
        return self._database.write(lambda connection: work(connection, self._tenant, *arguments))

    def _read(self, work: Callable[..., T], *arguments: object) -> T:
        return self._database.read(lambda connection: work(connection, self._tenant, *arguments))

    def _recall(self, session_id: str) -> Place:
        """Find a session for what never changes about it: how it is spelled, and where its branches began."""
        place = self._recalled.get(session_id)
        if place is None:
            place = self._read(lineage.find_as_of_origin, session_id)
            if place.dialect is not None:
                self._recalled.put(session_id, place)
        return place
