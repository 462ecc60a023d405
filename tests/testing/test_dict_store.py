"""The store of dictionaries keeps every promise of a store, and an agent runs on it."""

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from midfold.errors import StoreError
from midfold.store import open_store
from midfold.store.base import Store
from midfold.store.transfer import export_session, import_session, read_incoming, write_export
from midfold.store.values import SessionKind, StoredMessage
from midfold.testing import check_store, transcript
from midfold.testing.stores.promises import digests_of, fold
from support.dict_store import DictStore, Shelf


def test_a_store_of_dictionaries_keeps_every_promise() -> None:
    shelf = Shelf()
    check_store(lambda: DictStore(shelf))


def test_it_is_a_store_for_the_type_checker_too() -> None:
    store: Store = DictStore()
    with store as opened:
        assert opened.sessions() == []


def test_an_export_goes_from_one_kind_of_store_to_the_other(tmp_path: Path) -> None:
    items = transcript("openai_chat", seed=2, turns=4)
    with open_store(tmp_path / "s.db", synchronous="NORMAL") as sqlite, DictStore() as dicts:
        session = dicts.create_session(dialect="openai_chat", title="meters", source="chat").id
        dicts.append(session, items)
        path = tmp_path / "s.json"
        write_export(path, export_session(dicts, session).text)
        imported = import_session(sqlite, read_incoming(str(path)))
        assert imported.is_new
        assert sqlite.messages(imported.session.id) == items
        assert sqlite.session(imported.session.id).title == "meters"
        assert not import_session(dicts, read_incoming(str(path))).is_new


@pytest.mark.parametrize("seed", range(6))
def test_both_stores_do_the_same_whatever_is_asked_of_them(seed: int, tmp_path: Path) -> None:
    """Random work on both at once, with names that both understand; then everything is read and compared."""
    with open_store(tmp_path / "s.db", synchronous="NORMAL") as sqlite, DictStore() as dicts:
        pair = Pair(sqlite, dicts)
        choose = random.Random(seed)
        for _step in range(60):
            pair.do(choose)
        pair.compare()


class Pair:
    """Two stores that are asked the same; sessions are known by their numbers, as their ids differ."""

    def __init__(self, *stores: Store) -> None:
        self.stores = stores
        self.ids: list[tuple[str, ...]] = []
        self.said = 0

    def do(self, choose: random.Random) -> None:
        deeds = [
            self.create,
            self.append,
            self.append,
            self.append,
            self.fold,
            self.undo,
            self.end,
            self.state,
        ]
        choose.choice(deeds)(choose)

    def each(self, verb: Callable[[Store, int], object]) -> list[object]:
        """Ask both; they agree on whether that is possible."""
        answers = []
        for index, store in enumerate(self.stores):
            try:
                answers.append(verb(store, index))
            except StoreError as error:
                answers.append(type(error))
        assert len({isinstance(answer, type) for answer in answers}) == 1, answers
        assert not isinstance(answers[0], type) or answers[0] is answers[1], answers
        return answers

    def pick(self, choose: random.Random) -> tuple[str, ...]:
        return choose.choice(self.ids)

    def note(self, answers: list[object]) -> None:
        if isinstance(answers[0], str):
            self.ids.append(tuple(map(str, answers)))

    def create(self, choose: random.Random) -> None:
        kind = (
            choose.choice([SessionKind.ROOT, SessionKind.BRANCH, SessionKind.SUBAGENT])
            if self.ids
            else SessionKind.ROOT
        )
        parents = self.pick(choose) if kind is not SessionKind.ROOT else (None, None)
        options = {"dialect": "openai_chat"} if kind is not SessionKind.BRANCH else {}
        self.note(
            self.each(lambda store, at: store.create_session(kind=kind, parent_id=parents[at], **options).id)  # type: ignore[arg-type]
        )

    def append(self, choose: random.Random) -> None:
        if not self.ids:
            return
        ids, words = self.pick(choose), []
        for _each in range(choose.choice([1, 2, 12])):
            words.append(
                {"role": choose.choice(["user", "assistant"]), "content": f"number {self.said} " * 60}
            )
            self.said += 1
        self.each(lambda store, at: store.append(ids[at], words))

    def fold(self, choose: random.Random) -> None:
        if not self.ids:
            return
        ids = self.pick(choose)
        lists = self.each(lambda store, at: store.messages(ids[at]))
        assert lists[0] == lists[1]
        items = list(lists[0])  # type: ignore[call-overload]
        if choose.random() < 0.3 and len(items) > 3:
            del items[choose.randrange(len(items))]  # the host edited its list
        if choose.random() < 0.3:
            items.append({"role": "user", "content": f"unsaved {self.said}"})
            self.said += 1
        if len(items) < 10:
            return
        result = fold(items)
        if result.fold is not None:
            later = [*result.messages, {"role": "user", "content": "since"}]
            made = later if choose.random() < 0.5 else result.messages
            self.note(self.each(lambda store, at: store.continue_session(ids[at], made, result)))

    def undo(self, choose: random.Random) -> None:
        if self.ids:
            ids = self.pick(choose)
            self.note(self.each(lambda store, at: store.undo_continuation(ids[at])))

    def end(self, choose: random.Random) -> None:
        if self.ids:
            ids = self.pick(choose)
            verb = choose.choice(["end_session", "reopen_session"])
            self.each(lambda store, at: getattr(store, verb)(ids[at]))

    def state(self, choose: random.Random) -> None:
        if self.ids:
            ids, value = self.pick(choose), choose.choice([None, 1, 2])
            self.each(lambda store, at: store.save_state(ids[at], "s", value))

    def compare(self) -> None:
        names = [{ids[at]: number for number, ids in enumerate(self.ids)} for at in range(2)]

        def facts(record: StoredMessage, at: int) -> tuple[object, ...]:
            return names[at].get(record.session_id), record.seq, record.origin, record.role, record.item

        for ids in self.ids:
            for read in (Store.records, Store.history):
                one, other = (
                    [facts(each, at) for each in getattr(store, read.__name__)(ids[at])]
                    for at, store in enumerate(self.stores)
                )
                assert one == other
            for verb in ("count_history", "messages"):
                answers = self.each(lambda store, at, v=verb, i=ids: getattr(store, v)(i[at]))  # type: ignore[misc]
                assert answers[0] == answers[1]
            tips = [names[at].get(store.get_compression_tip(ids[at])) for at, store in enumerate(self.stores)]
            assert tips[0] == tips[1]
            sessions = [store.session(ids[at]) for at, store in enumerate(self.stores)]
            kept = [(s.kind, s.end_reason, s.is_undone, s.message_count) for s in sessions]
            assert kept[0] == kept[1]
            assert [len(store.folds(ids[at])) for at, store in enumerate(self.stores)] in (
                [n, n] for n in range(99)
            )
            states = [store.load_state(ids[at], "s") for at, store in enumerate(self.stores)]
            assert states[0] == states[1]
            chain = digests_of(self.stores[0].messages(ids[0]))
            known = [store.find_history(chain) for store in self.stores]
            told = [
                each and (names[at].get(each.session_id), each.length, each.is_end)
                for at, each in enumerate(known)
            ]
            assert told[0] == told[1]
            found = [store.find_fold(chain) for store in self.stores]
            opened = [each and names[at].get(each.child_id) for at, each in enumerate(found)]
            assert opened[0] == opened[1]
        for number in range(0, self.said, 7):
            hits = [
                [(names[at].get(hit.session_id), hit.seq) for hit in store.search(f'"number {number}"').hits]
                for at, store in enumerate(self.stores)
            ]
            assert hits[0] == hits[1]
