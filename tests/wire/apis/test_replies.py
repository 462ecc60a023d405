"""What comes back: replies and streams, also of servers that follow the API only roughly."""

import json
from decimal import Decimal

import pytest

from midfold.tokens import CanonicalUsage
from midfold.wire.apis import (
    APIS,
    CallChunk,
    Completion,
    Finish,
    ReasoningChunk,
    ReplyError,
    StreamReader,
    TextChunk,
    find_error,
    read_reply,
    stated_status,
)
from midfold.wire.dialect import Unreadable


def reply(api: str, body: object, output_cap: int | None = None) -> Completion:
    return read_reply(APIS[api], json.dumps(body).encode(), output_cap=output_cap)


def stream(api: str, *events: object, output_cap: int | None = None) -> tuple[list[object], Completion]:
    reader = StreamReader(APIS[api], output_cap=output_cap)
    lines = [event if isinstance(event, str) else json.dumps(event) for event in events]
    deltas = list(reader.feed("".join(f"data: {line}\n\n" for line in lines).encode()))
    deltas += reader.finish()
    return deltas, reader.completion()


def chunk(finish=None, usage=None, **delta):
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}], "usage": usage}


def call_piece(**fields):
    function = {key: fields.pop(key) for key in ("name", "arguments") if key in fields}
    return {**fields, "function": function}


@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        ("stop", Finish.STOP),
        ("length", Finish.LENGTH),
        ("tool_calls", Finish.CALLS),
        ("content_filter", Finish.REFUSED),
        ("model_context_window_exceeded", Finish.OVERFLOW),
        ("sensitive", Finish.OTHER),
        (None, Finish.OTHER),
    ],
)
def test_reason_of_a_chat_reply_is_read(reason, finish):
    message = {"role": "assistant", "content": "x"}
    found = reply("openai_chat", {"choices": [{"message": message, "finish_reason": reason}]})
    assert (found.finish, found.finish_reason) == (finish, reason or "")


@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        ("end_turn", Finish.STOP),
        ("stop_sequence", Finish.STOP),
        ("max_tokens", Finish.LENGTH),
        ("tool_use", Finish.CALLS),
        ("refusal", Finish.REFUSED),
        ("model_context_window_exceeded", Finish.OVERFLOW),
        ("pause_turn", Finish.OTHER),
    ],
)
def test_reason_of_an_anthropic_reply_is_read(reason, finish):
    assert reply("anthropic", {"content": [], "stop_reason": reason}).finish is finish


@pytest.mark.parametrize(
    ("status", "details", "finish"),
    [
        ("completed", None, Finish.STOP),
        ("incomplete", {"reason": "max_output_tokens"}, Finish.LENGTH),
        ("incomplete", {"reason": "content_filter"}, Finish.REFUSED),
        ("incomplete", None, Finish.OTHER),
    ],
)
def test_reason_of_a_response_is_read(status, details, finish):
    assert (
        reply("openai_responses", {"output": [], "status": status, "incomplete_details": details}).finish
        is finish
    )


def completed(output_tokens, **fields):
    """A response of llama.cpp, which is always completed and has no details of what is not."""
    content = [{"type": "output_text", "text": "one two"}]
    output = [{"type": "message", "role": "assistant", "content": content}]
    usage = {"input_tokens": 9, "output_tokens": output_tokens, "total_tokens": 9 + output_tokens}
    return {"status": "completed", "output": output, "usage": usage, **fields}


@pytest.mark.parametrize(
    ("body", "output_cap", "finish"),
    [
        (completed(24), 24, Finish.LENGTH),
        (completed(25), 24, Finish.LENGTH),
        (completed(23), 24, Finish.STOP),
        (completed(24), None, Finish.STOP),
        (completed(24, incomplete_details=None), 24, Finish.STOP),
        (completed(24, usage=None), 24, Finish.STOP),
    ],
    ids=["full", "above", "below", "no cap", "a server that has the word", "no usage"],
)
def test_response_that_fills_its_cap_was_cut_where_the_server_cannot_say_so(body, output_cap, finish):
    assert reply("openai_responses", body, output_cap).finish is finish
    event = {"type": "response.completed", "response": body}
    assert stream("openai_responses", event, output_cap=output_cap)[1].finish is finish


def test_calls_are_the_reason_even_where_the_server_says_stop():
    calls = [{"id": "c", "type": "function", "function": {"name": "ls", "arguments": "{}"}}]
    message = {"role": "assistant", "content": None, "tool_calls": calls}
    found = reply("openai_chat", {"choices": [{"message": message, "finish_reason": "stop"}]})
    assert found.finish is Finish.CALLS


def test_usage_is_read_and_kept_as_it_came():
    usage = {"prompt_tokens": 10, "completion_tokens": 2, "cost": 0.25, "odd": [1]}
    message = {"role": "assistant", "content": "x"}
    found = reply("openai_chat", {"choices": [{"message": message}], "usage": usage, "model": "m-1"})
    assert found.usage == CanonicalUsage(input_tokens=10, output_tokens=2)
    assert (found.raw_usage, found.reported_cost, found.model) == (usage, Decimal("0.25"), "m-1")


def test_reply_without_usage_says_so():
    found = reply("anthropic", {"content": [{"type": "text", "text": "x"}]})
    assert (found.usage, found.raw_usage) == (CanonicalUsage(), None)


def test_blocks_of_text_are_joined_as_they_are():
    blocks = [{"type": "text", "text": "one"}, {"type": "text", "text": " sentence"}]
    assert reply("anthropic", {"content": blocks}).text == "one sentence"


def test_items_are_ready_to_be_sent_back():
    blocks = [{"type": "thinking", "thinking": "hm", "signature": "s"}, {"type": "text", "text": "x"}]
    assert reply("anthropic", {"content": blocks}).items == [{"role": "assistant", "content": blocks}]


@pytest.mark.parametrize(
    "body", [[], "x", 1, None, {}, {"choices": []}, {"choices": [1]}, {"choices": [{}]}, {"content": "x"}]
)
@pytest.mark.parametrize("api", APIS)
def test_what_is_no_reply_is_unreadable(api, body):
    with pytest.raises(Unreadable):
        reply(api, body)


@pytest.mark.parametrize("data", [b"", b"{", b"\xff\xfe", b"[" * 100_000, b"<html>"])
def test_what_is_not_json_is_unreadable(data):
    with pytest.raises(Unreadable):
        read_reply(APIS["openai_chat"], data)


def test_pieces_of_a_call_are_joined_by_index():
    deltas, found = stream(
        "openai_chat",
        chunk(tool_calls=[call_piece(index=0, id="a", name="ls", arguments="")]),
        chunk(tool_calls=[call_piece(index=0, arguments='{"p":')]),
        chunk(tool_calls=[call_piece(index=1, id="b", name="cat", arguments="{}")]),
        chunk(tool_calls=[call_piece(index=0, arguments="1}")]),
        chunk(finish="tool_calls"),
        "[DONE]",
    )
    assert [(call.id, call.name, call.arguments) for call in found.calls] == [
        ("a", "ls", '{"p":1}'),
        ("b", "cat", "{}"),
    ]
    assert deltas[0] == CallChunk(0, "a", "ls", "")
    assert deltas[3] == CallChunk(0, "", "", "1}")


@pytest.mark.parametrize("index", [None, 0])
def test_calls_without_an_index_of_their_own_are_told_apart_by_id(index):
    place = {} if index is None else {"index": index}
    _, found = stream(
        "openai_chat",
        chunk(tool_calls=[call_piece(**place, id="a", name="ls", arguments="{")]),
        chunk(tool_calls=[call_piece(**place, arguments="}")]),
        chunk(tool_calls=[call_piece(**place, id="b", name="ls", arguments="{}")]),
        chunk(finish="stop"),
    )
    assert [(call.id, call.arguments) for call in found.calls] == [("a", "{}"), ("b", "{}")]


def test_answers_that_come_interleaved_are_not_mixed():
    """Clients that ask for several get them in turns; the first is the one that is read."""

    def piece(index: int, words: str, finish: str | None = None) -> dict[str, object]:
        return {"choices": [{"index": index, "delta": {"content": words}, "finish_reason": finish}]}

    pieces = [piece(0, "one"), piece(1, "uno"), piece(1, " due", "length"), piece(0, " two", "stop")]
    _, found = stream("openai_chat", *pieces, "[DONE]")
    assert (found.text, found.finish) == ("one two", Finish.STOP)


def test_name_that_is_repeated_with_every_piece_counts_once():
    piece = call_piece(index=0, id="a", name="ls", arguments="1")
    _, found = stream(
        "openai_chat", chunk(tool_calls=[piece]), chunk(tool_calls=[piece]), chunk(finish="stop")
    )
    assert [(call.name, call.arguments) for call in found.calls] == [("ls", "11")]


def test_arguments_that_come_as_an_object_are_spelled():
    piece = call_piece(index=0, id="a", name="ls", arguments={"p": 1})
    _, found = stream("openai_chat", chunk(tool_calls=[piece]), chunk(finish="stop"))
    assert found.calls[0].parse_arguments() == {"p": 1}


def test_stream_that_ends_after_its_reason_without_a_marker_is_whole():
    _, found = stream("openai_chat", chunk(content="x"), chunk(finish="stop"))
    assert (found.text, found.finish) == ("x", Finish.STOP)


def test_stream_that_ends_with_the_marker_without_a_reason_is_whole():
    _, found = stream("openai_chat", chunk(content="x"), "[DONE]")
    assert (found.text, found.finish) == ("x", Finish.OTHER)


@pytest.mark.parametrize(
    "lead", [b"", b"\xef\xbb\xbf", b" \r\n\n"], ids=["at once", "byte order mark", "blanks"]
)
@pytest.mark.parametrize("size", [1, 7, 10_000])
def test_reply_that_comes_whole_is_read_in_place_of_a_stream(lead, size):
    message = {"role": "assistant", "content": "whole", "reasoning_content": "Let me see."}
    body = lead + json.dumps({"choices": [{"message": message, "finish_reason": "stop"}]}, indent=1).encode()
    reader = StreamReader(APIS["openai_chat"])
    pieces = [body[start : start + size] for start in range(0, len(body), size)]
    assert [delta for piece in pieces for delta in reader.feed(piece)] == []
    assert list(reader.finish()) == [ReasoningChunk("Let me see."), TextChunk("whole")]
    assert reader.completion().finish is Finish.STOP


@pytest.mark.parametrize(
    ("body", "error"), [(b'{"choices": [', Unreadable), (b'{"error": {"message": "no"}}', ReplyError)]
)
def test_whole_reply_that_is_none_is_refused_with_a_type(body, error):
    reader = StreamReader(APIS["openai_chat"])
    assert list(reader.feed(body)) == []
    with pytest.raises(error):
        list(reader.finish())


@pytest.mark.parametrize("api", APIS)
def test_stream_without_an_end_was_cut(api):
    with pytest.raises(Unreadable, match="ends before the reply does"):
        stream(api, {"type": "ping"})


def test_usage_of_a_chat_stream_is_found_where_servers_put_it():
    usage = {"prompt_tokens": 7, "completion_tokens": 1}
    last = {"choices": [], "usage": usage}
    inside = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop", "usage": usage}]}
    assert stream("openai_chat", chunk(finish="stop"), last)[1].usage.prompt_tokens == 7
    assert stream("openai_chat", inside)[1].usage.prompt_tokens == 7
    timings = {"choices": [], "timings": {"prompt_n": 7, "predicted_n": 1}}
    assert stream("openai_chat", chunk(finish="stop"), timings)[1].usage.prompt_tokens == 7


def test_thinking_of_a_chat_stream_is_no_text():
    deltas, found = stream("openai_chat", chunk(reasoning="hm"), chunk(content="x"), chunk(finish="stop"))
    assert (found.reasoning, found.text) == ("hm", "x")
    assert TextChunk("hm") not in deltas


def anthropic_events(*middle):
    return (
        {
            "type": "message_start",
            "message": {"role": "assistant", "content": [], "usage": {"input_tokens": 9}},
        },
        *middle,
        {"type": "message_delta", "delta": {"stop_reason": "max_tokens"}, "usage": {"output_tokens": 4}},
        {"type": "message_stop"},
    )


def start(index, **block):
    return {"type": "content_block_start", "index": index, "content_block": block}


def grow(index, **delta):
    return {"type": "content_block_delta", "index": index, "delta": delta}


def test_blocks_of_an_anthropic_stream_are_joined():
    citation = {"cited_text": "x"}
    _, found = stream(
        "anthropic",
        *anthropic_events(
            start(0, type="thinking", thinking="", signature=""),
            grow(0, type="thinking_delta", thinking="hm"),
            grow(0, type="signature_delta", signature="sig"),
            start(1, type="text", text=""),
            grow(1, type="text_delta", text="a"),
            grow(1, type="citations_delta", citation=citation),
            start(2, type="tool_use", id="t", name="ls", input={}),
            grow(2, type="input_json_delta", partial_json='{"p":'),
            grow(2, type="input_json_delta", partial_json=" 1}"),
        ),
    )
    assert found.items == [
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": "sig"},
                {"type": "text", "text": "a", "citations": [citation]},
                {"type": "tool_use", "id": "t", "name": "ls", "input": {"p": 1}},
            ],
        }
    ]
    assert found.usage == CanonicalUsage(input_tokens=9, output_tokens=4)
    assert found.raw_usage == {"input_tokens": 9, "output_tokens": 4}


def test_arguments_that_the_cap_cut_are_kept_as_text():
    call = start(0, type="tool_use", id="t", name="ls", input={})
    _, found = stream(
        "anthropic", *anthropic_events(call, grow(0, type="input_json_delta", partial_json='{"p'))
    )
    assert (found.calls[0].arguments, found.finish) == ('{"p', Finish.LENGTH)


def test_block_that_never_started_is_unreadable():
    with pytest.raises(Unreadable, match="did not start"):
        stream("anthropic", *anthropic_events(grow(0, type="text_delta", text="x")))


def test_response_whose_last_event_repeats_nothing_is_put_together():
    message = {"type": "message", "role": "assistant", "content": []}
    call = {"type": "function_call", "call_id": "c", "name": "ls", "arguments": ""}
    deltas, found = stream(
        "openai_responses",
        {"type": "response.output_item.added", "output_index": 0, "item": message},
        {"type": "response.output_text.delta", "output_index": 0, "delta": "x"},
        {"type": "response.output_item.added", "output_index": 1, "item": call},
        {"type": "response.function_call_arguments.delta", "output_index": 1, "delta": "{}"},
        {"type": "response.output_item.done", "output_index": 1, "item": {**call, "arguments": "{}"}},
        {"type": "response.completed", "response": {"status": "completed", "output": []}},
    )
    assert (found.text, found.calls[0].arguments, found.finish) == ("x", "{}", Finish.CALLS)
    assert deltas == [TextChunk("x"), CallChunk(0, "c", "ls"), CallChunk(0, arguments="{}")]


def test_text_of_an_item_that_was_not_announced_is_a_message():
    deltas, found = stream(
        "openai_responses",
        {"type": "response.output_text.delta", "output_index": 0, "delta": "x"},
        {"type": "response.completed", "response": {"status": "completed"}},
    )
    assert (found.text, deltas) == ("x", [TextChunk("x")])


ERRORS = {
    "OpenAI": ({"error": {"message": "m", "type": "server_error", "code": None}}, 500),
    "OpenRouter": ({"error": {"code": 502, "message": "m"}}, 502),
    "OpenRouter in a choice": ({"choices": [{"error": {"code": 429, "message": "m"}}]}, 429),
    "a text": ({"error": "overloaded"}, 500),
    "a number as text": ({"error": {"code": "400"}}, 400),
    "Anthropic": ({"type": "error", "error": {"type": "overloaded_error"}}, 529),
    "Anthropic, key": ({"type": "error", "error": {"type": "authentication_error"}}, 401),
    "Responses": ({"type": "error", "code": "rate_limit_exceeded", "message": "m"}, 429),
    "failed response": ({"type": "response.failed", "response": {"error": {"code": "server_error"}}}, 500),
    "failed without a reason": ({"status": "failed", "output": []}, 500),
    "MiniMax": ({"choices": None, "base_resp": {"status_code": 1039, "status_msg": "m"}}, 500),
}


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize(("body", "status"), ERRORS.values(), ids=ERRORS)
def test_error_in_place_of_a_reply_is_found(api, body, status):
    with pytest.raises(ReplyError) as caught:
        reply(api, body)
    assert stated_status(caught.value.error) == status
    with pytest.raises(ReplyError):
        stream(api, body)


@pytest.mark.parametrize(
    "body",
    [{"error": None}, {"error": {}}, {"base_resp": {"status_code": 0}}, {"response": {"error": None}}, {}],
)
def test_reply_that_mentions_no_error_has_none(body):
    assert find_error(body) is None


def test_words_before_an_error_in_the_same_chunk_are_not_lost():
    reader = StreamReader(APIS["openai_chat"])
    deltas = reader.feed(b'data: {"choices":[{"delta":{"content":"x"}}]}\n\ndata: {"error":{"code":500}}\n\n')
    assert next(deltas) == TextChunk("x")
    with pytest.raises(ReplyError):
        next(deltas)
    assert (reader.partial().text, reader.partial().finish) == ("x", Finish.CUT)
