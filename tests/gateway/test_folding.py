"""What is sent once a conversation was folded: offloaded results, cache breakpoints, and what stays."""

import json

import pytest

from midfold.config import load_settings
from midfold.gateway.hygiene import HygieneGate
from midfold.testing import Reply, Upstream, transcript
from support.gateway_clients import SdkAgent, answer_as_an_agent

LONG = "\n".join(f"line {number}: {number * 7919 % 1000}" for number in range(8_000))


def anthropic_body(**more):
    items = transcript("anthropic", turns=20, steps=2, result_chars=2_500)
    return {
        "model": "claude-opus-4-1",
        "max_tokens": 100,
        "system": "You are an agent.",
        "messages": items,
        **more,
    }


def count_markers(body):
    return json.dumps(body).count('"cache_control"')


def test_breakpoints_are_set_in_folded_conversations_alone(gateway):
    short = {"model": "claude-opus-4-1", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}
    with Upstream(Reply("ok")) as up:
        running = gateway(up, model__context_length=16_000)
        running.ask("/v1/messages", short)
        running.ask("/v1/messages", anthropic_body())
    assert count_markers(up.requests[0].json) == 0
    assert count_markers(up.requests[1].json) == 4


def test_the_clients_own_markers_count_among_the_four(gateway):
    marker = {"type": "ephemeral"}
    body = anthropic_body(
        system=[
            {"type": "text", "text": "one", "cache_control": marker},
            {"type": "text", "text": "two", "cache_control": marker},
        ],
        tools=[{"name": "read", "input_schema": {"type": "object"}, "cache_control": marker}],
    )
    with Upstream(Reply("ok")) as up:
        gateway(up, model__context_length=16_000).ask("/v1/messages", body)
    assert count_markers(up.requests[0].json) == 4


def test_a_client_that_leaves_breakpoints_to_the_provider_gets_none(gateway):
    with Upstream(Reply("ok")) as up:
        gateway(up, model__context_length=16_000).ask(
            "/v1/messages", anthropic_body(cache_control={"type": "ephemeral"})
        )
    assert count_markers(up.requests[0].json) == 1


def test_fields_that_nobody_knows_survive_a_fold(gateway):
    body = anthropic_body(
        thinking={"type": "adaptive"}, output_config={"effort": "low"}, odd=[1, {"x": None}]
    )
    with Upstream(Reply("ok")) as up:
        answer = gateway(up, model__context_length=16_000).ask("/v1/messages", body)
    sent = up.requests[0].json
    assert answer.changes["x-midfold-folded"] == "1"
    assert {key: sent[key] for key in ("thinking", "output_config", "odd", "max_tokens")} == {
        key: body[key] for key in ("thinking", "output_config", "odd", "max_tokens")
    }
    assert sent["messages"][-1]["content"] or body["messages"][-1] == sent["messages"][-1]


def test_long_results_are_offloaded_where_that_is_set(gateway, home):
    items = [
        {"role": "user", "content": "read it"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "cat", "arguments": "{}"}}],
        },
        {"role": "tool", "tool_call_id": "c1", "content": LONG},
    ]
    body = {"model": "gpt-5-mini", "messages": items}
    with Upstream(Reply("ok")) as up:
        plain = gateway(up, tool_output__result_chars=50_000).ask("/v1/chat/completions", body)
        running = gateway(up, tool_output__result_chars=50_000, gateway__offload=True)
        answers = [running.ask("/v1/chat/completions", body) for _ in range(2)]
        running.settle()
    assert plain.changes == {}
    assert up.requests[0].json == body
    assert {answer.changes["x-midfold-offloaded"] for answer in answers} == {"1"}
    assert "<persisted-output" in up.requests[1].json["messages"][2]["content"]
    assert up.requests[1].body == up.requests[2].body
    assert list((home / "outputs").rglob("*.txt")) or list((home / "outputs").rglob("cat-*"))


def test_a_string_as_the_input_of_responses_is_a_conversation(gateway, store):
    with Upstream(Reply("ok")) as up:
        running = gateway(up)
        assert running.ask("/v1/responses", {"model": "any", "input": "hello"}).status == 200
        running.settle()
    assert up.requests[0].json["input"] == "hello"
    assert len(store.conversations()) == 1


@pytest.mark.parametrize(
    ("tokens", "messages", "threshold", "is_over"),
    [
        (84_999, 50, 50_000, False),
        (85_000, 50, 50_000, True),
        (90_000, 3, 50_000, False),
        (90_000, 50, 95_000, False),
    ],
)
def test_the_hygiene_gate_lies_at_its_share_and_never_below_the_threshold(
    tokens, messages, threshold, is_over
):
    gate = HygieneGate(load_settings(environment={"MIDFOLD_HOME": "nowhere"}).gateway.hygiene)
    assert gate.is_over(tokens, messages, window_tokens=100_000, threshold_tokens=threshold) is is_over


class Numbering(SdkAgent):
    """Says with each message, beside its words, in which turn it is sent."""

    def body(self):
        body = super().body()
        return body | {"messages": [{**item, "sent_in": self.turns} for item in body["messages"]]}


def test_a_gateway_that_knows_a_conversation_sends_what_a_new_one_does(gateway):
    with Upstream(answer_as_an_agent) as up:
        running = gateway(up, model__context_length=8_000)
        client = Numbering(running.ask)
        for number in range(12):
            client.turn(f"Look at zone {number}.")
            running.settle()
        assert client.folds[-1] >= 1
        again = client.body() | {"stream": False}
        running.ask(client.path, again)
        gateway(up, model__context_length=8_000).ask(client.path, again)
        assert up.requests[-1].body == up.requests[-2].body
