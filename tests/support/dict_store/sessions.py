"""Sessions and messages in dictionaries."""

import secrets
from collections.abc import Sequence
from dataclasses import replace

from midfold.errors import SessionEnded, StoreError
from midfold.store import EndReason, ImportedMessage, Item, Session, SessionKind, StoredMessage
from midfold.store.codec import read_value
from midfold.store.inputs import check_end_reason, check_kind, check_new_id
from midfold.store.rows import prepare, prepare_runs
from midfold.wire import get_dialect
from support.dict_store.base import Verbs
from support.dict_store.shelf import Entry


class SessionVerbs(Verbs):
    """`Sessions` of `midfold.store.base`."""

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
        check_kind(kind, parent_id)
        with self._lock:
            parent = self._find(parent_id) if parent_id is not None else None
            branched = parent if kind is SessionKind.BRANCH else None
            entry = self._new_entry(session_id, source, model, title, dialect, system, branched)
            entry.session = replace(entry.session, kind=kind, parent_id=parent_id)
            first = prepare(messages, entry.session.dialect, self._redactor.key(entry.origin))
            self._put(entry)
            if branched is not None:
                self._branch(entry, branched)
            if first.dialect:
                entry.session = replace(entry.session, dialect=first.dialect)
            entry.view += self._shelf.write(entry, first.rows, self._clock())
            return self._describe(entry)

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
        with self._lock:
            entry = self._new_entry(session_id, source, model, title, dialect, system)
            runs = prepare_runs(said, dialect, self._redactor.key(entry.origin))
            now = self._clock()
            entry.session = replace(entry.session, started_at=now if started_at is None else started_at)
            self._put(entry)
            for run in runs:
                at = now if run.at is None else run.at
                entry.view += self._shelf.write(entry, run.prepared.rows, at)
            return self._describe(entry)

    def session(self, session_id: str) -> Session:
        """Return what is known about a session."""
        with self._lock:
            return self._describe(self._find(session_id))

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
        with self._lock:
            found = [
                self._describe(entry)
                for entry in self._newest_first(source, after)
                if entry.id.startswith(prefix) and (before is None or entry.session.started_at < before)
            ]
            return found[: max(0, limit)]

    def system(self, session_id: str) -> object:
        """Return the system prompt that was kept with a session."""
        with self._lock:
            system = self._find(session_id).system
            return None if system is None else read_value(system)

    def end_session(self, session_id: str, reason: str = EndReason.CLOSED) -> None:
        """End a session; it stays readable."""
        check_end_reason(reason)
        with self._lock:
            entry = self._find(session_id)
            if entry.session.ended_at is None:
                hidden = self._redactor.text(reason, entry.origin)
                entry.session = replace(entry.session, ended_at=self._clock(), end_reason=hidden)

    def reopen_session(self, session_id: str) -> None:
        """Go on with a session that was closed."""
        with self._lock:
            entry = self._find(session_id)
            tip = self._find_tip(entry).id
            if tip != session_id:
                raise SessionEnded(session_id, tip)
            entry.session = replace(entry.session, ended_at=None, end_reason=None)

    def set_title(self, session_id: str, title: str) -> None:
        """Name a session."""
        with self._lock:
            entry = self._find(session_id)
            entry.session = replace(entry.session, title=self._redactor.text(title, entry.origin))

    def _new_entry(
        self,
        session_id: str | None,
        source: str,
        model: str | None,
        title: str | None,
        dialect: str | None,
        system: object,
        branched: Entry | None = None,
    ) -> Entry:
        """Prepare a session; what is not said about a branch is as it is with its parent."""
        new_id = session_id or secrets.token_hex(16)
        check_new_id(new_id)
        origin = branched.origin if branched else new_id
        like = branched.session if branched else None
        session = Session(
            id=new_id,
            conversation_id=new_id,
            kind=SessionKind.ROOT,
            parent_id=None,
            source=self._redactor.text(source, origin) or (like.source if like else ""),
            model=self._redactor.text(model, origin) if model else like.model if like else None,
            title=self._redactor.text(title, origin) if title else like.title if like else None,
            dialect=like.dialect if like else dialect and get_dialect(dialect).name,
            started_at=self._clock(),
            ended_at=None,
            end_reason=None,
            is_undone=False,
            message_count=0,
        )
        packed = branched.system if branched else None
        return Entry(session, origin, packed if system is None else self._redactor.value(system, origin))

    def _branch(self, entry: Entry, parent: Entry) -> None:
        """Let a session begin with all that another says, and with what was said before that."""
        newest = max((each.number for each in parent.view), default=-1)
        entry.before = tuple(each for each in self._read_history(parent) if each.number <= newest)
        entry.view, entry.opening = list(parent.view), len(parent.view)
        entry.last_chain = parent.last_chain
        for (conversation, name), body in list(self._tenant.states.items()):
            if conversation == parent.conversation:
                self._tenant.states[entry.conversation, name] = body

    def _put(self, entry: Entry) -> None:
        if entry.id in self._tenant.entries:
            raise StoreError(f"there is a session {entry.id} already")
        self._tenant.entries[entry.id] = entry


class MessageVerbs(Verbs):
    """`Messages` of `midfold.store.base`."""

    def append(
        self,
        session_id: str,
        messages: Sequence[object] | object,
        *,
        tokens: Sequence[int] | None = None,
        finish_reason: str | None = None,
        expected_count: int | None = None,
    ) -> int:
        """Add messages, all of them or none, and return the number of the first."""
        with self._lock:
            entry = self._find_open(session_id)
            self._check_count(entry, expected_count)
            prepared = prepare(
                messages,
                entry.session.dialect,
                self._redactor.key(entry.origin),
                tokens=tokens,
                finish_reason=finish_reason,
            )
            if prepared.dialect:
                entry.session = replace(entry.session, dialect=prepared.dialect)
            first = len(entry.written)
            entry.view += self._shelf.write(entry, prepared.rows, self._clock())
            return first

    def messages(self, session_id: str) -> list[Item]:
        """Return what the session says, as it would be sent."""
        return [record.item for record in self.records(session_id)]

    def records(self, session_id: str, start: int = 0, stop: int | None = None) -> list[StoredMessage]:
        """Return the same with all that is known about each message."""
        with self._lock:
            return [each.record for each in self._find(session_id).view[start:stop]]

    def history(self, session_id: str, start: int = 0, stop: int | None = None) -> list[StoredMessage]:
        """Return what was said in a conversation, folded or not."""
        with self._lock:
            return [each.record for each in self._read_history(self._find(session_id))[start:stop]]

    def count_history(self, session_id: str) -> int:
        """Count what `history` returns."""
        with self._lock:
            return len(self._read_history(self._find(session_id)))

    def find_numbers(self, session_id: str, written: Sequence[tuple[str, int]]) -> list[int | None]:
        """Return under which numbers `history` has messages."""
        said = self.history(session_id)
        numbers = {(each.session_id, each.seq): number for number, each in enumerate(said)}
        return [numbers.get(each) for each in written]
