"""`check_store` lets our own store pass, and finds a store that breaks a promise."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from midfold.compression.results import Compression
from midfold.errors import SessionNotFound
from midfold.store import open_store
from midfold.store.base import Call, Deleted, Found
from midfold.store.sqlite import states
from midfold.store.sqlite.database import Database
from midfold.store.sqlite.store import SqliteStore
from midfold.testing import check_store
from midfold.testing.stores import StoreContractError


def test_the_sqlite_store_keeps_every_promise(tmp_path: Path) -> None:
    check_store(lambda: open_store(tmp_path / "s.db", synchronous="NORMAL"))


class Forgets(SqliteStore):
    def append(self, session_id: str, messages: object, **options: object) -> int:
        given = messages[:-1] if isinstance(messages, Sequence) and len(messages) > 3 else messages
        return super().append(session_id, given)


class CountsTwice(SqliteStore):
    def record_call(self, session_id: str, call: Call) -> None:
        super().record_call(session_id, Call(call.usage, call.model))


class FindsNothing(SqliteStore):
    def search(self, query: str, **options: object) -> Found:
        return Found(())


class DeletesNothing(SqliteStore):
    def delete(self, session_id: str, *, branches: bool = False) -> Deleted:
        self.messages(session_id)
        return Deleted((session_id,), 1)


class Forks(SqliteStore):
    def continue_session(
        self, session_id: str, messages: Sequence[object], compression: Compression[object], **_: object
    ) -> str:
        child = self.create_session(dialect="openai_chat").id
        self.append(child, messages)
        return child


class Remembers(SqliteStore):
    def delete(self, session_id: str, *, branches: bool = False) -> Deleted:
        state = self.load_state(session_id, "compression")
        deleted = super().delete(session_id, branches=branches)
        if state is not None:
            bodies = {"compression": '{"pins": []}'}
            self._write(states.save, session_id, bodies, 0.0)
        return deleted


class RaisesAnything(SqliteStore):
    def messages(self, session_id: str) -> list[object]:
        try:
            return super().messages(session_id)
        except SessionNotFound as error:
            raise KeyError(session_id) from error


@pytest.mark.parametrize(
    ("kind", "promise"),
    [
        (Forgets, "numbers are dense|come back"),
        (CountsTwice, "counted once"),
        (FindsNothing, "found by its words"),
        (DeletesNothing, "is gone"),
        (Remembers, "a state goes with its conversation"),
        (Forks, "names its parent"),
        (RaisesAnything, "knows no stranger"),
    ],
)
def test_a_broken_promise_is_named(
    tmp_path: Path, kind: Callable[[Database], SqliteStore], promise: str
) -> None:
    with pytest.raises(StoreContractError, match=promise):
        check_store(lambda: kind(Database(tmp_path / "s.db", synchronous="NORMAL")))
