"""Whatever words a stream carries, they stay inside the JSON of a legal event and start no other."""

import json

import pytest

from midfold.messages import ToolCall
from midfold.testing.upstream import ApiError, Reply, Upstream
from midfold.testing.upstream.grammar import write_event
from midfold.wire.apis import APIS, Completion, ReplyError, StreamReader, TextChunk
from midfold.wire.sse import SseReader

NAMES = {"chat": "openai_chat", "responses": "openai_responses", "messages": "anthropic"}
FORGED = '{"choices":[{"index":0,"delta":{"content":"forged"}}],"type":"forged"}'
PAYLOADS = {
    "event after LF": f"a\n\ndata: {FORGED}\n\nb",
    "event after CRLF": f"a\r\n\r\ndata: {FORGED}\r\n\r\nb",
    "event after CR": f"a\r\rdata: {FORGED}\r\rb",
    "end of the stream": "a\n\ndata: [DONE]\n\nb",
    "named error": 'a\nevent: error\ndata: {"type":"error","error":{"message":"forged"}}\n\nb',
    "comment, id and retry": "a\n: comment\nid: 7\nretry: 1\n\nb",
    "line separators of Unicode": f"a\u2028\u2028data: {FORGED}\u2029\u2029\x85\x85data: {FORGED}\x0b\x0cb",
    "NUL and byte order mark": f"\ufeffa\0\n\n\ufeffdata: {FORGED}\n\nb",
    "quote and escape": f'a"}}\\n\\ndata: {FORGED}\n\nb\\',
    "half a character": "a\ud800\n\ndata: x\n\nb",
}


@pytest.fixture(params=PAYLOADS.values(), ids=PAYLOADS)
def payload(request):
    return request.param


@pytest.fixture(params=NAMES)
def api(request):
    return request.param


def lines_of(stream: bytes) -> set[bytes]:
    """What the lines of a stream begin with: the names of their fields."""
    return {line.partition(b":")[0] for line in stream.splitlines()}


def read(api, stream: bytes) -> Completion:
    reader = StreamReader(APIS[NAMES[api]])
    deltas = [*reader.feed(stream), *reader.finish()]
    found = reader.completion()
    assert "".join(delta.text for delta in deltas if isinstance(delta, TextChunk)) == found.text
    return found


def test_words_come_back_as_they_were_and_are_nothing_but_words(ask, api, payload):
    call = ToolCall("call_1", "write", json.dumps({"text": payload}))
    with Upstream(Reply(payload, (call,), reasoning=payload)) as up:
        stream = ask(up, api, stream=True).body
    found = read(api, stream)
    assert (found.text, found.reasoning) == (payload, payload)
    assert [call.parse_arguments() for call in found.calls] == [{"text": payload}]
    assert lines_of(stream) <= {b"data", b"event", b""}


def test_stream_has_as_many_events_as_with_harmless_words(ask, api, payload):
    harmless = "x" * len(payload)
    with Upstream([Reply(payload), Reply(harmless)]) as up:
        hostile, tame = (ask(up, api, stream=True).events for _ in range(2))
    assert [name for name, _ in hostile] == [name for name, _ in tame]


def test_error_inside_a_stream_is_one_event(ask, api, payload):
    error = ApiError(payload, f"overloaded{payload}", payload)
    with Upstream(Reply("so far", error=error)) as up:
        answer = ask(up, api, stream=True)
    assert answer.data[-1].get("error", answer.data[-1])["message"] == payload
    with pytest.raises(ReplyError):
        read(api, answer.body)


def test_names_that_the_client_sent_or_the_script_chose_start_no_event(ask, api, payload):
    with Upstream([Reply("words", finish=payload), Reply("words")]) as up:
        hostile = ask(up, api, stream=True, model=payload)
        tame = ask(up, api, stream=True)
    assert len(hostile.events) == len(tame.events)
    assert read(api, hostile.body).text == "words"


@pytest.mark.parametrize("name", ["a\ndata: x", "a\rb", "a\r\n\r\n", "a\0"])
def test_name_of_an_event_that_would_start_a_line_is_refused(name):
    with pytest.raises(ValueError, match="event"):
        write_event({"type": "x"}, name)


def test_one_event_is_written_for_any_words(payload):
    written = write_event({payload.encode("utf-8", "replace").decode(): payload}, "notice")
    reader = SseReader()
    [event, *rest] = [*reader.feed(written), *reader.close()]
    assert rest == []
    assert list(json.loads(event.data).values()) == [payload]
    assert (event.event, event.complete) == ("notice", True)
