"""Totals that are kept say what a full scan says, whatever happened in between."""

from collections import Counter
from datetime import UTC
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import midfold
from midfold.errors import StoreError
from midfold.store import ImportedMessage, SessionKind, open_store
from midfold.store.sqlite.driver import open_writer
from midfold.usage import make_call, read_insights
from support.forgetful import Forgetful

MODELS = ("claude-sonnet-4-5", "gpt-5-mini", "gemini-2.5-pro", "nobody-s")
BEGAN = 1_770_000_000.0
STEPS = st.lists(
    st.tuples(
        st.sampled_from(
            ("talk", "talk", "call", "call", "fold", "undo", "branch", "import", "delete", "report")
        ),
        st.integers(0, 9),
        st.integers(0, 400_000),
    ),
    max_size=25,
)


class Clock:
    def __init__(self):
        self.now = BEGAN

    def __call__(self):
        self.now += 100
        return self.now


class Counted:
    """A store that counts what is asked of it."""

    def __init__(self, store):
        self._store = store
        self.asked = Counter()

    def __getattr__(self, name):
        self.asked[name] += 1
        return getattr(self._store, name)


def reading(number):
    call = {
        "id": f"c{number}",
        "type": "function",
        "function": {"name": f"tool_{number % 3}", "arguments": "{}"},
    }
    return [
        {"role": "user", "content": f"Look at {number}."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"c{number}", "content": f"line {number % 4}\n" * 30},
        {"role": "assistant", "content": f"Step {number} is done, and the next one can begin. " * 9},
    ]


class Life:
    """What may happen to a store; each step is on one of its conversations."""

    def __init__(self, store, clock):
        self.store, self.clock, self.tips, self.number = store, clock, [], 0

    def step(self, what, which, size):
        self.number += 1
        if not self.tips or (what == "talk" and which > 7):
            made = self.store.create_session(
                source=f"s{which % 2}", model=MODELS[which % 4], dialect="openai_chat"
            )
            self.tips.append(made.id)
        tip = self.store.get_compression_tip(self.tips[which % len(self.tips)])
        getattr(self, what)(tip, size)

    def talk(self, tip, size):
        self.store.append(tip, [each for turn in range(1 + size % 4) for each in reading(self.number + turn)])

    def call(self, tip, size):
        used = {"input_tokens": size, "output_tokens": 5, "cache_read_input_tokens": size % 3 * 1_000}
        used |= {"cache_creation_input_tokens": size % 5 * 100}
        purpose = "summary" if size % 7 == 0 else "chat"
        self.store.record_call(tip, make_call(used, MODELS[size % 4], purpose=purpose))

    def fold(self, tip, _size):
        said = self.store.messages(tip)
        if len(said) > 6:
            whole = midfold.compress(said, max_tokens=10**9).tokens_before
            result = midfold.compress(said, max_tokens=whole // 2, strategy="fold")
            self.store.continue_session(tip, result.messages, result)

    def undo(self, tip, _size):
        if self.store.session(tip).kind is SessionKind.CONTINUATION:
            self.store.undo_continuation(tip)

    def branch(self, tip, _size):
        self.tips.append(self.store.create_session(parent_id=tip, kind=SessionKind.BRANCH).id)

    def import_(self, _tip, size):
        said = [ImportedMessage(item, at=BEGAN) for item in reading(size)]
        self.tips.append(self.store.import_conversation(said, dialect="openai_chat").id)

    def delete(self, tip, size):
        gone = set(self.store.delete(tip, branches=True).session_ids) if size % 3 else set()
        if not gone:
            gone = set(self.store.prune(keep_bytes=size).session_ids)
        self.tips = [each for each in self.tips if each not in gone]

    def report(self, _tip, _size):
        now = self.clock.now
        kept = read_insights(self.store, now=now, zone=UTC)
        assert kept == read_insights(Forgetful(self.store), now=now, zone=UTC)
        assert kept.totals.usage == self.store.usage()


setattr(Life, "import", Life.import_)


@settings(max_examples=25, deadline=None)
@given(STEPS)
def test_what_is_kept_is_what_a_full_scan_says(steps):
    with TemporaryDirectory() as folder:
        clock = Clock()
        with open_store(Path(folder) / "s.db", clock=clock, synchronous="NORMAL") as store:
            life = Life(store, clock)
            for step in steps:
                life.step(*step)
            life.report("", 0)
            life.report("", 0)


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def store(tmp_path, clock):
    with open_store(tmp_path / "sessions.db", clock=clock, synchronous="NORMAL") as opened:
        yield opened


def fill(store, conversations):
    life = Life(store, None)
    ids = [
        store.create_session(source="chat", model=MODELS[0], dialect="openai_chat").id
        for _ in range(conversations)
    ]
    for session in ids:
        life.talk(session, 1)
        life.call(session, 900)
    return ids


def test_a_conversation_is_read_once_until_it_grows(store, clock):
    ids = fill(store, 5)
    counted = Counted(store)
    first = read_insights(counted, now=clock.now, zone=UTC)
    assert counted.asked["history"] == 5
    again = read_insights(counted, now=clock.now, zone=UTC)
    assert (counted.asked["history"], again) == (5, first)
    store.append(ids[2], reading(7))
    grown = read_insights(counted, now=clock.now, zone=UTC)
    assert counted.asked["history"] == 6
    assert grown.tools != first.tools


def test_what_there_was_no_time_for_is_read_by_the_next_report(store, clock):
    fill(store, 4)
    tools_of = []
    for _ in range(4):
        late = iter((0.0, *[3.1] * 9))
        tools_of.append(read_insights(store, now=clock.now, zone=UTC, clock=late.__next__).tools_of)
    assert tools_of == [1, 2, 3, 4]


def test_a_store_that_is_only_read_is_reported_on_all_the_same(tmp_path, store, clock):
    fill(store, 2)
    whole = read_insights(store, now=clock.now, zone=UTC)

    class ReadOnly(Forgetful):
        def keep_figures(self, figures):
            raise StoreError("it is read-only")

    assert read_insights(ReadOnly(store), now=clock.now, zone=UTC) == whole


@pytest.mark.parametrize("body", ["{", "[]", '{"made_by":[1]}', "null"])
def test_damaged_figures_are_worked_out_again(tmp_path, store, clock, body):
    fill(store, 2)
    whole = read_insights(store, now=clock.now, zone=UTC)
    connection = open_writer(tmp_path / "sessions.db")
    connection.execute("UPDATE figures SET body = ?", (body,))
    connection.close()
    assert read_insights(store, now=clock.now, zone=UTC) == whole


def test_figures_go_with_their_conversation(tmp_path, store, clock):
    ids = fill(store, 3)
    read_insights(store, now=clock.now, zone=UTC)
    store.delete(ids[0])
    store.prune(keep_bytes=0)
    connection = open_writer(tmp_path / "sessions.db")
    assert connection.execute("SELECT count(*) FROM figures").fetchone() == (0,)
    connection.close()


def test_a_report_does_not_make_a_conversation_younger(store, clock):
    fill(store, 2)
    newest = clock.now
    clock.now += 1_000_000
    read_insights(store, now=clock.now, zone=UTC)
    assert len(store.prune(older_than=newest + 1_000).session_ids) == 2
