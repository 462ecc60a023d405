"""`check_store` lets our own store pass, and finds a store that breaks a promise."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from midfold.errors import SessionNotFound
from midfold.folding.compression import Compression
from midfold.store import open_store
from midfold.store.base import (
    Chains,
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
from midfold.store.figures import Figures
from midfold.store.sqlite.database import Database
from midfold.store.sqlite.states import save_states
from midfold.store.sqlite.store import SqliteStore
from midfold.store.values import (
    Call,
    Deleted,
    ImportedMessage,
    Lease,
    SearchResults,
    Session,
    StoredFold,
    StoredMessage,
)
from midfold.testing import check_store
from midfold.testing.stores import StoreContractError

GROUPS = (Sessions, Messages, Chains, Leases, Search, Usage, Figures, States, Upkeep)


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


def test_every_verb_is_written_about() -> None:
    page = (Path(__file__).parents[2] / "docs" / "stores.md").read_text("utf-8")
    assert {verb for verb in ALL_VERBS if not re.search(rf"`[^`]*\b{verb}\b", page)} == set()


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
    def search(self, query: str, **options: object) -> SearchResults:
        return SearchResults(())


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
            self._database.write(save_states, self._tenant, session_id, bodies, 0.0)
        return deleted


class RaisesAnything(SqliteStore):
    def messages(self, session_id: str) -> list[object]:
        try:
            return super().messages(session_id)
        except SessionNotFound as error:
            raise KeyError(session_id) from error


class SharesTenants(SqliteStore):
    def for_tenant(self, tenant: str) -> SqliteStore:
        return self


class LosesTheFolded(SqliteStore):
    def history(self, session_id: str) -> list[StoredMessage]:
        return self.records(session_id)


class GivesLeasesToAnybody(SqliteStore):
    def acquire_lease(self, session_id: str, holder: str, seconds: float = 45.0) -> Lease:
        return super().acquire_lease(session_id, "anybody", seconds)


class ImportsBitByBit(SqliteStore):
    def import_conversation(self, said: Sequence[ImportedMessage], **options: object) -> Session:
        session_id = options.get("session_id")
        assert session_id is None or isinstance(session_id, str)
        session = self.create_session(dialect="openai_chat", session_id=session_id, source="file").id
        for each in said:
            self.append(session, each.item)
        return self.session(session)


class PrunesNothing(SqliteStore):
    def prune(self, **options: object) -> Deleted:
        return Deleted((), 0)

    def for_tenant(self, tenant: str) -> SqliteStore:
        return PrunesNothing(self._database, tenant=tenant)


class ForgetsNoFold(SqliteStore):
    def find_fold(self, chain: Sequence[bytes], *, session_id: str | None = None) -> StoredFold | None:
        self.kept = super().find_fold(chain, session_id=session_id) or getattr(self, "kept", None)
        return self.kept


@pytest.mark.parametrize(
    ("kind", "promise"),
    [
        (Forgets, "numbers are dense|come back"),
        (CountsTwice, "counted once"),
        (FindsNothing, "found by its words"),
        (DeletesNothing, "is gone"),
        (Remembers, "a state goes with its conversation"),
        (Forks, "found once, however often it was folded|names its parent"),
        (RaisesAnything, "knows no stranger"),
        (SharesTenants, "a tenant begins with nothing"),
        (LosesTheFolded, "a history has all that was said"),
        (GivesLeasesToAnybody, "names its session and holder"),
        (ImportsBitByBit, "what is known of an import is kept"),
        (PrunesNothing, "a dry run says what would go"),
        (ForgetsNoFold, "taken back is not found"),
    ],
)
def test_a_broken_promise_is_named(
    tmp_path: Path, kind: Callable[[Database], SqliteStore], promise: str
) -> None:
    with pytest.raises(StoreContractError, match=promise):
        check_store(lambda: kind(Database(tmp_path / "s.db", synchronous="NORMAL")))
