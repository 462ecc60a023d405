"""The agent on the lossless engine: folds are stored, and the model looks behind them with its tools."""

import json

import pytest

from midfold.agent import CompressionFinished, ToolFinished
from midfold.messages import ToolCall
from midfold.testing.upstream import Reply, Upstream

WINDOW = 16_000
FACT = "The spare key of meter 4711 hangs behind the blue door."
WORDS = "The meter at the harbour takes coins and cards, and prints a receipt when asked to. " * 60
APIS = ("openai_chat", "openai_responses", "anthropic")


def of(events, kind):
    return [event for event in events if isinstance(event, kind)]


@pytest.mark.parametrize("api", APIS)
def test_the_model_finds_a_fact_behind_a_summary(api, make_agent, play, faults_in):
    replies = [Reply("Noted.")] * 14
    question = "Behind which door does the spare key hang?"
    look = Reply("", (ToolCall("c-1", "lcm_grep", json.dumps({"query": question})),))
    with Upstream([*replies, look, Reply("Behind the blue door.")]) as up:
        agent = make_agent(up, api=api, engine="lcm", context_length=WINDOW)
        events = [*play(agent, FACT)]
        for turn in range(13):
            events += play(agent, f"Turn {turn}: {WORDS}")
        assert of(events, CompressionFinished)
        finished = of(play(agent, question), ToolFinished)
        [answer] = [json.loads(each.text) for each in finished]
        assert FACT in answer["results"][0]["text"]
        assert faults_in(up) == []


def test_a_resumed_session_still_looks_behind_its_summaries(make_agent, play, tmp_path):
    with Upstream(Reply("Noted.")) as up:
        agent = make_agent(up, engine="lcm", context_length=WINDOW)
        play(agent, FACT)
        for turn in range(13):
            play(agent, f"Turn {turn}: {WORDS}")
        session = agent.session_id
        agent.close()
    look = Reply("", (ToolCall("c-1", "lcm_expand", '{"messages": "0"}'),))
    with Upstream([look, Reply("There.")]) as up:
        again = make_agent(up, engine="lcm", context_length=WINDOW, session=session)
        [finished] = of(play(again, "What did I say first?"), ToolFinished)
        assert json.loads(finished.text)["sources"][0]["text"] == FACT
