"""A key goes to its own provider, and nowhere else: no redirect, no neighbour, no log."""

import asyncio
import logging
from itertools import cycle, islice

import pytest

from midfold.errors import ProviderAuthError, ProviderError
from midfold.providers import ApiKey, Model
from midfold.providers.client import open_transport
from midfold.providers.summarizers import ModelRef, ModelSummarizer
from midfold.summaries import SummaryRequest
from midfold.testing.upstream import (
    HANG_UP,
    NEVER,
    RESET,
    ApiError,
    DeliveryFault,
    Ending,
    HttpStatus,
    Raw,
    Reply,
    Unreachable,
    Upstream,
    redirect,
)
from midfold.wire.apis import StreamCut

KEY = "sk-canary-6f1d2c3b4a5968778695a4b3c2d1e0f1"
CREDENTIALS = ("authorization", "x-api-key", "api-key", "x-goog-api-key", "cookie", "proxy-authorization")


async def fail(url: str, api: str, retries, *, streams: bool) -> tuple[ProviderError, list[object]]:
    async with Model.open("scripted", base_url=url, api=api, key=KEY, retries=retries) as model:
        events: list[object] = []
        try:
            if streams:
                async for event in model.stream("hello"):
                    events.append(event)  # noqa: PERF401 - also those before an error count
            else:
                await model.complete("hello")
        except ProviderError as error:
            return error, events
    raise AssertionError("it did not fail")


@pytest.mark.parametrize("streams", [False, True], ids=["plain", "stream"])
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirect_is_an_error_and_the_key_stays(api, status, streams, waits):
    with Upstream() as other, Upstream(redirect(f"{other.url}/v1/steal?key={KEY}", status)) as up:
        error, _ = asyncio.run(fail(up.url, api, waits.retries, streams=streams))
        assert other.requests == []
        assert len(up.requests) == 1
    assert error.status == status
    assert "which is not followed" in str(error)
    assert KEY not in str(error)


def test_each_upstream_sees_its_own_key_alone():
    async def route(urls: list[str]) -> None:
        transport = open_transport()
        models = [
            Model.open("m", base_url=url, key=f"sk-own-{number}", api=api, transport=transport)
            for number, url in enumerate(urls)
            for api in ("openai_chat", "anthropic")
        ]
        for start in range(0, 1_000, 50):
            await asyncio.gather(
                *(models[n * 7 % len(models)].complete("hello") for n in range(start, start + 50))
            )
        await transport.aclose()

    with Upstream(Reply("x", headers={"Set-Cookie": "session=1"})) as one, Upstream(Reply("y")) as two:
        asyncio.run(route([one.url, two.url]))
        assert len(one.requests) + len(two.requests) == 1_000
        for number, up in enumerate((one, two)):
            sent = {(name, r.headers[name]) for r in up.requests for name in CREDENTIALS if name in r.headers}
            assert sent == {("authorization", f"Bearer sk-own-{number}"), ("x-api-key", f"sk-own-{number}")}


def test_model_that_stands_in_for_another_is_sent_its_own_key():
    async def fall_back(chosen: str, main: str) -> None:
        models = [
            ModelRef("local/a", chosen, ApiKey("sk-own-a")),
            ModelRef("local/b", main, ApiKey("sk-own-b")),
        ]
        async with ModelSummarizer(models[0], main=models[1]) as summarize:
            assert await summarize(SummaryRequest("Write notes.", 500)) == "notes"

    with Upstream(HttpStatus(401)) as chosen, Upstream(Reply("notes")) as main:
        asyncio.run(fall_back(chosen.url, main.url))
        assert [request.headers["authorization"] for request in chosen.requests] == ["Bearer sk-own-a"]
        assert [request.headers["authorization"] for request in main.requests] == ["Bearer sk-own-b"]


def test_only_expected_headers_are_sent(api):
    async def run(url: str) -> None:
        async with Model.open("m", base_url=url, key=KEY, api=api) as model:
            await model.complete("hello")

    with Upstream() as up:
        asyncio.run(run(up.url))
        sent = set(up.requests[0].headers)
    expected = {"host", "user-agent", "content-type", "content-length", "accept", "accept-encoding"}
    own = {"x-api-key", "anthropic-version"} if api == "anthropic" else {"authorization"}
    assert sent == expected | own


ECHOES = {
    "401": HttpStatus(
        401, {"error": {"message": f"Incorrect API key provided: {KEY}.", "type": "invalid_request_error"}}
    ),
    "400": HttpStatus(400, f"bad header: Bearer {KEY}"),
    "500": HttpStatus(500, f"Traceback: headers={{'x-api-key': '{KEY}'}}"),
    "429": HttpStatus(429, {"error": {"message": f"{KEY} is over its limit"}}),
    "200 with an error": Reply(error=ApiError(f"no such key {KEY}", "authentication_error")),
    "words and an error": Reply("some words", error=ApiError(f"no such key {KEY}", "authentication_error")),
    "no JSON": HttpStatus(200, f"<{KEY}>"),
    "not HTTP": Raw(f"{KEY}\r\n\r\n".encode()),
    "bad header": Raw(f"HTTP/1.1 200 OK\r\n{KEY}\r\n\r\n".encode()),
    "bad chunk": Raw(f"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{KEY}\r\n".encode()),
    "redirect": redirect(f"https://elsewhere.example/{KEY}"),
    "cut": Reply(KEY, fault=DeliveryFault(cut_at=30)),
    "reset": RESET,
    "hang up": HANG_UP,
}


@pytest.mark.parametrize("streams", [False, True], ids=["plain", "stream"])
@pytest.mark.parametrize("answer", ECHOES.values(), ids=ECHOES)
def test_key_that_is_echoed_is_in_no_error_and_no_log(api, answer, streams, waits, every_text, caplog):
    caplog.set_level(logging.DEBUG)
    with Upstream(answer) as up:
        error, events = asyncio.run(fail(up.url, api, waits.retries, streams=streams))
    assert KEY not in every_text(error)
    assert KEY.encode() not in error.body
    assert KEY not in caplog.text
    assert KEY not in repr([event for event in events if not isinstance(event, StreamCut)])


async def fail_often(url: str, retries, times: int) -> list[ProviderError]:
    """Fail so many times, by turns plainly and as a stream, in one API after the other."""
    apis = cycle(("openai_chat", "openai_responses", "anthropic"))
    ways = ((next(apis), number % 2 == 0) for number in range(times))
    return [(await fail(url, api, retries, streams=streams))[0] for api, streams in ways]


def test_five_hundred_failures_show_no_key(waits, every_text, every_local, caplog, capfd):
    caplog.set_level(logging.DEBUG)
    waits.max_calls = 1
    with Upstream(list(islice(cycle(ECHOES.values()), 500))) as up:
        errors = asyncio.run(fail_often(up.url, waits.retries, 500))
        assert len(up.requests) == 500
    assert all(KEY not in every_text(error) + every_local(error) for error in errors)
    assert KEY not in caplog.text + "".join(capfd.readouterr())


SILENT = {
    "before the headers": NEVER,
    "in the body": Reply("some words", fault=DeliveryFault(cut_at=20, ending=Ending.STALL)),
}


@pytest.mark.parametrize("streams", [False, True], ids=["plain", "stream"])
@pytest.mark.parametrize("answer", SILENT.values(), ids=SILENT)
def test_call_that_is_cancelled_has_no_key_in_its_frames(api, answer, streams, waits, every_local):
    async def cancel(url: str) -> None:
        async with asyncio.timeout(0.05):
            await fail(url, api, waits.retries, streams=streams)

    with Upstream(answer) as up, pytest.raises(TimeoutError) as caught:
        asyncio.run(cancel(up.url))
    assert KEY not in every_local(caught.value)


def test_cancelled_connecting_has_no_key_in_its_frames(waits, every_local):
    async def cancel(url: str) -> None:
        async with asyncio.timeout(0.05):
            await fail(url, "anthropic", waits.retries, streams=False)

    with Unreachable() as nowhere, pytest.raises(TimeoutError) as caught:
        asyncio.run(cancel(nowhere.url))
    assert "SecretHeaders(" in every_local(caught.value)
    assert KEY not in every_local(caught.value)


def test_model_in_the_wrong_loop_has_no_key_in_its_frames(every_local):
    with Upstream() as up, asyncio.Runner() as first, asyncio.Runner() as second:
        model = Model.open("scripted", base_url=up.url, key=ApiKey(KEY))
        first.run(model.complete("hello"))
        with pytest.raises(RuntimeError, match="another event loop") as caught:
            second.run(model.complete("hello"))
        first.run(model.aclose())
    assert KEY not in every_local(caught.value)


def test_refused_key_is_an_error_of_its_own(api, waits):
    with Upstream(ECHOES["401"]) as up:
        error, _ = asyncio.run(fail(up.url, api, waits.retries, streams=False))
        assert len(up.requests) == 1
    assert isinstance(error, ProviderAuthError)
    assert "***" in str(error)
