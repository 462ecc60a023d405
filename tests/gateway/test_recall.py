"""Recall inside the gateway: the model reads what was folded, and its client sees one answer."""

import json
from itertools import pairwise

import pytest

from midfold.messages import ToolCall, ToolResult
from midfold.testing import Reply, Upstream
from midfold.testing.upstream import DeliveryFault, HttpStatus
from midfold.tokens import CanonicalUsage
from midfold.wire.validate import find_errors
from support.gateway_clients import CLIENTS, SdkAgent, answer_as_an_agent

TOOL = "midfold_recall"
QUESTION = "Which word did I give you first?"
SECRET = "periwinkle"
USAGE = CanonicalUsage(1_000, 50)


def tool_names(body):
    return {tool.get("name") or tool["function"]["name"] for tool in body.get("tools", ())}


class Provider:
    """An agent that recalls when it is asked for a word and was offered the tool."""

    def __init__(self, rounds=1, says="Let me look it up.", beside=(), gzip=False):
        self.rounds = rounds
        self.says = says
        self.beside = beside
        self.fault = DeliveryFault(gzip=gzip)
        self.asked = 0

    def __call__(self, received):
        results = [part for part in received.messages[-1].parts if isinstance(part, ToolResult)]
        is_ours = any(SECRET in part.text or "recall" in part.call_id for part in results)
        is_question = QUESTION in received.messages[-1].text
        if TOOL not in tool_names(received.json) or not (is_question or is_ours):
            return answer_as_an_agent(received)
        if is_question:
            self.asked = 0
        self.asked += 1
        if self.asked <= self.rounds:
            call = ToolCall(f"recall_{self.asked}", TOOL, json.dumps({"query": "first word"}))
            return Reply(self.says, (call, *self.beside), reasoning="Hm.", usage=USAGE, fault=self.fault)
        found = SECRET if any(SECRET in part.text for part in results) else "unknown"
        return Reply(f"It was {found}.", reasoning="So.", usage=USAGE, fault=self.fault)


@pytest.fixture(params=CLIENTS)
def kind(request):
    return CLIENTS[request.param]


@pytest.fixture(params=[True, False], ids=["stream", "whole"])
def streams(request):
    return request.param


def folded_client(kind, streams, running):
    """Have a conversation until it is folded; its first request holds a word that is then out of sight."""
    client = kind(running.ask)
    client.streams = streams
    client.turn(f"My first word is {SECRET}. Read the first zone.")
    while not client.folds[-1]:
        client.turn(f"Look at zone {client.turns}.")
        running.settle()
    while SECRET in json.dumps(
        client.body()["input" if kind.dialect == "openai_responses" else "messages"][-12:]
    ):
        client.turn(f"Look at zone {client.turns}.")
    running.settle()
    return client


def recalls(up):
    """The requests that hold a call of our tool."""
    return [
        each for each in up.requests if f'"{TOOL}"' in json.dumps(each.json) and "recall_1" in str(each.json)
    ]


def test_a_model_recalls_what_was_folded_and_the_client_sees_one_answer(gateway, store, kind, streams):
    provider = Provider()
    with Upstream(provider) as up:
        running = gateway(up, model__context_length=12_000, gateway__recall=True)
        client = folded_client(kind, streams, running)
        before = len(up.requests)
        words = client.turn(QUESTION)
        running.settle()
        rounds = up.requests[before:]
        client.turn("Go on.")
        running.settle()
    assert f"It was {SECRET}." in words
    assert "Let me look it up." in words
    assert client.answers[-2].changes["x-midfold-recall"] == "offered"
    assert len(rounds) == 2
    # Nothing of it is in the history of the client, nor in what the store keeps of it.
    assert TOOL not in json.dumps(client.history)
    assert "recall_1" not in json.dumps(
        [record.item for record in store.history(store.conversations()[0].id)]
    )
    assert len(store.conversations()) == 1
    # Each round is legal, and goes on from the one before.
    name = "input" if kind.dialect == "openai_responses" else "messages"
    for one, other in pairwise(rounds):
        assert other.json[name][: len(one.json[name])] == one.json[name]
        assert other.json["tools"] == one.json["tools"]
    assert not find_errors(
        [item for item in rounds[-1].json[name] if item.get("role") != "system"], dialect=kind.dialect
    )
    assert recalls(up) == [rounds[-1]]


def test_prefixes_stay_the_same_around_a_recall(gateway, kind):
    provider = Provider()
    with Upstream(provider) as up:
        running = gateway(up, model__context_length=12_000, gateway__recall=True)
        client = folded_client(kind, True, running)
        before = len(up.requests)
        folds = client.folds[-1]
        client.turn(QUESTION)
        client.turn("Thanks.")
        running.settle()
    name = "input" if kind.dialect == "openai_responses" else "messages"
    asked, after = up.requests[before].json, up.requests[before + 2].json
    if client.folds[-2] == folds:
        said = [item for item in asked[name][:-1] if item.get("role") not in ("system", "developer")]
        kept = [item for item in after[name] if item.get("role") not in ("system", "developer")]
        assert without_markers(kept[: len(said)]) == without_markers(said)
    assert tool_names(asked) == tool_names(after) == {"read_file", TOOL}


def without_markers(items):
    text = json.dumps(items)
    for marker in (', "cache_control": {"type": "ephemeral"}',):
        text = text.replace(marker, "")
    return [
        block
        for item in json.loads(text)
        for block in (item["content"] if isinstance(item.get("content"), list) else [item])
        if block.get("type") not in ("thinking", "reasoning")
    ]


def test_usage_is_that_of_all_rounds_for_the_client_and_in_the_books(gateway, store, kind, streams):
    with Upstream(Provider(rounds=2)) as up:
        running = gateway(up, model__context_length=12_000, gateway__recall=True)
        client = folded_client(kind, streams, running)
        recorded = store.usage(whole_chain=True)
        ask, bodies = client.ask, []
        client.ask = lambda path, body, **headers: ask(
            path,
            body | ({"stream_options": {"include_usage": True}} if "messages" in body and streams else {}),
            **headers,
        )
        bodies.append(client.turn(QUESTION))
        running.settle()
        now = store.usage(whole_chain=True)
    assert now.prompt_tokens - recorded.prompt_tokens == 3 * USAGE.prompt_tokens
    assert now.output_tokens - recorded.output_tokens == 3 * USAGE.output_tokens
    reported = read_usage(client, client.answers[-1])
    assert (reported.prompt_tokens, reported.output_tokens) == (3_000, 150)


def read_usage(client, answer):
    from midfold.wire.apis import StreamReader, get_api, read_reply

    api = get_api(client.dialect)
    if not client.streams:
        return read_reply(api, answer.body).usage
    reader = StreamReader(api)
    for _ in [*reader.feed(answer.body), *reader.finish()]:
        pass
    return reader.completion().usage


def test_a_model_that_recalls_without_end_is_stopped(gateway, kind, streams):
    with Upstream(Provider(rounds=99)) as up:
        running = gateway(up, model__context_length=12_000, gateway__recall=True)
        client = folded_client(kind, streams, running)
        before = len(up.requests)
        words = client.turn(QUESTION)
    assert len(up.requests) - before == 5
    assert "nothing more can be recalled" in json.dumps(up.requests[-1].json)
    assert "Let me look it up." in words
    assert TOOL not in json.dumps(client.history)


def test_calls_of_the_client_beside_ours_are_the_clients(gateway, kind, streams):
    own = ToolCall("call_own", "read_file", json.dumps({"path": "x"}))
    with Upstream(Provider(rounds=1, beside=(own,))) as up:
        running = gateway(up, model__context_length=12_000, gateway__recall=True)
        client = folded_client(kind, streams, running)
        client.turn(QUESTION)
    said = json.dumps(client.history)
    assert TOOL not in said
    assert "call_own" in said


def test_an_answer_that_is_packed_all_the_same_is_unpacked(gateway, streams):
    with Upstream(Provider(gzip=True)) as up:
        running = gateway(up, model__context_length=12_000, gateway__recall=True)
        client = folded_client(SdkAgent, streams, running)
        assert SECRET in client.turn(QUESTION)


def test_a_round_that_is_refused_is_the_providers_error(gateway, kind, streams):
    def refuse(received):
        if "recall_1" in str(received.json):
            return HttpStatus(429)
        return provider(received)

    provider = Provider()
    with Upstream(refuse) as up:
        running = gateway(up, model__context_length=12_000, gateway__recall=True)
        client = folded_client(kind, streams, running)
        client.history += client.say(QUESTION)
        body = client.body() | {"stream": streams}
        answer = running.ask(client.path, body, **client.headers())
    assert answer.status == (200 if streams else 429)
    assert b"error" in answer.body
    assert b"[DONE]" not in answer.body
    assert b"message_stop" not in answer.body
    assert b"response.completed" not in answer.body
    assert TOOL.encode() not in answer.body


def test_a_round_that_breaks_off_ends_with_an_error_event(gateway, kind):
    def cut(received):
        reply = provider(received)
        if "recall_1" not in str(received.json):
            return reply
        return Reply("It was", fault=DeliveryFault(cut_at=150))

    provider = Provider()
    with Upstream(cut) as up:
        running = gateway(up, model__context_length=12_000, gateway__recall=True)
        client = folded_client(kind, True, running)
        client.history += client.say(QUESTION)
        answer = running.ask(client.path, client.body() | {"stream": True}, **client.headers())
    assert answer.status == 200
    assert b"the upstream did not finish its answer" in answer.body
    assert b"[DONE]" not in answer.body


def test_nothing_is_offered_before_the_first_fold_nor_without_the_setting(gateway, kind):
    with Upstream(answer_as_an_agent) as up:
        running = gateway(up, model__context_length=12_000)
        client = folded_client(kind, True, running)
        plain = gateway(up, gateway__recall=True)
        other = kind(plain.ask, session="9f0c2f8e-0000-4000-8000-000000000002")
        other.turn("Look at zone 1.")
    assert all(tool_names(each.json) == {"read_file"} for each in up.requests)
    assert not any("x-midfold-recall" in each.changes for each in (*client.answers, *other.answers))


def test_a_client_with_a_tool_of_that_name_keeps_its_own(gateway):
    class Named(SdkAgent):
        def body(self):
            tool = {"type": "function", "function": {"name": TOOL, "parameters": {"type": "object"}}}
            return super().body() | {"tools": [tool]}

    with Upstream(answer_as_an_agent) as up:
        running = gateway(up, model__context_length=12_000, gateway__recall=True)
        client = folded_client(Named, False, running)
    assert len(up.requests[-1].json["tools"]) == 1
    assert "x-midfold-recall" not in client.answers[-1].changes


def test_several_answers_at_once_are_left_alone(gateway):
    class Twice(SdkAgent):
        def body(self):
            return super().body() | {"n": 2}

    with Upstream(answer_as_an_agent) as up:
        running = gateway(up, model__context_length=12_000, gateway__recall=True)
        folded_client(Twice, False, running)
    assert TOOL not in tool_names(up.requests[-1].json)


def test_a_model_reads_offloaded_output_back(gateway):
    seen = []

    def provider(received):
        last = received.messages[-1]
        results = [part for part in last.parts if isinstance(part, ToolResult)]
        if results and results[0].call_id == "recall_1":
            seen.append(results[0].text)
            return Reply("Read.")
        if results and "<persisted-output" in results[0].text:
            return Reply(
                "", (ToolCall("recall_1", "read_persisted_output", json.dumps({"pattern": "line 900 "})),)
            )
        return answer_as_an_agent(received)

    items = [
        {"role": "user", "content": "read it"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "cat", "arguments": "{}"}}],
        },
        {
            "role": "tool",
            "tool_call_id": "c1",
            "content": "\n".join(f"line {number} of the file" for number in range(4_000)),
        },
    ]
    with Upstream(provider) as up:
        running = gateway(up, gateway__recall=True, gateway__offload=True, tool_output__result_chars=20_000)
        answer = running.ask("/v1/chat/completions", {"model": "gpt-5-mini", "messages": items})
    assert answer.json["choices"][0]["message"]["content"] == "Read."
    assert "line 900 of the file" in seen[0]


def test_no_conversation_reads_of_another(gateway, store):
    from midfold.gateway.recall import RecallTools
    from midfold.gateway.session import GatewaySession

    ids = {}
    for name, words in (("one", "the code is 1234"), ("two", "the weather is fine")):
        session = store.create_session(dialect="openai_chat", messages=[{"role": "user", "content": words}])
        ids[name] = session.id
    tools = RecallTools(store)
    session = GatewaySession(ids["two"], "", "openai_chat", conversation_id=ids["two"])
    calls = [
        ToolCall("1", TOOL, json.dumps(arguments))
        for arguments in (
            {"query": "code"},
            {"message": f"{ids['one'][:8]}:0"},
            {"query": "weather"},
            {"query": 5},
            [],
        )
    ]
    found = tools.answer(
        [*calls, ToolCall("6", TOOL, "{"), ToolCall("7", "other", "{}")], session, most_chars=500
    )
    assert not any("1234" in text for text in found)
    assert "fine" in found[2]
    assert [text.startswith("Error") for text in found] == [False, True, False, True, True, True, True]
