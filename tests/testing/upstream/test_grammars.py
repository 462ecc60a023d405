"""Each API's own grammar, as midfold's readers and any client understand it."""

import pytest

from midfold.messages import ToolCall
from midfold.testing.upstream import ApiError, FinishReason, HttpStatus, Reply, Upstream, UsageReport
from midfold.tokens import CanonicalUsage
from midfold.wire import parse
from midfold.wire.usage import normalize_usage

APIS = ("chat", "responses", "messages")
WORDS = "Grüße aus 上海! The tariff of zone 4 is 2.40 a day, and 1.10 at night. 🙂"
CALLS = (
    ToolCall("call_1", "read_file", '{"path":"src/tariff.py","start_line":120}'),
    ToolCall("call_2", "list_zones", "{}"),
)
REPORTED = CanonicalUsage(
    input_tokens=100,
    output_tokens=30,
    cache_read_tokens=2_000,
    cache_write_tokens=400,
)


def ends(api, answer):
    """Return what a reply says of itself at its end: why it stopped and what it used."""
    match api:
        case "chat":
            return answer["choices"][0]["finish_reason"], answer.get("usage")
        case "responses":
            why = (answer["incomplete_details"] or {}).get("reason")
            return why or answer["status"], answer["usage"]
        case "messages":
            return answer["stop_reason"], answer.get("usage")


def parts(api, answer):
    """Read a whole reply with midfold's own readers."""
    match api:
        case "chat":
            messages = parse([answer["choices"][0]["message"]], "openai_chat")
        case "responses":
            messages = parse(answer["output"], "openai_responses")
        case "messages":
            messages = parse([{"role": "assistant", "content": answer["content"]}], "anthropic")
    texts = "".join(message.text for message in messages)
    return texts, tuple(call for message in messages for call in message.calls)


def join_chat(events):
    text, names, arguments = "", {}, {}
    for choice in (choice for event in events[:-1] for choice in event["choices"]):
        text += choice["delta"].get("content") or ""
        for call in choice["delta"].get("tool_calls", ()):
            index = call["index"]
            names.setdefault(index, (call.get("id"), call["function"].get("name")))
            arguments[index] = arguments.get(index, "") + call["function"]["arguments"]
    return text, tuple(ToolCall(*names[index], arguments[index]) for index in names)


def join_responses(events):
    text = "".join(event["delta"] for event in events if event["type"] == "response.output_text.delta")
    items = {e["output_index"]: e["item"] for e in events if e["type"] == "response.output_item.added"}
    pieces = dict.fromkeys((i for i, item in items.items() if item["type"] == "function_call"), "")
    for event in events:
        if event["type"] == "response.function_call_arguments.delta":
            pieces[event["output_index"]] += event["delta"]
    return text, tuple(ToolCall(items[i]["call_id"], items[i]["name"], pieces[i]) for i in pieces)


def join_messages(events):
    blocks = [event["content_block"] for event in events if event["type"] == "content_block_start"]
    texts = ["" for _ in blocks]
    for event in events:
        if event["type"] == "content_block_delta":
            delta = event["delta"]
            texts[event["index"]] += delta.get("text") or delta.get("partial_json") or ""
    said = zip(blocks, texts, strict=True)
    calls = [ToolCall(block["id"], block["name"], text) for block, text in said if "id" in block]
    return texts[0] if blocks[0]["type"] == "text" else "", tuple(calls)


JOIN = {"chat": join_chat, "responses": join_responses, "messages": join_messages}


@pytest.mark.parametrize("api", APIS)
def test_a_plain_reply_says_what_was_scripted(api, ask):
    with Upstream([Reply(WORDS, CALLS)]) as up:
        answer = ask(up, api)
    assert answer.status == 200
    assert answer.json["model"] == "m-1"
    text, calls = parts(api, answer.json)
    assert text == WORDS
    assert [(call.id, call.name, call.parse_arguments()) for call in calls] == [
        (call.id, call.name, call.parse_arguments()) for call in CALLS
    ]


@pytest.mark.parametrize("api", APIS)
def test_the_pieces_of_a_stream_join_to_what_was_scripted(api, ask):
    with Upstream([Reply(WORDS, CALLS)]) as up:
        answer = ask(up, api, stream=True)
    assert answer.headers["Content-Type"].startswith("text/event-stream")
    assert JOIN[api](answer.data) == (WORDS, CALLS)


def test_a_chat_stream_ends_with_done_and_reports_usage_when_asked(ask):
    with Upstream(Reply("hi", usage=REPORTED)) as up:
        silent = ask(up, stream=True).data
        asked = ask(up, stream=True, stream_options={"include_usage": True}).data
    assert silent[-1] == asked[-1] == "[DONE]"
    assert all("usage" not in chunk for chunk in silent[:-1])
    assert normalize_usage(asked[-2]["usage"]) == REPORTED
    assert asked[-2]["choices"] == []


def test_a_responses_stream_is_numbered_and_ends_with_the_whole_response(ask):
    with Upstream(Reply(WORDS, CALLS, usage=REPORTED)) as up:
        events = ask(up, "responses", stream=True).events
    assert [data["sequence_number"] for _, data in events] == list(range(len(events)))
    assert all(name == data["type"] for name, data in events)
    last = events[-1][1]
    assert last["type"] == "response.completed"
    assert parts("responses", last["response"]) == (WORDS, CALLS)
    assert normalize_usage(last["response"]["usage"]) == REPORTED


def test_an_anthropic_stream_opens_with_the_input_and_closes_with_the_output(ask):
    with Upstream(Reply("hi", usage=REPORTED)) as up:
        events = ask(up, "messages", stream=True).events
    names = [name for name, _ in events]
    assert names[:2] == ["message_start", "ping"]
    assert names[-2:] == ["message_delta", "message_stop"]
    assert normalize_usage(events[0][1]["message"]["usage"]).prompt_tokens == REPORTED.prompt_tokens
    assert normalize_usage(events[-2][1]["usage"]) == REPORTED


@pytest.mark.parametrize("api", APIS)
def test_usage_in_every_shape_is_read_back_as_it_was_scripted(api, ask):
    with Upstream(Reply("hi", usage=REPORTED)) as up:
        _, usage = ends(api, ask(up, api).json)
    assert normalize_usage(usage) == REPORTED


@pytest.mark.parametrize("api", APIS)
def test_usage_is_counted_from_what_was_sent(api, ask):
    with Upstream(Reply("hi")) as up:
        _, short = ends(api, ask(up, api, "hello").json)
        _, long = ends(api, ask(up, api, "hello " * 1_000).json)
        counted = [received.count_tokens() for received in up.requests]
    assert [normalize_usage(usage).prompt_tokens for usage in (short, long)] == counted
    assert counted[1] > counted[0] + 900


@pytest.mark.parametrize("api", APIS)
def test_usage_can_be_a_lie_or_missing(api, ask):
    with Upstream([Reply("hi", usage=meter) for meter in UsageReport]) as up:
        usages = [ends(api, ask(up, api, "word " * 200).json)[1] for _ in UsageReport]
    counted, low, high = (normalize_usage(usage).prompt_tokens for usage in usages[:3])
    assert (low, high) == (counted // 10, counted * 10)
    assert usages[3] is None


@pytest.mark.parametrize(
    ("finish", "spelled"),
    [
        (FinishReason.STOP, ("stop", "completed", "end_turn")),
        (FinishReason.CALLS, ("tool_calls", "completed", "tool_use")),
        (FinishReason.LENGTH, ("length", "max_output_tokens", "max_tokens")),
        (FinishReason.FILTER, ("content_filter", "content_filter", "refusal")),
        ("model_context_window_exceeded", ("model_context_window_exceeded",) * 3),
    ],
)
def test_why_a_model_stopped_is_spelled_by_each_api(finish, spelled, ask):
    with Upstream(Reply("hi", finish=finish)) as up:
        assert tuple(ends(api, ask(up, api).json)[0] for api in APIS) == spelled


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("api", APIS)
def test_thinking_goes_beside_the_words(api, stream, ask):
    with Upstream(Reply("the answer", reasoning="zone 4, at night")) as up:
        body = ask(up, api, stream=stream).body.decode()
    assert "zone 4, at night" in body
    assert {"chat": "reasoning_content", "responses": "summary_text", "messages": "thinking"}[api] in body


@pytest.mark.parametrize("api", APIS)
def test_an_error_breaks_off_a_stream_without_its_end(api, ask):
    with Upstream(Reply("so far", error=ApiError("no more", "overloaded_error"))) as up:
        answer = ask(up, api, stream=True)
    assert "so far" in answer.body.decode()
    name, data = answer.events[-1]
    if api == "responses":
        assert (name, data["type"], data["message"]) == ("error", "error", "no more")
    else:
        assert name == ("error" if api == "messages" else "message")
        assert data["error"]["message"] == "no more"
    assert not any(end in answer.body for end in (b"[DONE]", b"message_stop", b"response.completed"))


def test_a_response_can_end_as_failed(ask):
    with Upstream(Reply("so far", finish="failed", error=ApiError("no more", code="server_error"))) as up:
        name, data = ask(up, "responses", stream=True).events[-1]
    assert name == "response.failed"
    assert data["response"]["error"] == {"code": "server_error", "message": "no more"}


@pytest.mark.parametrize("api", APIS)
def test_an_error_can_be_the_body_of_a_200(api, ask):
    with Upstream(Reply("never said", error=ApiError("no more"))) as up:
        answer = ask(up, api)
    assert answer.status == 200
    assert answer.json["error"]["message"] == "no more"


@pytest.mark.parametrize("api", APIS)
def test_a_bare_status_wears_the_envelope_of_its_api(api, ask):
    with Upstream(HttpStatus(529, error=ApiError("busy", "overloaded_error"))) as up:
        answer = ask(up, api)
    assert answer.status == 529
    assert answer.json["error"]["message"] == "busy"
    assert answer.json.get("type") == ("error" if api == "messages" else None)


def test_half_a_surrogate_pair_still_makes_json(ask):
    with Upstream(Reply("broken \ud83d emoji")) as up:
        assert ask(up).json["choices"][0]["message"]["content"] == "broken \ud83d emoji"


def test_the_same_script_gives_the_same_bytes(ask):
    def once():
        with Upstream(Reply(WORDS, CALLS)) as up:
            return [ask(up, api, stream=True).body for api in APIS]

    assert once() == once()
