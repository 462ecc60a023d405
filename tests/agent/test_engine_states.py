"""What the engine remembers lives in the store with its conversation, and is deleted with it."""

import json
from contextlib import closing
from hashlib import sha256

import pytest

from midfold.agent import Done
from midfold.config.home import delete_session, open_outputs
from midfold.engines import ContextEngine
from midfold.errors import StoreError
from midfold.folding.state import CompressionState, state_from_json
from midfold.messages.digests import chain_digests
from midfold.store import SessionKind
from midfold.store.sqlite.driver import driver
from midfold.testing.upstream import Reply, Upstream

WINDOW = 12_000
LONG = "The meter at the harbour takes coins and cards, and prints a receipt when asked to. " * 60
SECRET = "ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def saved(agent):
    return state_from_json(agent.store.load_state(agent.session_id, "compression"))


def talk(agent, play, turns, words=LONG):
    return [event for turn in range(turns) for event in play(agent, f"Turn {turn}: {words}")]


def files(home):
    return sorted(path.relative_to(home).as_posix() for path in home.rglob("*") if path.is_file())


def test_nothing_is_left_of_the_pins_of_a_deleted_conversation(make_agent, play, tmp_path):
    with Upstream(Reply("Noted.")) as up:
        agent = make_agent(up)
        play(agent, "Hello.")
        agent.pin("my passport number is C01X00T47")
        assert saved(agent).pins == ("my passport number is C01X00T47",)
        delete_session(agent.store, open_outputs(tmp_path / "home", agent.store), agent.session_id)
        agent.close()
    assert all("pins" not in name for name in files(tmp_path / "home"))
    kept = b"".join(path.read_bytes() for path in (tmp_path / "home").iterdir() if path.is_file())
    assert b"C01X00T47" not in kept


def test_what_is_pinned_before_the_first_words_is_saved_with_them(make_agent, play):
    with Upstream(Reply("Noted.")) as up:
        agent = make_agent(up)
        agent.pin("Only metric units.")
        play(agent, "Hello.")
        assert saved(agent).pins == ("Only metric units.",)
        agent.unpin("Only metric units.")
        assert saved(agent) == CompressionState(turn=1, unpinned=frozenset({"Only metric units."}))


def test_the_state_is_saved_with_the_fold_and_taken_up_again(make_agent, play):
    with Upstream(Reply("Noted.")) as up:
        agent = make_agent(up, context_length=WINDOW)
        agent.pin("The harbour closes at nine.")
        talk(agent, play, 12)
        state = saved(agent)
        assert state.count == agent.status().compressions > 0
        assert state.pins == ("The harbour closes at nine.",)
        assert agent.undo()
        assert saved(agent).paused_at_tokens
        assert saved(agent).count == state.count - 1
        session = agent.session_id
        before = agent._core.engine.state
        agent.close()
        again = make_agent(up, context_length=WINDOW, session=session)
        assert again._core.engine.state == before
        assert again._core.engine.state.paused_at_tokens


@pytest.mark.parametrize("value", [list, lambda _messages: None])
def test_passes_in_vain_are_remembered(value, make_agent, play):
    class Vain(ContextEngine):
        name = "vain"

        def update_from_response(self, usage):
            pass

        def should_compress(self, prompt_tokens=None):
            return False

        def compress(self, messages, current_tokens=None, focus_topic=None):
            return value(messages)

    with Upstream(Reply("Noted.")) as up:
        agent = make_agent(up, engine=Vain())
        play(agent, "Hello.")
        assert not agent.compress().changed
        assert (saved(agent).ineffective, saved(agent).vain_turns) == (1, (1,))


def test_another_session_begins_with_nothing_and_the_first_is_as_it_was(make_agent, play):
    with Upstream(Reply("Noted.")) as up:
        agent = make_agent(up)
        play(agent, "Hello.")
        agent.pin("Only metric units.")
        first = agent.session_id
        agent.new_session()
        assert agent.pins == ()
        play(agent, "Hello again.")
        agent.resume(first)
        assert agent.pins == ("Only metric units.",)


def test_a_branch_starts_with_the_pins_of_its_parent(make_agent, play):
    with Upstream(Reply("Noted.")) as up:
        agent = make_agent(up)
        play(agent, "Hello.")
        agent.pin("Only metric units.")
        branch = agent.store.create_session(parent_id=agent.session_id, kind=SessionKind.BRANCH).id
        agent.resume(branch)
        assert agent.pins == ("Only metric units.",)


def put_old_pins(home, conversation, pins):
    path = home / "pins" / f"{sha256(conversation.encode()).hexdigest()[:32]}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(pins if isinstance(pins, str) else json.dumps(pins))
    return path


def test_pins_of_an_earlier_version_are_taken_over_and_their_file_goes(make_agent, play, tmp_path):
    with Upstream(Reply("Noted.")) as up:
        agent = make_agent(up)
        play(agent, "Hello.")
        path = put_old_pins(tmp_path / "home", agent.session_id, ["Only metric units."])
        agent.new_session()
        assert path.exists()
        agent.resume(agent.store.sessions()[0].id)
        assert agent.pins == ("Only metric units.",)
        assert saved(agent).pins == ("Only metric units.",)
        assert not path.parent.exists()


def test_pins_of_an_earlier_version_are_deleted_with_their_conversation(make_agent, play, tmp_path):
    with Upstream(Reply("Noted.")) as up:
        agent = make_agent(up)
        play(agent, "Hello.")
        path = put_old_pins(tmp_path / "home", agent.session_id, ["my passport number is C01X00T47"])
        other = put_old_pins(tmp_path / "home", "another", ["Only metric units."])
        delete_session(agent.store, open_outputs(tmp_path / "home", agent.store), agent.session_id)
        assert (path.exists(), other.exists()) == (False, True)


def test_a_broken_file_of_pins_is_no_reason_to_stop(make_agent, play, tmp_path):
    with Upstream(Reply("Noted.")) as up:
        agent = make_agent(up)
        play(agent, "Hello.")
        put_old_pins(tmp_path / "home", agent.session_id, "{not json")
        agent.resume(agent.session_id)
        assert agent.pins == ()


def test_looking_at_a_session_writes_nothing(make_agent, play, tmp_path):
    with Upstream(Reply("Noted.")) as up:
        agent = make_agent(up)
        play(agent, "Hello.")
        session = agent.session_id
        agent.close()

        def updated():
            with closing(driver.connect(tmp_path / "home" / "sessions.db")) as connection:
                return connection.execute("SELECT updated_at FROM states").fetchall()

        before = updated()
        again = make_agent(up, session=session)
        again.status()
        again.close()
        assert updated() == before


@pytest.mark.parametrize("body", ["[1, 2]", '{"pins": "all", "turn": "many"}'])
def test_a_state_that_says_something_else_is_begun_anew(body, make_agent, play, tmp_path):
    with Upstream(Reply("Noted.")) as up:
        agent = make_agent(up)
        play(agent, "Hello.")
        agent.pin("Only metric units.")
        session = agent.session_id
        agent.close()
        with closing(driver.connect(tmp_path / "home" / "sessions.db")) as connection, connection:
            connection.execute("UPDATE states SET body = ?", (body,))
        again = make_agent(up, session=session)
        assert again.pins == ()
        assert isinstance(play(again, "Hello again.")[-1], Done)


def test_a_pin_that_cannot_be_saved_is_not_pinned(make_agent, play):
    with Upstream(Reply("Noted.")) as up:
        agent = make_agent(up)
        play(agent, "Hello.")
        agent.store.delete(agent.session_id)
        with pytest.raises(StoreError):
            agent.pin("Only metric units.")
        assert agent.pins == ()


@pytest.mark.parametrize("api", ["openai_chat", "openai_responses", "anthropic"])
def test_the_stored_fold_is_the_one_that_was_sent_and_a_resumed_engine_writes_the_same(api, make_agent, play):
    with Upstream(Reply("Noted.")) as up:
        agent = make_agent(up, api=api, context_length=WINDOW)
        play(agent, f"The key is {SECRET}. Never print it.")
        talk(agent, play, 4)
        before = agent.messages
        result = agent.compress()
        assert result.changed
        found = agent.store.find_fold(chain_digests(before))
        assert found.fold == result.fold
        assert SECRET not in str(result.fold)
        key = agent._core.engine.key
        assert key == agent.store.conversation_key(agent.session_id) != b""
        session = agent.session_id
        agent.close()
        assert make_agent(up, api=api, session=session)._core.engine.key == key
