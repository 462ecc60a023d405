"""Earlier words that resemble a request stand beside it, for one turn, where that is wanted."""

import pytest

from midfold.agent import Agent, Notice, Topic
from midfold.agent.auto_recall import recall_for
from midfold.store import open_store
from midfold.testing.upstream import Reply, Upstream
from midfold.tokens import TokenCounter
from midfold.wire import parse

SAID = "The harbour crane in Skarn lifts forty tons since its repair in May."
ASKED = "How many tons can the harbour crane lift?"
COUNT = TokenCounter("gpt-5-mini")


@pytest.fixture
def store():
    with open_store("sqlite::memory:") as opened:
        yield opened


def recall(store, session, prompt=ASKED, tokens=1_000, shown=()):
    return recall_for(prompt, store, session, parse(shown, "openai_chat"), tokens=tokens, count=COUNT)


def test_words_of_another_session_are_recalled_with_their_place(store):
    old, new = store.create_session(title="Cranes").id, store.create_session().id
    store.append(old, [{"role": "user", "content": SAID}])
    store.append(new, [{"role": "user", "content": ASKED}])

    found = recall(store, new)

    assert "forty tons" in found
    assert f"another conversation (Cranes), session {old} message 0 (user, " in found
    assert ASKED not in found


def test_what_the_model_sees_anyway_is_not_recalled(store):
    old, new = store.create_session().id, store.create_session().id
    said = {"role": "user", "content": SAID}
    store.append(old, [said])
    store.append(new, [{"role": "user", "content": ASKED}])

    assert recall(store, new, shown=[said]) == ""


@pytest.mark.parametrize("prompt", ["yes", "go on", "What is the capital of the moon today?"])
def test_a_request_that_resembles_nothing_recalls_nothing(store, prompt):
    old, new = store.create_session().id, store.create_session().id
    store.append(old, [{"role": "user", "content": SAID}])

    assert recall(store, new, prompt) == ""


def test_the_budget_holds_whatever_is_found(store):
    old, new = store.create_session().id, store.create_session().id
    store.append(
        old, [{"role": "user", "content": f"Crane {n}: the harbour lifts {n} tons."} for n in range(40)]
    )

    for tokens in (1, 60, 120, 300):
        found = recall(store, new, tokens=tokens)
        assert COUNT.count_text(found) <= tokens


def test_an_agent_recalls_for_one_turn_stores_nothing_and_tells_it_once(tmp_path):
    with (
        Upstream([Reply("Noted."), Reply("Forty."), Reply("Yes, forty."), Reply("Done.")]) as up,
        Agent(
            "local/scripted", base_url=up.url, home=tmp_path, workspace=tmp_path, recall_tokens=500
        ) as agent,
    ):
        list(agent.run(SAID))
        agent.new_session()
        events = list(agent.run(ASKED))
        events += agent.run("Are you sure about the tons of the harbour crane?")
        events += agent.run("Thanks")
        _, second, third, fourth = up.requests

        assert b"forty tons" in second.body
        assert b"Recalled from earlier" in third.body
        assert b"Recalled from earlier" not in fourth.body
        assert "Recalled from" not in str(agent.store.messages(agent.session_id))
        notices = [each for each in events if isinstance(each, Notice) and each.topic is Topic.RECALL]
        assert len(notices) == 1


def test_nothing_is_recalled_unless_it_is_asked_for(tmp_path):
    with (
        Upstream([Reply("Noted."), Reply("I do not know.")]) as up,
        Agent("local/scripted", base_url=up.url, home=tmp_path, workspace=tmp_path) as agent,
    ):
        list(agent.run(SAID))
        agent.new_session()
        list(agent.run(ASKED))

        assert b"forty" not in up.requests[1].body
