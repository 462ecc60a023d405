"""What all verbs of the store of dictionaries share."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from midfold.errors import SessionEnded, SessionGrew, SessionNotFound
from midfold.messages import own_digest
from midfold.store import OWN, BeforeContinue, Session, SessionKind
from midfold.store.codec import read_body
from midfold.store.inputs import Redactor, check_id
from midfold.store.rows import SAID
from support.dict_store.shelf import Entry, Shelf, Tenant, Written


class Verbs:
    """Looks sessions up as one tenant. Whoever uses what begins with an underscore holds the lock."""

    def __init__(
        self,
        shelf: Shelf | None = None,
        *,
        tenant: str = OWN,
        redact: bool = True,
        clock: Callable[[], float] = time.time,
        before_continue: Sequence[BeforeContinue] = (),
    ) -> None:
        self._shelf = shelf or Shelf()
        self._lock = self._shelf.lock
        self._name = tenant
        self._redactor = Redactor(self._shelf.key, tenant, is_on=redact)
        self._clock = clock
        self._hooks = tuple(before_continue)

    @property
    def _tenant(self) -> Tenant:
        return self._shelf.tenants.setdefault(self._name, Tenant())

    def _find(self, session_id: str) -> Entry:
        check_id(session_id)
        entry = self._tenant.entries.get(session_id)
        if entry is None:
            raise SessionNotFound(session_id)
        return entry

    def _find_open(self, session_id: str) -> Entry:
        """Find a session that takes messages, or raise `SessionEnded` with the one that goes on."""
        entry = self._find(session_id)
        if entry.session.ended_at is not None:
            tip = self._find_tip(entry).id
            raise SessionEnded(session_id, tip if tip != session_id else None)
        return entry

    def _find_tip(self, entry: Entry) -> Entry:
        """Follow continuations to the newest; one taken back leads to what replaced it."""
        while entry.session.is_undone:
            entry = self._find(entry.session.parent_id or "")
        while (after := self._find_continuation(entry)) is not None:
            entry = after
        return entry

    def _find_continuation(self, entry: Entry) -> Entry | None:
        return next(
            (
                each
                for each in self._tenant.in_conversation(entry.conversation)
                if each.session.kind is SessionKind.CONTINUATION
                and each.session.parent_id == entry.id
                and not each.session.is_undone
            ),
            None,
        )

    def _read_history(self, entry: Entry) -> list[Written]:
        """Return all that was said in a conversation, in the order it was said in."""
        entries = self._tenant.in_conversation(entry.conversation)
        said = [each for one in entries for each in one.written if each.row.origin == SAID]
        return [*entries[0].before, *sorted(said, key=lambda each: each.number)]

    def _newest_first(self, source: str | None, after: str | None) -> list[Entry]:
        """Return the sessions of a source, those older than `after`."""
        entries = list(reversed(self._tenant.entries.values()))
        first = 0 if after is None else entries.index(self._find(after)) + 1
        return [entry for entry in entries[first:] if source in (None, entry.session.source)]

    @staticmethod
    def _check_count(entry: Entry, expected_count: int | None) -> None:
        if expected_count is not None and entry.message_count != expected_count:
            raise SessionGrew(entry.id, entry.message_count)

    @staticmethod
    def _describe(entry: Entry) -> Session:
        return replace(entry.session, message_count=entry.message_count)


def digests_of(written: Written) -> tuple[bytes, ...]:
    """Return what a message is known by: what was said, and what is stored where that is another thing."""
    row = written.row
    if row.is_exact:
        return (row.digest,)
    return row.digest, own_digest(read_body(row.dialect, row.body))
