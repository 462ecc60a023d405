"""Messages in SQLite: appending them, and reading what sessions say, around damage where there is some."""

import sqlite3
from collections.abc import Sequence
from functools import partial

from midfold.errors import MessagesDamaged, StoreCorrupt
from midfold.store.rows import prepare
from midfold.store.sqlite.message_rows import append_rows
from midfold.store.sqlite.records import (
    count_history,
    find_numbers,
    number_messages,
    read_damaged_history,
    read_damaged_records,
    read_history,
    read_history_part,
    read_last,
    read_records,
    read_whole_history,
)
from midfold.store.sqlite.session_rows import find_session
from midfold.store.sqlite.tenant import TenantStore
from midfold.store.values import Condition, Item, StoredMessage, check_sound


class SqliteMessages(TenantStore):
    """See `midfold.store.base.Messages`."""

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
        if session_id not in self._cache:
            self._database.read(_check_end, self._tenant, session_id)
        session = self._recall(session_id)
        key = self._redactor.key(session.conversation)
        prepared = prepare(messages, session.dialect, key, tokens=tokens, finish_reason=finish_reason)
        return self._database.write(
            append_rows, self._tenant, session_id, prepared, self._quota, self._clock(), expected_count
        )

    def messages(self, session_id: str) -> list[Item]:
        """Return what the session says, as it would be sent; raises `MessagesDamaged`."""
        records = self.records(session_id)
        check_sound(session_id, records)
        return [record.item for record in records]

    def records(self, session_id: str, start: int = 0, stop: int | None = None) -> list[StoredMessage]:
        """Return what the session says with all that is known about each message, and marks for damage."""
        return self._database.read_around_damage(
            lambda each: read_records(each, self._tenant, session_id, start, stop),
            lambda each: read_damaged_records(each, self._tenant, session_id, start, stop),
        )

    def history(self, session_id: str, start: int = 0, stop: int | None = None) -> list[StoredMessage]:
        """Return what was said in a conversation, folded or not, with marks for damage."""
        if start or stop is not None:
            part = partial(
                read_history_part, tenant=self._tenant, session_id=session_id, start=start, stop=stop
            )
            whole = partial(self._read_damaged_part, session_id=session_id, start=start, stop=stop)
            return self._database.read_around_damage(part, whole)
        history = partial(read_whole_history, tenant=self._tenant, session_id=session_id)
        return self._database.read_around_damage(
            partial(history, read=read_history), partial(history, read=read_damaged_history)
        )

    def _read_damaged_part(
        self, connection: sqlite3.Connection, session_id: str, start: int, stop: int | None
    ) -> list[StoredMessage]:
        said = read_whole_history(connection, self._tenant, session_id, read=read_damaged_history)
        return said[start:stop]

    def count_history(self, session_id: str) -> int:
        """Count what was said in a conversation, folded or not, without reading it."""
        try:
            return self._database.read(count_history, self._tenant, session_id)
        except StoreCorrupt:
            return len(self.history(session_id))

    def find_numbers(self, session_id: str, written: Sequence[tuple[str, int]]) -> list[int | None]:
        """Return under which numbers `history` has messages, each by its session and its number there."""
        return self._database.read_around_damage(
            lambda each: find_numbers(each, self._tenant, session_id, written),
            lambda each: number_messages(
                read_whole_history(each, self._tenant, session_id, read_damaged_history), written
            ),
        )


def _check_end(connection: sqlite3.Connection, tenant: str, session_id: str) -> None:
    """Raise `MessagesDamaged` where a session cannot go on, since its newest message is damaged or missing.

    What comes next is chained to it. Damage further up is in nobody's way.
    """
    session = find_session(connection, tenant, session_id)
    if session.next_seq == session.own_from:
        return
    last = read_last(connection, tenant, session)
    if last is None or last.condition is Condition.DAMAGED:
        raise MessagesDamaged(session_id, [session.next_seq - 1])
