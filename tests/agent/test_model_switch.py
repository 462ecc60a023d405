"""Another model takes over: the conversation is folded into its window first, or stays with the old one."""

import pytest

from midfold.agent import CompressionStarted, Done, Notice, Why
from midfold.agent.fold import TAKEN_BACK
from midfold.errors import StillTooLarge
from midfold.messages import ToolCall
from midfold.providers.summarizers import ModelRef
from midfold.testing.upstream import Reply, Upstream
from midfold.wire import parse

APIS = ("openai_chat", "openai_responses", "anthropic")
WINDOW = 12_000
LONG = "The meter at the harbour takes coins and cards, and prints a receipt when asked to. " * 60


def talk(agent, play, turns, words=LONG):
    """Say something long a number of times."""
    for turn in range(turns):
        play(agent, f"Turn {turn}: {words}")


def of(events, kind):
    return [event for event in events if isinstance(event, kind)]


@pytest.mark.parametrize("api", APIS)
def test_a_smaller_model_gets_a_fold_that_the_larger_one_wrote(api, make_agent, play, faults_in):
    def answer(received):
        is_summary = "different assistant" in received.body.decode() or len(received.messages) == 1
        return Reply("## Goal\nThe meters.\n## Critical Context\nnone" if is_summary else "Noted.")

    with Upstream(answer) as up:
        agent = make_agent(up, api=api, summarizer="main", context_length=100_000)
        talk(agent, play, 10, LONG * 2)
        assert agent.status().folds == 0
        heard, asked = [], len(up.requests)
        agent.set_model("local/smaller", base_url=up.url, context_length=WINDOW, on_event=heard.append)
        assert of(heard, CompressionStarted)[0].why is Why.MODEL
        assert {received.model for received in up.requests[asked:]} == {"scripted"}
        assert agent.status().model == "local/smaller"
        assert agent.status().tokens < WINDOW
        play(agent, "Go on.")
        assert up.requests[-1].model == "smaller"
        assert up.requests[-1].count_tokens() < WINDOW
        assert faults_in(up) == []


def test_a_larger_model_takes_over_without_a_fold(make_agent, play):
    with Upstream(Reply("Noted.")) as up:
        agent = make_agent(up, context_length=WINDOW)
        talk(agent, play, 3)
        heard = []
        agent.set_model("local/larger", base_url=up.url, context_length=200_000, on_event=heard.append)
        assert heard == []
        assert agent.status().threshold_tokens == 100_000


def test_another_model_at_the_same_address_is_asked_in_the_same_way(make_agent, play):
    """The key goes nowhere else: a model at another address gets none."""
    with Upstream(Reply("Noted.")) as up, Upstream(Reply("Noted.")) as other:
        agent = make_agent(up, api="anthropic", key="key-of-the-harbour")
        agent.set_model("local/second", base_url=up.url)
        play(agent, "Count the meters.")
        assert up.requests[-1].path.endswith("/messages")
        assert up.requests[-1].headers["x-api-key"] == "key-of-the-harbour"
        agent.set_model("local/third", base_url=other.url)
        play(agent, "Count them again.")
        assert "key-of-the-harbour" not in str(dict(other.requests[-1].headers))


def test_a_model_that_cannot_take_the_conversation_does_not_take_over(make_agent, play):
    with Upstream(Reply("Noted.")) as up:
        agent = make_agent(up)
        play(agent, LONG * 5)
        before, heard = agent.messages, []
        with pytest.raises(StillTooLarge):
            agent.set_model("local/tiny", base_url=up.url, context_length=600, on_event=heard.append)
        assert agent.status().model == "local/scripted"
        assert (agent.messages, agent.status().folds) == (before, 0)
        assert isinstance(play(agent, "Still there?")[-1], Done)


def test_a_fold_that_does_not_help_a_smaller_model_is_taken_back(make_agent, play, faults_in):
    with Upstream(Reply("Noted.")) as up:
        agent = make_agent(up)
        talk(agent, play, 10)
        before, heard = agent.messages, []
        with pytest.raises(StillTooLarge):
            agent.set_model("local/tiny", base_url=up.url, context_length=600, on_event=heard.append)
        assert (agent.messages, agent.status().folds, agent.status().compressions) == (before, 0, 0)
        assert parse(agent.store.messages(agent.session_id), "openai_chat") == before
        assert of(heard, CompressionStarted) == [] or TAKEN_BACK in [
            event.text for event in of(heard, Notice)
        ]
        play(agent, "Still there?")
        assert faults_in(up) == []


def test_with_compression_off_a_smaller_model_gets_all_or_nothing(make_agent, play):
    with Upstream(Reply("Noted.")) as up:
        agent = make_agent(up, enabled=False)
        talk(agent, play, 8)
        tokens = agent.status().tokens
        assert agent.set_model("local/other", base_url=up.url, context_length=tokens + 2_000)
        with pytest.raises(StillTooLarge):
            agent.set_model("local/tiny", base_url=up.url, context_length=tokens - 2_000)
        assert (agent.status().model, agent.status().compressions) == ("local/other", 0)


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("other_api", APIS)
def test_a_model_of_any_api_adds_nothing_that_nobody_said(api, other_api, make_agent, play, faults_in):
    listing = [Reply("", (ToolCall("c1", "list_files", "{}"),)), Reply("Listed.")]
    with Upstream([Reply("One it is."), *listing, Reply("Three it is.")]) as up:
        agent = make_agent(up, api=api)
        play(agent, "One.")
        agent.set_model(ModelRef("local/other", up.url, api=other_api))
        play(agent, "Two.")
        play(agent, "Three.")
        said = ["One.", "One it is.", "Two.", "Listed.", "Three.", "Three it is."]
        assert [message.text for message in agent.messages if message.text] == said
        assert faults_in(up) == []


def test_a_model_of_another_api_goes_on_with_the_same_conversation(make_agent, play, faults_in):
    calls = (ToolCall("c1", "list_files", "{}"),)
    with Upstream([Reply("", calls), Reply("Listed."), Reply("", calls), Reply("Twice.")]) as up:
        agent = make_agent(up, api="openai_chat")
        play(agent, "list")
        agent.set_model(ModelRef("local/other", up.url, api="anthropic"))
        assert play(agent, "and again")[-1] == Done("Twice.", 2)
        assert up.requests[-1].path.endswith("/messages")
        assert faults_in(up) == []
