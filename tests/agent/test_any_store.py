"""The agent needs the protocol of a store and nothing of SQLite: it runs on a store of dictionaries."""

import subprocess
import sys
from pathlib import Path

import pytest

from midfold.agent import CompressionFinished, ToolFinished
from midfold.messages import ToolCall
from midfold.store.values import SessionKind
from midfold.testing.upstream import Reply, Upstream
from midfold.wire import parse
from support.dict_store import DictStore, Shelf

WINDOW = 12_000
PIN = "The harbour closes at nine."
LONG = "The meter at the harbour takes coins and cards, and prints a receipt when asked to. " * 120


def talk(agent, play, turns):
    return [event for turn in range(turns) for event in play(agent, f"Turn {turn}: {LONG}")]


@pytest.mark.parametrize("api", ["openai_chat", "openai_responses", "anthropic"])
def test_a_chat_folds_and_goes_on_after_a_restart(api, make_agent, play, faults_in):
    shelf = Shelf()
    with Upstream(Reply("Noted.")) as up:
        agent = make_agent(up, api=api, context_length=WINDOW, store=DictStore(shelf))
        first = agent.session_id
        play(agent, "The tariff at the station is 3.20 an hour.")
        agent.pin(PIN)
        events = talk(agent, play, 8)
        assert any(isinstance(event, CompressionFinished) for event in events)
        store = agent.store
        assert {session.kind for session in store.chain(first)} == {
            SessionKind.ROOT,
            SessionKind.CONTINUATION,
        }
        assert parse(store.messages(agent.session_id), api) == agent.messages
        agent.close()
        again = make_agent(up, api=api, context_length=WINDOW, store=DictStore(shelf), session=first)
        assert again.pins == (PIN,)
        assert parse(store.messages(store.get_compression_tip(first)), api) == again.messages
        talk(again, play, 6)
        assert PIN in up.requests[-1].body.decode()
        assert max(received.count_tokens() for received in up.requests) <= WINDOW
        assert faults_in(up) == []
        assert store.usage(first, whole_chain=True).output_tokens > 0


def test_a_fold_can_be_taken_back(make_agent, play, faults_in):
    with Upstream(Reply("Noted.")) as up:
        agent = make_agent(up, store=DictStore())
        talk(agent, play, 10)
        said = agent.messages
        assert agent.compress().changed
        play(agent, "Go on.")
        assert agent.undo()
        assert agent.messages[: len(said)] == said
        assert not agent.undo()
        play(agent, "Go on with all of it.")
        assert len(agent.store.history(agent.session_id)) == len(agent.messages)
        assert faults_in(up) == []


def test_what_a_fold_took_out_of_sight_is_recalled(make_agent, play):
    recall = Reply("", (ToolCall("call_1", "recall", '{"query": "tariff station"}'),))
    with Upstream(Reply("Noted.")) as up:
        agent = make_agent(up, store=DictStore())
        play(agent, "The tariff at the station is 3.20 an hour.")
        talk(agent, play, 10)
        assert agent.compress().changed
        session = agent.session_id
        shelf_store = agent.store
    with Upstream([recall], then=Reply("3.20.")) as up:
        again = make_agent(up, store=shelf_store, session=session)
        [answer] = [event for event in play(again, "What is the tariff?") if isinstance(event, ToolFinished)]
    assert "3.20 an hour" in answer.text


def test_credentials_reach_no_dictionary(make_agent, play):
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    with Upstream(Reply("Noted.")) as up:
        agent = make_agent(up, store=DictStore())
        play(agent, f"The token is {token}.")
        assert token not in str(agent.store.messages(agent.session_id))
        assert not agent.store.search(token).hits


@pytest.mark.slow
def test_no_driver_of_a_database_is_loaded_for_it():
    code = (
        "import sys; from midfold.agent import Agent; from support.dict_store import DictStore;"
        "store = DictStore(); store.append(store.create_session().id, {'role': 'user', 'content': 'hello'});"
        "print([name for name in sys.modules if 'sqlite' in name])"
    )
    tests = str(Path(__file__).parents[1])
    ran = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.append({tests!r}); {code}"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout.strip() == "[]"
