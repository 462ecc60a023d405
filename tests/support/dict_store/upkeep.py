"""Calls, states, deleting and the rest of what a store of dictionaries does."""

import secrets
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from midfold.errors import SessionNotFound, StoreError
from midfold.store import Area, Call, Deleted, Problem, SessionKind, StoreStatus, pack_value
from midfold.store.codec import hide_id, hide_text, read_value
from midfold.tokens import CanonicalUsage
from support.dict_store.base import Verbs
from support.dict_store.shelf import Entry, KeptSummary

_DAY_SECONDS = 86_400.0


class UsageVerbs(Verbs):
    """`DiskUsage` of `midfold.store.base`."""

    def record_call(self, session_id: str, call: Call) -> None:
        """OutputRecord what a call used; the same call twice is counted once."""
        with self._lock:
            entry = self._find(session_id)
            key = self._redactor.key(entry.origin)
            call_id = hide_id(call.id or secrets.token_hex(16), key)
            facts = read_value(pack_value(dict(call.facts), key))
            kept = replace(
                call,
                id=call_id,
                model=hide_text(call.model, key),
                purpose=hide_text(call.purpose, key),
                cost_kind=hide_text(call.cost_kind, key),
                facts=facts if isinstance(facts, dict) else {},
                raw=read_value(pack_value(call.raw, key)),
                created_at=self._clock() if call.created_at is None else call.created_at,
                session_id=session_id,
                source=entry.session.source,
            )
            self._tenant.calls.setdefault(call_id, kept)

    def calls(
        self,
        session_id: str | None = None,
        *,
        whole_chain: bool = False,
        since: float | None = None,
        until: float | None = None,
    ) -> list[Call]:
        """List recorded calls, oldest first: of a session, of its whole chain, or of all."""
        with self._lock:
            wanted = None
            if session_id is not None:
                entry = self._find(session_id)
                chain = self._tenant.in_conversation(entry.conversation) if whole_chain else [entry]
                wanted = {each.id for each in chain}
            found = [
                call
                for call in self._tenant.calls.values()
                if (wanted is None or call.session_id in wanted)
                and (since is None or _at(call) >= since)
                and (until is None or _at(call) < until)
            ]
            return sorted(found, key=_at)

    def usage(self, session_id: str | None = None, *, whole_chain: bool = False) -> CanonicalUsage:
        """Add up what calls used."""
        calls = self.calls(session_id, whole_chain=whole_chain)
        return sum((call.usage for call in calls), CanonicalUsage())


class StateVerbs(Verbs):
    """`States` of `midfold.store.base`."""

    def save_state(self, session_id: str, name: str, value: object) -> None:
        """Keep a JSON value with the conversation of a session; `None` forgets it."""
        with self._lock:
            entry = self._find(session_id)
            body = self._redactor.states({name: value}, entry.origin)[name]
            if body is None:
                self._tenant.states.pop((entry.conversation, name), None)
            else:
                self._tenant.states[entry.conversation, name] = body

    def add_state(self, session_id: str, name: str, value: object) -> bool:
        """Keep a JSON value unless one was saved by that name; return whether it was kept."""
        with self._lock:
            if self.load_state(session_id, name) is not None:
                return False
            self.save_state(session_id, name, value)
            return True

    def load_state(self, session_id: str, name: str) -> object | None:
        """Return what was saved by that name with the conversation of a session."""
        with self._lock:
            body = self._tenant.states.get((self._find(session_id).conversation, name))
            return None if body is None else read_value(body)

    def conversation_key(self, session_id: str) -> bytes:
        """Return the key of the placeholders and fences of a conversation."""
        with self._lock:
            try:
                return self._redactor.secret_of(self._find(session_id).origin)
            except SessionNotFound:
                return self._redactor.secret_of(session_id)

    def remember_summary(self, span_digest: bytes, model: str, prompt: str, summary: object) -> None:
        """Keep a summary that was paid for until its fold is in place, a day at most."""
        with self._lock:
            now, kept = self._clock(), self._tenant.summaries
            for identity in [key for key, each in kept.items() if abs(each.created_at - now) > _DAY_SECONDS]:
                del kept[identity]
            kept[self._identity(span_digest, model, prompt)] = KeptSummary(
                self._redactor.value(summary, ""), now
            )

    def recall_summary(self, span_digest: bytes, model: str, prompt: str) -> object | None:
        """Return a summary that was paid for and not used."""
        with self._lock:
            kept = self._tenant.summaries.get(self._identity(span_digest, model, prompt))
            return None if kept is None else read_value(kept.body)

    def _identity(self, span_digest: bytes, model: str, prompt: str) -> tuple[bytes, str, str]:
        return span_digest, self._redactor.text(model, ""), self._redactor.text(prompt, "")


@dataclass(frozen=True, slots=True)
class _Family:
    """A conversation with its branches and sub-agents: they go together or not at all."""

    entries: tuple[Entry, ...]

    @property
    def last_used(self) -> float:
        return max(
            max([entry.session.started_at, *(each.created_at for each in entry.written)])
            for entry in self.entries
        )

    @property
    def size(self) -> int:
        return sum(len(each.row.body) for entry in self.entries for each in entry.written)


class UpkeepVerbs(Verbs):
    """`Upkeep` of `midfold.store.base`."""

    @property
    def status(self) -> StoreStatus:
        """Say how the store is doing."""
        return StoreStatus(":memory:", "dictionaries", may_write=True, problem=None)

    def delete(self, session_id: str, *, branches: bool = False) -> Deleted:
        """Delete a conversation: every session of its chain, and their sub-agents."""
        with self._lock:
            doomed: dict[str, Entry] = {}
            waiting = [self._find(session_id).conversation]
            while waiting:
                conversation = waiting.pop()
                doomed |= {entry.id: entry for entry in self._tenant.in_conversation(conversation)}
                waiting += self._find_children(conversation, branches=branches)
            return self._remove(doomed.values())

    def prune(
        self, *, older_than: float | None = None, keep_bytes: int | None = None, dry_run: bool = False
    ) -> Deleted:
        """Delete conversations untouched since `older_than`, then the oldest down to `keep_bytes`."""
        with self._lock:
            left = sorted(self._families(), key=lambda family: family.last_used)
            doomed = [each for each in left if older_than is not None and each.last_used < older_than]
            left = left[len(doomed) :]
            while keep_bytes is not None and left and sum(each.size for each in left) > keep_bytes:
                doomed.append(left.pop(0))
            entries = [entry for family in doomed for entry in family.entries]
            return _count(entries) if dry_run else self._remove(entries)

    def check(self, *, deep: bool = True) -> list[Problem]:
        """Look for messages that are not where their numbers say; `deep` reads each, which raises nothing."""
        with self._lock:
            return [
                Problem(Area.MESSAGES, f"the messages of session {entry.id} are not numbered in order")
                for tenant in self._shelf.tenants.values()
                for entry in tenant.entries.values()
                if [each.seq for each in entry.written] != list(range(len(entry.written)))
                or (deep and len([each.record for each in entry.view]) != len(entry.view))
            ]

    def rebuild_index(self) -> int:
        """Return how many messages there are: a search reads them all, without an index."""
        with self._lock:
            return sum(1 for tenant in self._shelf.tenants.values() for _each in tenant.all_written())

    def forget_loss(self) -> None:
        """Do nothing: what is in memory is not lost while there is somebody to warn."""

    def close(self) -> None:
        """Do nothing: the shelf goes with its last user."""

    def _find_children(self, conversation: str, *, branches: bool) -> Iterator[str]:
        parents = {entry.id for entry in self._tenant.in_conversation(conversation)}
        for entry in self._tenant.entries.values():
            if entry.session.parent_id in parents and entry.conversation != conversation:
                if entry.session.kind is SessionKind.BRANCH and not branches:
                    raise StoreError(
                        f"the session {entry.id} branches from this one; delete it first, or branches too"
                    )
                yield entry.conversation

    def _families(self) -> list[_Family]:
        heads: dict[str, str] = {}
        members: dict[str, list[Entry]] = {}
        for entry in self._tenant.entries.values():
            heads[entry.id] = heads.get(entry.session.parent_id or "", entry.id)
            members.setdefault(heads[entry.id], []).append(entry)
        return [_Family(tuple(found)) for found in members.values()]

    def _remove(self, entries: Iterable[Entry]) -> Deleted:
        """Take sessions away with all that hangs on them."""
        doomed, tenant = list(entries), self._tenant
        ids = {entry.id for entry in doomed}
        for session_id in ids:
            del tenant.entries[session_id]
            tenant.folds.pop(session_id, None)
            tenant.leases.pop(session_id, None)
        tenant.calls = {name: call for name, call in tenant.calls.items() if call.session_id not in ids}
        left = {entry.conversation for entry in tenant.entries.values()}
        tenant.states = {name: body for name, body in tenant.states.items() if name[0] in left}
        tenant.figures = {name: kept for name, kept in tenant.figures.items() if name in left}
        return _count(doomed)


def _count(entries: list[Entry]) -> Deleted:
    ids = tuple(entry.id for entry in entries)
    return Deleted(ids, sum(len(entry.written) for entry in entries))


def _at(call: Call) -> float:
    return call.created_at or 0.0
