"""The official SDKs through the gateway: before, during and after a fold, whole and as streams."""

import pytest

from midfold.messages import ToolCall
from midfold.testing import Reply, Upstream
from support.gateway_clients import tool_output

pytestmark = pytest.mark.slow

WINDOW = 9_000
TURNS = 10


def answer(received):
    """Ask for a tool when a person spoke, and say what was done when a tool did."""
    newest, number = received.messages[-1], len(received.messages)
    if newest.role == "tool" or not newest.text:
        return Reply(f"Done with {number}.")
    return Reply(
        "Let me look.",
        (ToolCall(f"call_{received.count_tokens()}_{number}", "read_file", '{"path": "a.py"}'),),
    )


@pytest.fixture
def folded(gateway):
    """A gateway whose window ten turns overflow, and what it changed."""
    with Upstream(answer) as up:
        yield gateway(up, model__context_length=WINDOW), up


def check(up, headers):
    folds = [int(each.get("x-midfold-folded", 0)) for each in headers]
    assert folds[0] == 0
    assert folds[-1] >= 1
    assert folds == sorted(folds)
    assert max(received.count_tokens() for received in up.requests) < WINDOW


@pytest.mark.parametrize("stream", [False, True])
def test_openai_chat_completions(folded, stream):
    from openai import OpenAI

    running, up = folded
    tools = [{"type": "function", "function": {"name": "read_file", "parameters": {"type": "object"}}}]
    messages, headers = [{"role": "system", "content": "You are an agent."}], []
    with OpenAI(base_url=f"{running.url}/v1", api_key="any", max_retries=0) as client:
        for turn in range(TURNS):
            messages.append({"role": "user", "content": f"Look at zone {turn}."})
            while True:
                create = client.chat.completions.with_raw_response.create
                raw = create(model="gpt-5-mini", messages=messages, tools=tools, stream=stream)
                headers.append(raw.headers)
                reply = collect_chat(raw.parse()) if stream else raw.parse().choices[0].message.to_dict()
                messages.append(reply)
                if not reply.get("tool_calls"):
                    break
                messages += [
                    {"role": "tool", "tool_call_id": call["id"], "content": tool_output(turn)}
                    for call in reply["tool_calls"]
                ]
            running.settle()
    check(up, headers)


def collect_chat(stream):
    text, calls = "", {}
    for chunk in stream:
        for choice in chunk.choices:
            text += choice.delta.content or ""
            for call in choice.delta.tool_calls or ():
                known = calls.setdefault(
                    call.index, {"id": call.id, "type": "function", "function": {"name": "", "arguments": ""}}
                )
                known["function"]["name"] += call.function.name or ""
                known["function"]["arguments"] += call.function.arguments or ""
    return {"role": "assistant", "content": text or None} | (
        {"tool_calls": [*calls.values()]} if calls else {}
    )


@pytest.mark.parametrize("stream", [False, True])
def test_openai_responses(folded, stream):
    from openai import OpenAI

    running, up = folded
    tools = [{"type": "function", "name": "read_file", "parameters": {"type": "object"}}]
    items, headers = [], []
    with OpenAI(base_url=f"{running.url}/v1", api_key="any", max_retries=0) as client:
        for turn in range(TURNS):
            items.append({"role": "user", "content": f"Look at zone {turn}."})
            while True:
                create = client.responses.with_raw_response.create
                raw = create(model="gpt-5-mini", input=items, tools=tools, store=False, stream=stream)
                headers.append(raw.headers)
                response = raw.parse()
                if stream:
                    response = next(
                        event for event in response if event.type == "response.completed"
                    ).response
                items += [item.to_dict() for item in response.output]
                calls = [item for item in response.output if item.type == "function_call"]
                if not calls:
                    break
                items += [
                    {"type": "function_call_output", "call_id": call.call_id, "output": tool_output(turn)}
                    for call in calls
                ]
            running.settle()
    check(up, headers)


@pytest.mark.parametrize("stream", [False, True])
def test_anthropic_messages(folded, stream):
    from anthropic import Anthropic

    running, up = folded
    messages, headers = [], []
    options = {
        "model": "claude-opus-4-1",
        "max_tokens": 500,
        "system": "You are an agent.",
        "tools": [{"name": "read_file", "input_schema": {"type": "object"}}],
    }
    with Anthropic(base_url=running.url, api_key="any", max_retries=0) as client:
        for turn in range(TURNS):
            messages.append({"role": "user", "content": f"Look at zone {turn}."})
            while True:
                if stream:
                    with client.messages.stream(messages=messages, **options) as events:
                        reply = events.get_final_message()
                        headers.append(events.response.headers)
                else:
                    raw = client.messages.with_raw_response.create(messages=messages, **options)
                    headers.append(raw.headers)
                    reply = raw.parse()
                messages.append(
                    {"role": "assistant", "content": [block.to_dict() for block in reply.content]}
                )
                calls = [block for block in reply.content if block.type == "tool_use"]
                if not calls:
                    break
                results = [
                    {"type": "tool_result", "tool_use_id": call.id, "content": tool_output(turn)}
                    for call in calls
                ]
                messages.append({"role": "user", "content": results})
            running.settle()
        assert client.messages.count_tokens(model="claude-opus-4-1", messages=messages).input_tokens < WINDOW
    check(up, headers)
    marked = [received for received in up.requests if str(received.json).count("cache_control")]
    assert marked
    assert all(str(received.json).count("cache_control") <= 4 for received in marked)


def test_the_sdks_understand_errors_of_the_gateway(gateway):
    from anthropic import Anthropic, APIStatusError
    from openai import APIError, OpenAI

    from midfold.testing.upstream import HANG_UP, DeliveryFault

    with Upstream(
        [
            HANG_UP,
            Reply("word " * 99, fault=DeliveryFault(cut_at=400)),
            Reply("word " * 99, fault=DeliveryFault(cut_at=700)),
        ]
    ) as up:
        running = gateway(up)
        with OpenAI(base_url=f"{running.url}/v1", api_key="any", max_retries=0) as client:
            say = [{"role": "user", "content": "hi"}]
            with pytest.raises(APIError) as raised:
                client.chat.completions.create(model="any", messages=say)
            assert raised.value.status_code == 502
            with pytest.raises(APIError, match="did not finish"):
                list(client.chat.completions.create(model="any", messages=say, stream=True))
        with (
            Anthropic(base_url=running.url, api_key="any", max_retries=0) as client,
            pytest.raises(APIStatusError, match="did not finish"),
            client.messages.stream(model="any", max_tokens=5, messages=say) as events,
        ):
            events.get_final_message()
