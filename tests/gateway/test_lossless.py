"""The gateway on the lossless engine: requests stay legal, and all that was folded can be looked up."""

import json

import pytest

from midfold.gateway.turns import read_turn
from midfold.messages import MessageCache, ToolCall, ToolResult
from midfold.testing import Reply, Upstream, transcript
from midfold.wire import parse
from midfold.wire.validate import find_errors

FACT = "The spare key of meter 4711 hangs behind the blue door."
PATHS = {
    "openai_chat": "/v1/chat/completions",
    "anthropic": "/v1/messages",
    "openai_responses": "/v1/responses",
}


def body_of(dialect, items):
    if dialect == "openai_responses":
        return {"model": "gpt-5-mini", "input": items}
    return {"model": "gpt-5-mini", "max_tokens": 100, "messages": items}


def items_of(dialect, turns, seed=0):
    return transcript(dialect, seed=seed, turns=turns, steps=2, result_chars=2_500)


def begin(dialect):
    fact = [{"role": "user", "content": FACT}, {"role": "assistant", "content": "Noted."}]
    return [*items_of(dialect, 3), *fact]


def converse(running, dialect, items, rounds):
    """Talk as a client does that sends its whole history again; return the engine, and that history."""
    for number in rounds:
        items = [*items, *items_of(dialect, 16, seed=number + 1)]
        body = body_of(dialect, items)
        answer = running.ask(PATHS[dialect], body)
        running.settle()
        assert answer.status == 200
        assert int(answer.changes["x-midfold-folded"])
    turn = read_turn(json.dumps(body).encode(), dialect, {}, MessageCache(parse))
    return running.app.gateway.parts.index.find(turn)[0].engine, items


def call(engine, name, **arguments):
    return json.loads(engine.handle_tool_call(name, arguments))


@pytest.mark.parametrize("dialect", PATHS)
def test_a_folded_fact_is_found_behind_its_summary(gateway, dialect):
    with Upstream(Reply("ok")) as up:
        running = gateway(up, model__context_length=16_000, context__engine="lcm")
        engine, _ = converse(running, dialect, begin(dialect), range(3))
        for request in up.requests:
            items = request.json["input" if dialect == "openai_responses" else "messages"]
            assert not find_errors(items, dialect=dialect)
        [first, *_] = call(engine, "lcm_grep", query="behind which door hangs the spare key?")["results"]
        assert FACT in first["text"]
        [source, *_] = call(engine, "lcm_expand", messages=str(first["message"]))["sources"]
        assert source["text"] == FACT
        assert first["summary"] in engine.memory.graph.nodes


def test_the_summaries_are_known_after_a_restart(gateway):
    dialect = "openai_chat"
    with Upstream(Reply("ok")) as up:
        running = gateway(up, model__context_length=16_000, context__engine="lcm")
        engine, items = converse(running, dialect, begin(dialect), range(3))
        again = gateway(up, model__context_length=16_000, context__engine="lcm")
        restarted, _ = converse(again, dialect, items, range(3, 4))
        known = set(engine.memory.graph.nodes)
        assert known
        assert set(restarted.memory.graph.nodes) > known
        [first, *_] = call(restarted, "lcm_grep", query="behind which door hangs the spare key?")["results"]
        assert FACT in first["text"]


class LookingModel:
    """A model that greps for the answer, reads the message that it found, and answers from it."""

    QUESTION = "Behind which door hangs the spare key?"

    def __call__(self, received):
        *_, newest = received.messages
        if "lcm_grep" not in json.dumps(received.json.get("tools", [])):
            return Reply("ok")
        results = [part for part in newest.parts if isinstance(part, ToolResult)]
        if self.QUESTION in newest.text:
            return self.look("lcm_grep", query=self.QUESTION)
        if not results or not any(call.name.startswith("lcm_") for call in received.messages[-2].calls):
            return Reply("ok")
        answer = json.loads(results[0].text)
        if "results" in answer:
            return self.look("lcm_expand", messages=str(answer["results"][0]["message"]))
        return Reply(f"It says: {answer['sources'][0]['text']}")

    def look(self, name, **arguments):
        return Reply("", (ToolCall(f"call_{name}", name, json.dumps(arguments)),))


@pytest.mark.parametrize("dialect", PATHS)
def test_a_model_finds_a_folded_fact_through_the_tools_and_the_client_sees_one_answer(gateway, dialect):
    with Upstream(LookingModel()) as up:
        settings = {"model__context_length": 16_000, "context__engine": "lcm", "gateway__recall": True}
        running = gateway(up, **settings)
        _, items = converse(running, dialect, begin(dialect), range(3))
        before = len(up.requests)
        question = {"role": "user", "content": LookingModel.QUESTION}
        answer = running.ask(PATHS[dialect], body_of(dialect, [*items, question]))
        assert answer.status == 200
        assert FACT in json.dumps(answer.json)
        assert "lcm_grep" not in json.dumps(answer.json)
        rounds = up.requests[before:]
        assert len(rounds) == 3
        for request in rounds:
            sent = request.json["input" if dialect == "openai_responses" else "messages"]
            assert not find_errors(sent, dialect=dialect)
