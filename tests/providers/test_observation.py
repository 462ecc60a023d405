"""What is read on the side is what a model client reads of the same bytes, and nothing can break it."""

import asyncio
import gzip
import json
import random

import pytest
import zstandard
from anthropic.types import Message as AnthropicMessage
from anthropic.types import MessageParam
from openai.types.chat import ChatCompletionAssistantMessageParam
from openai.types.responses import ResponseInputItemParam
from pydantic import TypeAdapter

from midfold.messages import ToolCall
from midfold.providers import Model, Relay, RelayBroken, RelayRequest
from midfold.providers.observation import Observation, Observer
from midfold.testing.upstream import ApiError, DeliveryFault, FinishReason, Framing, Reply, Upstream
from midfold.tokens import CanonicalUsage
from midfold.wire.apis import Finish as ReplyFinish
from midfold.wire.apis import StreamDone, StreamReader, find_api, get_api, read_reply
from midfold.wire.failures import FailureKind

WORDS = "Grüße, 世界 🙂: all 12 tests pass."
CALLS = (ToolCall("call_1", "run_tests", '{"path":"tests"}'), ToolCall("call_2", "list_files", "{}"))
REPLY = Reply(WORDS, CALLS, reasoning="Let me see.")
PATHS = {"openai_chat": "/chat/completions", "openai_responses": "/responses", "anthropic": "/messages"}
PARAMS = {
    "openai_chat": ChatCompletionAssistantMessageParam,
    "openai_responses": ResponseInputItemParam,
    "anthropic": MessageParam,
}


def body_for(api: str, *, stream: bool) -> bytes:
    said = (
        {"input": "Go."} if api == "openai_responses" else {"messages": [{"role": "user", "content": "Go."}]}
    )
    options = {"stream_options": {"include_usage": True}} if api == "openai_chat" and stream else {}
    return json.dumps({"model": "scripted", "max_tokens": 50, "stream": stream, **said, **options}).encode()


async def relay(url: str, api: str, *, stream: bool) -> tuple[bytes, Observation]:
    request = RelayRequest("POST", PATHS[api], body=body_for(api, stream=stream))
    async with Relay.open("local", base_url=url, api=api) as way, way.send(request) as answer:
        body = b"".join([chunk async for chunk in answer.chunks()])
        return body, answer.observation()


def record(api: str, *, stream: bool, reply: Reply = REPLY) -> bytes:
    """Return the bytes of an answer."""
    with Upstream(reply) as up:
        return asyncio.run(relay(up.url, api, stream=stream))[0]


def observe(
    api: str | None, data: bytes, *, step: int = 0, encoding: str = "", broken: str | None = None, **caps
):
    observer = Observer(get_api(api) if api else None, encoding=encoding, **caps)
    step = step or max(1, len(data))
    for start in range(0, len(data), step):
        observer.feed(data[start : start + step])
    return observer.finish(broken=broken)


async def ask(url: str, api: str, *, stream: bool):
    async with Model.open("scripted", base_url=url, api=api) as model:
        if not stream:
            return await model.complete("Go.", max_output=50)
        *_, last = [event async for event in model.stream("Go.", max_output=50)]
        assert isinstance(last, StreamDone)
        return last.completion


@pytest.mark.parametrize("packed", [False, True], ids=["identity", "gzip"])
@pytest.mark.parametrize("stream", [False, True], ids=["plain", "stream"])
def test_observation_is_what_a_model_client_reads(api, stream, packed):
    reply = Reply(WORDS, CALLS, reasoning="Let me see.", fault=DeliveryFault(gzip=packed, pieces=(7, 1, 40)))
    with Upstream(reply) as up:
        expected = asyncio.run(ask(up.url, api, stream=stream))
        _, seen = asyncio.run(relay(up.url, api, stream=stream))
    assert (seen.complete, seen.failure, seen.reason) == (True, None, "")
    found = seen.completion
    assert (found.text, found.reasoning, found.finish, found.finish_reason, found.model) == (
        expected.text,
        expected.reasoning,
        expected.finish,
        expected.finish_reason,
        expected.model,
    )
    spelled = [(call.id, call.name, call.parse_arguments()) for call in found.calls]
    assert spelled == [(call.id, call.name, call.parse_arguments()) for call in CALLS]
    assert seen.usage == found.usage == expected.usage
    assert seen.usage.output_tokens > 0


def test_observation_is_what_reading_the_same_bytes_gives(api):
    plain, stream = record(api, stream=False), record(api, stream=True)
    reader = StreamReader(get_api(api))
    assert list(reader.feed(stream)) + list(reader.finish())
    for data, expected in ((plain, read_reply(get_api(api), plain)), (stream, reader.completion())):
        found = observe(api, data).completion
        assert found == expected
        assert (found.items, found.raw_usage) == (expected.items, expected.raw_usage)


@pytest.mark.parametrize("stream", [False, True], ids=["plain", "stream"])
def test_collected_turn_is_one_that_the_official_client_would_send_again(api, stream):
    seen = observe(api, record(api, stream=stream))
    checker = TypeAdapter(PARAMS[api])
    for item in seen.completion.items:
        checker.validate_python(item)
    if api == "anthropic":
        AnthropicMessage.model_validate(
            {
                "id": "m",
                "type": "message",
                "model": "m",
                "usage": seen.completion.raw_usage,
                "stop_reason": seen.completion.finish_reason,
                "stop_sequence": None,
                **seen.completion.items[0],
            }
        )


def test_answer_may_be_split_anywhere(api):
    for stream in (True, False):
        data = record(api, stream=stream)
        whole = observe(api, data)
        assert whole.complete
        for step in (1, 2, 3, 5, 17, 64, 1000):
            assert observe(api, data, step=step) == whole
        packed = gzip.compress(data)
        assert observe(api, packed, step=3, encoding="gzip") == whole
        assert observe(api, zstandard.compress(data), step=3, encoding="zstd") == whole


def test_cut_anywhere_is_never_taken_for_complete(api):
    data = record(api, stream=True)
    last = data.rindex(b"data: ") + len(b"data: ")
    lengths = [0]
    for cut in range(0, last):
        seen = observe(api, data[:cut], broken="the answer broke off")
        assert not seen.complete
        assert seen.reason
        if seen.completion is not None:
            assert seen.completion.finish is ReplyFinish.CUT
            assert WORDS.startswith(seen.completion.text)
            assert seen.completion.text or seen.completion.reasoning
            lengths.append(len(seen.completion.text))
    assert lengths == sorted(lengths)
    assert lengths[-1] == len(WORDS)


@pytest.mark.parametrize("packed", [False, True], ids=["identity", "gzip"])
def test_stream_that_is_cut_on_its_way_is_observed_as_far_as_it_came(api, packed):
    async def read(url: str) -> tuple[bytes, bool, Observation]:
        received = bytearray()
        request = RelayRequest("POST", PATHS[api], body=body_for(api, stream=True))
        async with Relay.open("local", base_url=url, api=api) as way, way.send(request) as answer:
            try:
                async for chunk in answer.chunks():
                    received += chunk
            except RelayBroken:
                return bytes(received), True, answer.observation()
            return bytes(received), False, answer.observation()

    whole = Reply(WORDS, fault=DeliveryFault(gzip=packed))
    with Upstream(whole) as up:
        data, _, complete = asyncio.run(read(up.url))
    assert complete.complete
    for cut_at in random.Random(5).sample(range(1, len(data) - 40), 6):
        with Upstream(Reply(WORDS, fault=DeliveryFault(gzip=packed, cut_at=cut_at))) as up:
            received, is_broken, seen = asyncio.run(read(up.url))
        assert received == data[:cut_at]
        assert is_broken
        assert not seen.complete
        assert seen.completion is None or seen.completion.finish is ReplyFinish.CUT


def test_stream_that_ends_early_in_good_order_is_not_complete(api):
    fault = DeliveryFault(cut_at=250, framing=Framing.UNTIL_CLOSE)
    with Upstream(Reply(WORDS, fault=fault)) as up:
        body, seen = asyncio.run(relay(up.url, api, stream=True))
    assert len(body) == 250
    assert (seen.complete, seen.failure) == (False, None)
    assert seen.reason


def test_cut_after_the_last_event_is_complete(api):
    data = record(api, stream=True)
    seen = observe(api, data, broken="the answer broke off")
    assert seen.complete
    assert seen.completion.text == WORDS


def test_plain_answer_that_is_cut_is_not_read(api):
    data = record(api, stream=False)
    for cut in (0, 1, len(data) // 2, len(data) - 1):
        seen = observe(api, data[:cut], broken="the answer broke off")
        assert (seen.completion, seen.complete, seen.reason) == (None, False, "the answer broke off")


def test_error_inside_a_200_is_a_failure_with_what_came_before(api):
    overloaded = ApiError("The server is overloaded.", "overloaded_error")
    plain = observe(api, record(api, stream=False, reply=Reply(error=overloaded)))
    assert (plain.completion, plain.complete) == (None, False)
    assert plain.failure.message == "The server is overloaded."
    stream = observe(api, record(api, stream=True, reply=Reply(WORDS, error=overloaded)))
    assert (stream.complete, stream.failure.message) == (False, "The server is overloaded.")
    assert stream.completion.text == WORDS
    assert stream.completion.finish is ReplyFinish.CUT


def test_answer_that_the_output_cap_cut_is_complete(api):
    seen = observe(api, record(api, stream=True, reply=Reply(WORDS, finish=FinishReason.LENGTH)))
    assert seen.complete
    assert seen.completion.finish is ReplyFinish.LENGTH


def test_usage_that_nobody_asked_for_is_none():
    def chunk(delta: dict, reason: str | None = None) -> bytes:
        event = {"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}
        return b"data: " + json.dumps(event).encode() + b"\n\n"

    seen = observe("openai_chat", chunk({"content": "hi"}) + chunk({}, "stop") + b"data: [DONE]\n\n")
    assert (seen.complete, seen.completion.text, seen.usage) == (True, "hi", None)


def test_usage_that_came_before_a_cut_is_kept():
    data = record("anthropic", stream=True)
    start = data[: data.index(b"event: content_block_start")]
    seen = observe("anthropic", start, broken="gone")
    assert seen.completion is None
    assert seen.usage.input_tokens > 0


NOT_REPLIES = {
    "HTML": b"<html>Bad gateway</html>",
    "text": b"upstream said no",
    "a list": b"[1, 2]",
    "nothing": b"",
    "half of JSON": b'{"choices": [',
    "a stream of garbage": b"data: {not json\n\n",
    "a deep nest": b'{"a":' + b"[" * 200_000,
    "noise": random.Random(3).randbytes(5_000),
    "other JSON": b'{"object": "list", "data": []}',
    "wrong types": b'{"choices": [{"message": 5}], "content": 7, "output": {"a": 1}}',
    "an event of wrong types": b'data: {"choices": 7, "type": ["x"], "response": 3}\n\n',
}


@pytest.mark.parametrize("step", [0, 1_000])
@pytest.mark.parametrize("data", NOT_REPLIES.values(), ids=NOT_REPLIES)
def test_what_is_no_reply_is_said_to_be_none(api, data, step):
    seen = observe(api, data, step=step)
    assert seen.completion is None
    assert not seen.complete
    assert seen.reason


def test_random_damage_breaks_nothing(api):
    dice = random.Random(11)
    for stream in (True, False):
        data = record(api, stream=stream)
        for _ in range(150):
            damaged = bytearray(data)
            for _ in range(dice.randint(1, 8)):
                damaged[dice.randrange(len(damaged))] = dice.randrange(256)
            assert isinstance(observe(api, bytes(damaged), step=dice.randint(1, 400)), Observation)


def test_more_than_the_cap_is_not_read_and_said_so(api):
    for stream in (True, False):
        data = record(api, stream=stream)
        seen = observe(api, data, step=50, max_reply_bytes=300, max_stream_bytes=300)
        assert "larger than the 300 bytes" in seen.reason
        assert not seen.complete


def test_bomb_is_not_read_and_said_so():
    seen = observe("openai_chat", gzip.compress(b"{" + b" " * 50_000_000), step=5_000, encoding="gzip")
    assert "grows more than" in seen.reason


def test_unknown_encoding_is_not_read_and_said_so():
    seen = observe("openai_chat", b"xyz", encoding="aws-chunked")
    assert (seen.completion, seen.complete) == (None, False)
    assert "'aws-chunked' is not read" in seen.reason


def test_other_paths_have_nothing_to_collect():
    for path in (
        "/models",
        "/messages/count_tokens",
        "/responses/resp_1",
        "/responses/resp_1/cancel",
        "/embeddings",
    ):
        assert find_api(path) is None
    assert observe(None, b'{"data": []}') == Observation(
        complete=True, reason="this path answers with no completion"
    )


@pytest.mark.parametrize(("path", "name"), [(path, api) for api, path in PATHS.items()])
def test_api_is_found_by_the_path(path, name):
    for spelled in (path, f"/v1{path}", f"{path}/", f"{path}?beta=true&x=/models"):
        assert find_api(spelled).name == name


def test_failing_status_is_classified_unless_it_cannot_be_unpacked():
    body = json.dumps({"error": {"message": "prompt is too long: 9000 tokens > 8000 maximum"}}).encode()
    observer = Observer(get_api("anthropic"), 400, encoding="gzip")
    observer.feed(gzip.compress(body))
    seen = observer.finish()
    assert (seen.failure.kind, seen.failure.limit) == (FailureKind.PROMPT_TOO_LONG, 8000)
    observer = Observer(get_api("anthropic"), 400, encoding="odd")
    observer.feed(body)
    assert "is not read" in observer.finish().reason


def test_observation_is_said_once(api):
    observer = Observer(get_api(api))
    observer.feed(record(api, stream=True))
    first = observer.finish()
    observer.feed(b"data: more\n\n")
    assert observer.finish(broken="late") is first
    assert isinstance(first.usage, CanonicalUsage)
