"""`check_store` lets our own store pass, and finds a store that breaks a promise."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from midfold.compression.results import Compression
from midfold.errors import SessionNotFound
from midfold.store import open_store
from midfold.store.base import (
    Call,
    Chains,
    Deleted,
    Found,
    Leases,
    Messages,
    Search,
    Sessions,
    SessionStore,
    States,
    Store,
    Upkeep,
    Usage,
)
from midfold.store.sqlite import states
from midfold.store.sqlite.database import Database
from midfold.store.sqlite.store import SqliteStore
from midfold.testing import check_store
from midfold.testing.stores import StoreContractError

GROUPS = (Sessions, Messages, Chains, Leases, Search, Usage, States, Upkeep)


def verbs_of(group: type) -> set[str]:
    return {name for name in vars(group) if not name.startswith("_")}


ALL_VERBS = set().union(*map(verbs_of, GROUPS))


class Recording:
    """A store that notes which of its verbs were used."""

    def __init__(self, store: Store, used: set[str]) -> None:
        self._store, self._used = store, used

    def __getattr__(self, name: str) -> object:
        self._used.add(name)
        found = getattr(self._store, name)
        if name == "for_tenant":
            return lambda tenant: Recording(found(tenant), self._used)
        return found


def test_every_verb_of_the_protocol_is_proved_and_nothing_else_is_used(tmp_path: Path) -> None:
    used: set[str] = set()
    check_store(lambda: Recording(open_store(tmp_path / "s.db", synchronous="NORMAL"), used))  # type: ignore[arg-type,return-value]
    assert used == ALL_VERBS


def test_no_group_of_the_protocol_has_more_than_eight_verbs() -> None:
    assert {group.__name__: len(verbs_of(group)) for group in GROUPS if len(verbs_of(group)) > 8} == {}


def test_whatever_the_sqlite_store_offers_is_in_the_protocol() -> None:
    assert {name for name in dir(SqliteStore) if not name.startswith("_")} == ALL_VERBS


def test_the_name_of_earlier_versions_is_the_protocol() -> None:
    assert SessionStore is Store


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
