"""T9, T10, T24: a key goes to its own provider, and nowhere else: no redirect, no neighbour, no log."""

import asyncio
import logging

import pytest

from midfold.errors import ProviderAuthError, ProviderError
from midfold.providers import Model
from midfold.providers.model import open_transport
from midfold.testing.upstream import HANG_UP, RESET, ApiError, Fault, Raw, Reply, Status, Upstream, redirect
from midfold.wire.calls import Cut

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
def test_t9_redirect_is_an_error_and_the_key_stays(api, status, streams, waits):
    with Upstream() as other, Upstream(redirect(f"{other.url}/v1/steal?key={KEY}", status)) as up:
        error, _ = asyncio.run(fail(up.url, api, waits.retries, streams=streams))
        assert other.requests == []
        assert len(up.requests) == 1
    assert error.status == status
    assert "which is not followed" in str(error)
    assert KEY not in str(error)


def test_t10_each_upstream_sees_its_own_key_alone():
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


def test_t10_only_expected_headers_are_sent(api):
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
    "401": Status(
        401, {"error": {"message": f"Incorrect API key provided: {KEY}.", "type": "invalid_request_error"}}
    ),
    "400": Status(400, f"bad header: Bearer {KEY}"),
    "500": Status(500, f"Traceback: headers={{'x-api-key': '{KEY}'}}"),
    "429": Status(429, {"error": {"message": f"{KEY} is over its limit"}}),
    "200 with an error": Reply(error=ApiError(f"no such key {KEY}", "authentication_error")),
    "words and an error": Reply("some words", error=ApiError(f"no such key {KEY}", "authentication_error")),
    "no JSON": Status(200, f"<{KEY}>"),
    "not HTTP": Raw(f"{KEY}\r\n\r\n".encode()),
    "bad header": Raw(f"HTTP/1.1 200 OK\r\n{KEY}\r\n\r\n".encode()),
    "bad chunk": Raw(f"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{KEY}\r\n".encode()),
    "redirect": redirect(f"https://elsewhere.example/{KEY}"),
    "cut": Reply(KEY, fault=Fault(cut_at=30)),
    "reset": RESET,
    "hang up": HANG_UP,
}


@pytest.mark.parametrize("streams", [False, True], ids=["plain", "stream"])
@pytest.mark.parametrize("answer", ECHOES.values(), ids=ECHOES)
def test_t24_key_that_is_echoed_is_in_no_error_and_no_log(api, answer, streams, waits, every_text, caplog):
    caplog.set_level(logging.DEBUG)
    with Upstream(answer) as up:
        error, events = asyncio.run(fail(up.url, api, waits.retries, streams=streams))
    assert KEY not in every_text(error)
    assert KEY.encode() not in error.body
    assert KEY not in caplog.text
    assert KEY not in repr([event for event in events if not isinstance(event, Cut)])


def test_refused_key_is_an_error_of_its_own(api, waits):
    with Upstream(ECHOES["401"]) as up:
        error, _ = asyncio.run(fail(up.url, api, waits.retries, streams=False))
        assert len(up.requests) == 1
    assert isinstance(error, ProviderAuthError)
    assert "***" in str(error)
