"""What a store knows of a lossless conversation: summaries, and hits with the numbers of the history."""

import json
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from threading import Barrier

import pytest

from midfold.engines import EngineSetup
from midfold.engines.lossless import LosslessEngine
from midfold.engines.lossless.node_batches import NodeBatches
from midfold.engines.lossless.tools import LosslessTools
from midfold.errors import StoreError
from midfold.folding import CompressionPolicy
from midfold.messages import texts_of
from midfold.store import SessionKind, open_store
from midfold.testing import transcript
from midfold.tokens import TokenCounter
from midfold.wire import parse

WINDOW = 24_000
KEY = b"a key of sixteen"


def planted(number):
    return {
        "role": "user",
        "content": f"Locker {number} holds the {'green' if number % 2 else 'red'} lantern.",
    }


class Life:
    """A conversation that is folded now and then, as a host folds it."""

    def __init__(self, store):
        self.store = store
        self.session = store.create_session(dialect="openai_chat").id
        self.items = []
        self.engine = self.open_engine()

    def open_engine(self):
        setup = EngineSetup(CompressionPolicy(context_length=WINDOW), key=KEY, store=self.store)
        engine = LosslessEngine.open(setup)
        engine.on_session_start(self.session)
        return engine

    def say(self, *items):
        self.store.append(self.session, list(items))
        self.items = [*self.items, *items]

    def talk(self, turns, seed):
        self.say(*transcript("openai_chat", seed=seed, turns=turns, result_chars=2_000))

    def fold(self):
        result = self.engine.compress_result(self.items)
        assert result.changed
        child = self.store.continue_session(self.session, result.messages, result)
        self.engine.on_session_start(child, boundary_reason="compression", old_session_id=self.session)
        self.session, self.items = child, list(result.messages)
        return result

    def call(self, name, engine=None, **arguments):
        answer = (engine or self.engine).handle_tool_call(name, arguments, messages=self.items)
        return json.loads(answer)


@pytest.fixture
def life(tmp_path):
    with open_store(tmp_path / "s.db") as store:
        yield Life(store)


def number_of(life, wanted):
    said = life.store.history(life.session)
    return next(number for number, each in enumerate(said) if each.item.get("content") == wanted["content"])


def check_hits(life, engine=None, lockers=range(4)):
    for locker in lockers:
        [first, *_] = life.call("lcm_grep", engine, query=f"locker {locker} lantern")["results"]
        assert first["message"] == number_of(life, planted(locker))
        shown = life.call("lcm_expand", engine, messages=str(first["message"]))["sources"]
        assert shown[0]["text"] == planted(locker)["content"]


def live(life, folds=4):
    for number in range(folds):
        life.talk(8, seed=number)
        life.say(planted(number))
        life.talk(14, seed=number + 50)
        life.fold()


def test_hits_have_the_numbers_of_the_history_after_several_folds(life):
    live(life)
    check_hits(life)


def test_hits_have_the_numbers_of_the_history_after_a_restart(life):
    live(life)
    check_hits(life, life.open_engine())


def test_hits_have_the_numbers_of_the_history_after_an_undone_fold(life):
    live(life)
    life.session = life.store.undo_continuation(life.session)
    life.items = life.store.messages(life.session)
    life.say(planted(7), {"role": "user", "content": "Go on."})
    life.engine = life.open_engine()
    check_hits(life, lockers=[0, 3, 7])
    life.talk(4, seed=99)
    life.fold()
    check_hits(life, lockers=[0, 3, 7])


def test_a_branch_has_numbers_of_its_own(life):
    live(life, folds=2)
    parent = life.session
    branch = life.store.create_session(parent_id=parent, kind=SessionKind.BRANCH)
    life.talk(4, seed=7)  # the parent goes on
    life.session, life.items = branch.id, life.store.messages(branch.id)
    life.say(planted(9), {"role": "user", "content": "Go on."})
    life.engine = life.open_engine()
    check_hits(life, lockers=[0, 1, 9])


def test_summaries_are_no_messages(life):
    live(life, folds=2)
    rows = life.call("lcm_grep", query="locker lantern", max_tokens=8_000)["results"]
    known = parse([each.item for each in life.store.history(life.session)], "openai_chat")
    assert rows
    for row in rows:
        assert any("lantern" in text for text in texts_of(known[row["message"]]))


def test_a_search_keeps_to_role_and_time(life):
    live(life, folds=2)
    life.say({"role": "assistant", "content": "I saw the red lantern in locker 0."})
    roles = {each["role"] for each in life.call("lcm_grep", query="lantern", role="assistant")["results"]}
    assert roles == {"assistant"}
    assert life.call("lcm_grep", query="lantern", until="2001-01-01")["results"] == []
    assert life.call("lcm_grep", query="lantern", since="2001-01-01")["results"]


def test_a_question_is_answered_from_a_large_subtree(life):
    live(life)
    top = max(life.engine.memory.graph.nodes.values(), key=lambda node: node.message_count)
    number = number_of(life, planted(0))
    assert number in top
    tools = LosslessTools(life.engine.memory, TokenCounter().count_text, most_read=20)
    answer = tools.handle("lcm_expand_query", {"question": "what is in locker 0?", "id": top.id})
    [first, *_] = json.loads(answer)["passages"]
    assert first["message"] == number


def test_a_summary_says_when_its_messages_were_said_and_what_it_dropped(life):
    for number in range(300):
        life.say(
            {"role": "user", "content": f"And pipe {number}?"},
            {
                "role": "assistant",
                "content": f"Pipe {number} leaks at joint {number * 7}, since rust ate its seal.",
            },
        )
    life.talk(20, seed=1)
    life.fold()
    node = next(node for node in life.engine.memory.graph.nodes.values() if node.dropped)
    told = life.call("lcm_describe", life.open_engine(), id=node.id)
    assert "2001" < told["from"] <= told["to"]
    assert [each["text"] for each in told["dropped"]] == list(node.dropped)
    number = int(node.dropped[0][1:].split("]")[0])
    assert number in node


def test_the_status_lists_the_summaries_that_are_in_the_context(life):
    live(life)
    life.session = life.store.undo_continuation(life.session)
    life.items = life.store.messages(life.session)
    shown = {each["id"] for each in life.call("lcm_status")["in_context"]}
    written = json.dumps(life.items)
    assert shown
    assert all(f"Summary {name} of" in written for name in shown)


class Counted:
    """A store that counts what is saved, and fails at a given one."""

    def __init__(self, store, fails_at=-1):
        self.store, self.saved, self.fails_at = store, 0, fails_at

    def __getattr__(self, name):
        return getattr(self.store, name)

    def add_state(self, session_id, name, value):
        self.saved += 1
        if self.saved == self.fails_at:
            raise StoreError("the disk is full")
        return self.store.add_state(session_id, name, value)

    def history(self, session_id, start=0, stop=None):
        return self.store.history(session_id, start, stop)


def test_the_summaries_of_a_fold_are_one_transaction(life):
    life.engine.memory.store = counted = Counted(life.store)
    for number in range(3):
        life.talk(30, seed=number)
        made = len(life.fold().nodes)
        assert made > 1
        assert counted.saved == number + 1


def test_copies_of_an_engine_add_to_the_same_batches_and_lose_nothing(life):
    live(life, folds=1)
    other = deepcopy(life.engine)
    known = set(life.engine.memory.graph.nodes)
    mine = life.engine.compress_result(
        [*life.items, *transcript("openai_chat", seed=21, turns=30, result_chars=2_000)]
    )
    yours = other.compress_result(
        [*life.items, *transcript("openai_chat", seed=22, turns=30, result_chars=2_000)]
    )
    made = {node.id for result in (mine, yours) for node in result.nodes}
    assert set(life.open_engine().memory.graph.nodes) == known | made


class Overtaken:
    """A store in which another engine saves just before this one does."""

    def __init__(self, store, overtake):
        self.store, self.overtake = store, overtake

    def __getattr__(self, name):
        overtake, self.overtake = self.overtake, lambda: None
        if name in ("save_state", "add_state"):
            overtake()
        else:
            self.overtake = overtake
        return getattr(self.store, name)

    def history(self, session_id, start=0, stop=None):
        return self.store.history(session_id, start, stop)


def test_engines_of_several_processes_never_overwrite_what_another_saved(life):
    life.talk(24, seed=1)
    engines = [life.open_engine(), life.open_engine()]
    made = []

    def fold(engine, seed):
        more = transcript("openai_chat", seed=seed, turns=20, result_chars=2_000)
        made.extend(node.id for node in engine.compress_result([*life.items, *more]).nodes)

    engines[1].memory.store = Overtaken(life.store, lambda: fold(engines[0], 21))
    fold(engines[1], 22)
    assert set(life.open_engine().memory.graph.nodes) == set(made)
    assert set(engines[1].memory.graph.nodes) == set(made)


@pytest.mark.slow
def test_conversations_and_sub_agents_that_fold_at_once_share_a_store(life):
    lives = [life, Life(life.store)]
    for number, each in enumerate(lives):
        each.talk(24, seed=number)
    engines = [(each, engine) for each in lives for engine in (each.engine, deepcopy(each.engine))]
    gate = Barrier(len(engines))

    def fold(number, each, engine):
        more = transcript("openai_chat", seed=number + 40, turns=10, result_chars=2_000)
        gate.wait(30)
        return each, engine.compress_result([*each.items, *more]).nodes

    with ThreadPoolExecutor(len(engines)) as pool:
        done = [pool.submit(fold, number, *pair) for number, pair in enumerate(engines)]
        made = [each.result(60) for each in done]
    for each in lives:
        own = {node.id for owner, nodes in made if owner is each for node in nodes}
        assert own
        assert set(each.open_engine().memory.graph.nodes) == own


def test_a_fold_that_is_made_again_is_not_saved_twice(life):
    life.talk(40, seed=1)
    for _ in range(2):
        items = list(life.items)
        assert life.engine.compress_result(items).changed
        life.engine.undo()
    batches = NodeBatches(life.store, life.session)
    assert batches.load(0)
    assert batches.load(1) is None


def test_a_summary_in_the_context_is_known_even_where_it_was_never_saved(life):
    live(life, folds=2)
    for number in range(2):
        life.store.save_state(life.session, f"lcm.nodes.{number}", None)
    again = life.open_engine()
    shown = life.call("lcm_status", again)["in_context"]
    assert shown
    assert life.call("lcm_expand", again, id=shown[0]["id"])["sources"]


class Measured(Counted):
    """A store that notes how many messages are read at once."""

    most_read = 0

    def history(self, session_id, start=0, stop=None):
        found = self.store.history(session_id, start, stop)
        self.most_read = max(self.most_read, len(found))
        return found


def test_a_regular_expression_goes_through_a_long_conversation_a_part_at_a_time(life):
    life.say(*({"role": "user", "content": f"Locker {number}."} for number in range(2_100)))
    life.engine.memory.store = measured = Measured(life.store)
    found = life.call("lcm_grep", query=r"locker (7|2077)\.", regex=True)
    assert [each["message"] for each in found["results"]] == [7, 2_077]
    assert measured.most_read <= 1_000
    everything = life.call("lcm_grep", query="locker", regex=True)
    assert everything["is_incomplete"]
