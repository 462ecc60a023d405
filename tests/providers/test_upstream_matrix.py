"""Every fault of an upstream, in every API, streamed and plain: a typed error or the right answer."""

import asyncio
import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from midfold.errors import (
    ContextOverflow,
    OutputCapTooLarge,
    ProviderAuthError,
    ProviderError,
    ProviderUnavailable,
    RateLimited,
)
from midfold.messages import ToolCall
from midfold.providers import Model, Timeouts
from midfold.providers.connection import DEFAULT_TIMEOUTS
from midfold.providers.endpoint import find_endpoint
from midfold.providers.http import Transport
from midfold.testing.upstream import (
    HANG_UP,
    NEVER,
    RESET,
    Answer,
    ApiError,
    DeliveryFault,
    Ending,
    Framing,
    HttpStatus,
    Raw,
    Reply,
    Unreachable,
    Upstream,
    overflow,
    redirect,
)
from midfold.wire.apis import Completion, Finish, StreamCut, StreamDone, StreamEvent, TextChunk

WORDS = "Grüße, 世界: all 12 tests pass."
CALLS = (ToolCall("call_1", "run_tests", '{"path":"tests"}'), ToolCall("call_2", "list_files", "{}"))
RIGHT = Reply(WORDS, CALLS)
IMPATIENT = Timeouts(headers=0.1, idle=0.1)
KEY = "sk-test-1234567890"
JSON = {"Content-Type": "application/json"}


@dataclass(frozen=True)
class Heard:
    """What a caller got."""

    completion: Completion | None
    events: Sequence[StreamEvent]
    error: ProviderError | None


async def ask(url, api, *, streams, waits, timeouts=DEFAULT_TIMEOUTS) -> Heard:
    events: list[StreamEvent] = []
    options = {"base_url": url, "api": api, "key": KEY, "retries": waits.retries, "timeouts": timeouts}
    async with Model.open("scripted", **options) as model:
        try:
            if not streams:
                return Heard(await model.complete("Run the tests."), (), None)
            async for event in model.stream("Run the tests."):
                events.append(event)  # noqa: PERF401 - also those before an error count
        except ProviderError as error:
            return Heard(None, events, error)
    return Heard(events[-1].completion, events, None)


def said(events: Sequence[StreamEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextChunk))


def assert_right(heard: Heard) -> None:
    assert heard.error is None, heard.error
    assert heard.completion.text == WORDS
    read = [(call.id, call.name, call.parse_arguments()) for call in heard.completion.calls]
    assert read == [(call.id, call.name, call.parse_arguments()) for call in CALLS]
    assert heard.completion.finish is Finish.CALLS
    assert heard.completion.usage.prompt_tokens > 0
    assert heard.completion.raw_usage is not None


def http_date(seconds: float) -> str:
    return format_datetime(datetime.now(UTC) + timedelta(seconds=seconds), usegmt=True)


PASSING = {
    "500": HttpStatus(500),
    "502 with a page of HTML": HttpStatus(502, "<html>Bad gateway</html>"),
    "503": HttpStatus(503),
    "529": HttpStatus(529),
    "429": HttpStatus(429),
    "reset": RESET,
    "hang up": HANG_UP,
    "garbage": Raw(b"\x16\x03\x01\x02garbage\r\n\r\n"),
    "truncated JSON": HttpStatus(200, '{"id": "x", "output": [{"ty', JSON),
    "200 that is no reply": HttpStatus(200, "[1, 2]", JSON),
    "200 with an error": Reply(error=ApiError()),
    "200 without a body": HttpStatus(200, ""),
    "reset in the headers": Raw(b"HTTP/1.1 200 OK\r\nContent-", fault=DeliveryFault(ending=Ending.RESET)),
}


@pytest.mark.parametrize("streams", [False, True], ids=["plain", "stream"])
@pytest.mark.parametrize("fault", PASSING.values(), ids=PASSING)
def test_failure_that_may_pass_is_asked_again_four_calls_in_all(api, fault, streams, waits):
    with Upstream(fault) as up:
        heard = asyncio.run(ask(up.url, api, streams=streams, waits=waits))
        assert isinstance(heard.error, (ProviderUnavailable, RateLimited)), heard
        assert len(up.requests) == 4
    assert len(waits.seconds) == 3
    assert not heard.events


@pytest.mark.parametrize("streams", [False, True], ids=["plain", "stream"])
@pytest.mark.parametrize("fault", PASSING.values(), ids=PASSING)
def test_failure_that_passed_leaves_no_trace(api, fault, streams, waits):
    with Upstream([fault, RIGHT]) as up:
        assert_right(asyncio.run(ask(up.url, api, streams=streams, waits=waits)))
        assert len(up.requests) == 2


DATES = {"Retry-After": "Wed, 21 Oct 2026 07:28:40 GMT", "Date": "Wed, 21 Oct 2026 07:28:00 GMT"}
WAITED_FOR = {
    "seconds": (HttpStatus(429, headers={"Retry-After": "7"}), 7.0),
    "fractions": (HttpStatus(429, headers={"Retry-After": "1.5"}), 1.5),
    "milliseconds": (HttpStatus(429, headers={"retry-after-ms": "2500"}), 2.5),
    "date by the server's clock": (HttpStatus(429, headers=DATES), 40.0),
    "503": (HttpStatus(503, headers={"Retry-After": "7"}), 7.0),
    "inside a 200": (Reply(error=ApiError(), headers={"Retry-After": "7"}), 7.0),
}


@pytest.mark.parametrize("streams", [False, True], ids=["plain", "stream"])
@pytest.mark.parametrize(("refusal", "seconds"), WAITED_FOR.values(), ids=WAITED_FOR)
def test_provider_is_waited_for_as_long_as_it_asks(api, refusal, seconds, streams, waits):
    with Upstream([refusal, RIGHT]) as up:
        assert_right(asyncio.run(ask(up.url, api, streams=streams, waits=waits)))
    assert len(waits.seconds) == 1
    assert seconds <= waits.seconds[0] <= 1.1 * seconds


def test_date_without_the_servers_clock_is_compared_with_our_own(api, waits):
    with Upstream([HttpStatus(429, headers={"Retry-After": http_date(30)}), RIGHT]) as up:
        assert_right(asyncio.run(ask(up.url, api, streams=False, waits=waits)))
    assert waits.seconds[0] == pytest.approx(30, rel=0.1)


@pytest.mark.parametrize("streams", [False, True], ids=["plain", "stream"])
def test_provider_that_asks_for_an_hour_is_not_waited_for(api, streams, waits):
    with Upstream(HttpStatus(429, headers={"Retry-After": "3600"})) as up:
        heard = asyncio.run(ask(up.url, api, streams=streams, waits=waits))
        assert len(up.requests) == 1
    assert isinstance(heard.error, RateLimited)
    assert heard.error.retry_after == 3600
    assert waits.seconds == []


LASTING = {
    "400": (HttpStatus(400), ProviderError),
    "401": (HttpStatus(401), ProviderAuthError),
    "403": (HttpStatus(403), ProviderAuthError),
    "404": (HttpStatus(404), ProviderError),
    "413": (HttpStatus(413, "Payload Too Large"), ProviderError),
    "422": (HttpStatus(422), ProviderError),
    "301": (redirect("https://elsewhere.example/v1", 301), ProviderError),
    "307": (redirect("https://elsewhere.example/v1", 307), ProviderError),
    "prompt too long": (overflow("openai", window_tokens=8192, input_tokens=9000), ContextOverflow),
    "prompt too long, as a 500": (
        HttpStatus(
            500, {"error": {"message": "the request exceeds the available context size (4096 tokens)"}}
        ),
        ProviderError,
    ),
    "output cap": (
        overflow("openai", window_tokens=8192, input_tokens=8000, output_tokens=4000),
        OutputCapTooLarge,
    ),
}


@pytest.mark.parametrize("streams", [False, True], ids=["plain", "stream"])
@pytest.mark.parametrize(("answer", "kind"), LASTING.values(), ids=LASTING)
def test_failure_that_lasts_is_never_asked_again(api, answer: Answer, kind, streams, waits):
    with Upstream(answer) as up:
        heard = asyncio.run(ask(up.url, api, streams=streams, waits=waits))
        assert len(up.requests) == 1
    assert isinstance(heard.error, kind), heard.error
    assert heard.error.status == answer.status
    assert waits.seconds == []


def test_overflow_carries_the_numbers_that_were_stated(waits):
    with Upstream(overflow("openai", window_tokens=8192, input_tokens=9000)) as up:
        error = asyncio.run(ask(up.url, "openai_chat", streams=False, waits=waits)).error
    assert isinstance(error, ContextOverflow)
    assert (error.limit, error.provider, error.model) == (8192, "local", "scripted")


SLOW = {
    "headers": NEVER,
    "body": Reply(WORDS, CALLS, fault=DeliveryFault(cut_at=8, ending=Ending.STALL)),
}


@pytest.mark.parametrize("streams", [False, True], ids=["plain", "stream"])
@pytest.mark.parametrize("answer", SLOW.values(), ids=SLOW)
def test_provider_that_has_the_request_and_is_silent_is_asked_once(api, answer, streams, waits):
    with Upstream(answer) as up:
        heard = asyncio.run(ask(up.url, api, streams=streams, waits=waits, timeouts=IMPATIENT))
        assert len(up.requests) == 1
    assert isinstance(heard.error, ProviderUnavailable)
    assert "0.1 s" in str(heard.error)


@pytest.mark.parametrize("streams", [False, True], ids=["plain", "stream"])
def test_connection_that_nobody_accepts_is_tried_again(api, streams, waits):
    with Unreachable() as nowhere:
        timeouts = Timeouts(connect=0.05)
        heard = asyncio.run(ask(nowhere.url, api, streams=streams, waits=waits, timeouts=timeouts))
    assert isinstance(heard.error, ProviderUnavailable)
    assert "no connection within 0.05 s" in str(heard.error)
    assert len(waits.seconds) == 3


@pytest.mark.parametrize("streams", [False, True], ids=["plain", "stream"])
def test_refused_connection_is_tried_again(api, streams, waits):
    with Upstream() as up:
        pass
    heard = asyncio.run(ask(up.url, api, streams=streams, waits=waits))
    assert isinstance(heard.error, ProviderUnavailable)
    assert "cannot connect to 127.0.0.1" in str(heard.error)
    assert len(waits.seconds) == 3


HARMLESS = {
    "gzip": DeliveryFault(gzip=True),
    "byte by byte": DeliveryFault(pieces=(1,)),
    "odd pieces": DeliveryFault(pieces=(1, 2, 3, 5, 8, 13)),
    "HTTP/1.0": DeliveryFault(framing=Framing.UNTIL_CLOSE),
    "chunks": DeliveryFault(framing=Framing.CHUNKED),
    "a length": DeliveryFault(framing=Framing.LENGTH),
    "gzip byte by byte": DeliveryFault(gzip=True, pieces=(1,)),
}


@pytest.mark.parametrize("streams", [False, True], ids=["plain", "stream"])
@pytest.mark.parametrize("fault", HARMLESS.values(), ids=HARMLESS)
def test_odd_but_correct_answer_is_read(api, fault, streams, waits):
    with Upstream(Reply(WORDS, CALLS, fault=fault)) as up:
        assert_right(asyncio.run(ask(up.url, api, streams=streams, waits=waits)))
        assert len(up.requests) == 1


BROKEN = {
    "longer than it is": DeliveryFault(framing=Framing.LENGTH, length_off_by=64),
    "shorter than it is": DeliveryFault(framing=Framing.LENGTH, length_off_by=-40),
    "cut": DeliveryFault(cut_at=90),
    "cut and reset": DeliveryFault(cut_at=90, ending=Ending.RESET),
    "cut gzip": DeliveryFault(cut_at=90, gzip=True),
    "broken chunks": DeliveryFault(framing=Framing.BROKEN_CHUNKS, pieces=(40,)),
    "cut without a length": DeliveryFault(cut_at=90, framing=Framing.UNTIL_CLOSE),
}


@pytest.mark.parametrize("streams", [False, True], ids=["plain", "stream"])
@pytest.mark.parametrize("fault", BROKEN.values(), ids=BROKEN)
def test_broken_answer_is_an_error_or_whole(api, fault, streams, waits):
    with Upstream(Reply(WORDS, CALLS, fault=fault)) as up:
        heard = asyncio.run(ask(up.url, api, streams=streams, waits=waits))
        assert len(up.requests) == 4 or streams
    if streams and heard.error is None:  # all its events had come before it broke
        assert heard.completion.text == WORDS
        assert len(heard.completion.calls) == len(CALLS)
    else:
        assert isinstance(heard.error, ProviderUnavailable)
        assert not any(isinstance(event, StreamDone) for event in heard.events)


def test_nothing_is_asked_again_once_a_word_has_come(api, waits):
    with Upstream(Reply(WORDS, error=ApiError())) as up:
        heard = asyncio.run(ask(up.url, api, streams=True, waits=waits))
        assert len(up.requests) == 1
    assert isinstance(heard.error, ProviderUnavailable)
    assert isinstance(heard.events[-1], StreamCut)
    assert heard.events[-1].partial.text == said(heard.events) == WORDS
    assert heard.events[-1].partial.finish is Finish.CUT


def test_overflow_reported_inside_a_stream_is_an_overflow(api, waits):
    message = (
        "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens."
    )
    error = ApiError(message, "invalid_request_error", "context_length_exceeded")
    with Upstream(Reply(error=error)) as up:
        heard = asyncio.run(ask(up.url, api, streams=True, waits=waits))
        assert len(up.requests) == 1
    assert isinstance(heard.error, ContextOverflow)
    assert heard.error.limit == 8192


def test_stream_cut_anywhere_is_marked_or_whole(api, waits):
    waits.max_calls = 1
    length = len(body_of(api))
    places = random.Random(5).sample(range(length), 34)
    with Upstream([Reply(WORDS, CALLS, fault=DeliveryFault(cut_at=place)) for place in places]) as up:
        for place in places:
            assert_marked_or_whole(asyncio.run(ask(up.url, api, streams=True, waits=waits)), place)


def body_of(api: str) -> bytes:
    """The bytes of the whole stream, as they come without a fault."""

    async def read(url: str) -> bytes:
        endpoint = find_endpoint("scripted", base_url=url, api=api)
        transport = Transport()
        async with transport.post(endpoint.url, endpoint.headers, b'{"stream": true}') as answer:
            body = await answer.read()
        await transport.aclose()
        return body

    with Upstream(RIGHT) as up:
        return asyncio.run(read(up.url))


def assert_marked_or_whole(heard: Heard, place: int) -> None:
    if heard.error is None:
        assert heard.completion.text == WORDS
        assert [call.name for call in heard.completion.calls] == [call.name for call in CALLS]
        return
    assert not any(isinstance(event, StreamDone) for event in heard.events), place
    assert WORDS.startswith(said(heard.events))
    if heard.events:
        assert isinstance(heard.events[-1], StreamCut)
        assert heard.events[-1].partial.text == said(heard.events)
