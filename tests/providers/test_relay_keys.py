"""Whose key goes where, and that a request goes nowhere but to its upstream."""

import asyncio
import logging

import pytest

from midfold.errors import ConfigError, ProviderError
from midfold.providers import ApiKey, KeySource, Relay, RelayRequest, RequestRefused, Timeouts, open_transport
from midfold.providers.catalog import Provider
from midfold.testing.upstream import HANG_UP, NEVER, HttpStatus, Raw, Reply, Upstream, redirect

OURS = "sk-ours-6f1d2c3b4a5968778695a4b3c2d1e0f1"
THEIRS = "sk-their-0f1e2d3c4b5a69788796a5b4c3d2e1f0"
CREDENTIALS = ("authorization", "x-api-key", "api-key", "x-goog-api-key")
BROUGHT = [
    ("Authorization", f"Bearer {THEIRS}"),
    ("X-API-Key", THEIRS),
    ("api-key", THEIRS),
    ("x-goog-api-key", THEIRS),
    ("Cookie", f"session={THEIRS}"),
    ("Proxy-Authorization", f"Bearer {THEIRS}"),
]


async def pass_on(url: str, path: str, **options) -> None:
    async with (
        Relay.open("local", base_url=url, **options) as relay,
        relay.send(
            RelayRequest("POST", path, [*BROUGHT, ("anthropic-version", "2023-06-01")], b"{}")
        ) as answer,
    ):
        async for _ in answer.chunks():
            pass


def credentials_at(up: Upstream) -> dict[str, str]:
    known = (*CREDENTIALS, "cookie", "proxy-authorization")
    return {name: value for name, value in up.requests[-1].headers.items() if name in known}


FORMS = {
    "chat": ("/chat/completions", "openai_chat", {"authorization": f"Bearer {OURS}"}),
    "responses": ("/responses", "openai_chat", {"authorization": f"Bearer {OURS}"}),
    "messages": ("/messages?beta=true", "openai_chat", {"x-api-key": OURS}),
    "models of OpenAI": ("/models", "openai_chat", {"authorization": f"Bearer {OURS}"}),
    "models of Anthropic": ("/models", "anthropic", {"x-api-key": OURS}),
    "token counts": ("/messages/count_tokens", "anthropic", {"x-api-key": OURS}),
}


@pytest.mark.parametrize(("path", "api", "expected"), FORMS.values(), ids=FORMS)
def test_our_key_replaces_all_that_a_client_brought_in_the_form_of_the_api(path, api, expected):
    with Upstream() as up:
        asyncio.run(pass_on(up.url, path, api=api, key=OURS))
        assert credentials_at(up) == expected
        assert up.requests[-1].headers["anthropic-version"] == "2023-06-01"


def test_key_of_the_client_passes_in_the_headers_it_came_in():
    with Upstream() as up:
        asyncio.run(pass_on(up.url, "/messages", keys=KeySource.CLIENT))
        assert credentials_at(up) == {name.lower(): value for name, value in BROUGHT[:4]}


def test_upstream_without_a_key_gets_none():
    with Upstream() as up:
        asyncio.run(pass_on(up.url, "/chat/completions"))
        assert credentials_at(up) == {}


def test_connection_header_cannot_take_our_key_away():
    async def run(url: str) -> None:
        request = RelayRequest("POST", "/chat/completions", {"Connection": "authorization"}, b"{}")
        async with Relay.open("local", base_url=url, key=OURS) as relay, relay.send(request):
            pass

    with Upstream() as up:
        asyncio.run(run(up.url))
        assert credentials_at(up) == {"authorization": f"Bearer {OURS}"}


def test_key_of_the_client_and_one_of_ours_exclude_each_other():
    with pytest.raises(ConfigError, match="clients bring their own"):
        Relay.open("openai", key=OURS, keys=KeySource.CLIENT)


def test_provider_without_its_key_is_an_error_unless_clients_bring_theirs(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ConfigError, match="OPENAI_API_KEY"):
        Relay.open("openai")
    relay = Relay.open("openai", keys=KeySource.CLIENT)
    assert relay.endpoint.base_url == "https://api.openai.com/v1"
    assert relay.endpoint.key is None
    asyncio.run(relay.aclose())


def test_providers_key_stays_away_from_another_address(monkeypatch):
    monkeypatch.setenv("HOUSE_KEY", OURS)
    providers = {"house": Provider("house", "https://models.example/v1", key_env="HOUSE_KEY")}
    with Upstream() as up:
        relay = Relay.open("house", base_url=up.url, providers=providers)
        assert relay.endpoint.key is None
        asyncio.run(relay.aclose())


def test_two_upstreams_see_their_own_keys_alone_over_many_requests():
    async def route(urls: list[str]) -> None:
        transport = open_transport()
        relays = [
            Relay.open("local", base_url=url, key=f"sk-own-{number}", transport=transport)
            for number, url in enumerate(urls)
        ]

        async def ask(number: int) -> None:
            path = ("/chat/completions", "/messages", "/models")[number % 3]
            async with relays[number % 2].send(RelayRequest("POST", path, BROUGHT, b"{}")) as answer:
                async for _ in answer.chunks():
                    pass

        for start in range(0, 400, 50):
            await asyncio.gather(*map(ask, range(start, start + 50)))
        await transport.aclose()

    with Upstream(Reply("x", headers={"Set-Cookie": "s=1"})) as one, Upstream(Reply("y")) as two:
        asyncio.run(route([one.url, two.url]))
        assert len(one.requests) == len(two.requests) == 200
        for number, up in enumerate((one, two)):
            sent = {(name, r.headers[name]) for r in up.requests for name in CREDENTIALS if name in r.headers}
            assert sent == {("authorization", f"Bearer sk-own-{number}"), ("x-api-key", f"sk-own-{number}")}
            assert not any("cookie" in request.headers for request in up.requests)


FAILURES = {
    "redirect": redirect(f"http://127.0.0.1:1/?key={OURS}"),
    "hang up": HANG_UP,
    "nothing": NEVER,
    "garbage": Raw(f"{OURS}\r\n\r\n".encode()),
}


@pytest.mark.parametrize("keys", KeySource)
@pytest.mark.parametrize("fault", FAILURES.values(), ids=FAILURES)
def test_no_key_is_in_an_error_its_frames_or_the_log(fault, keys, every_text, every_frame, caplog):
    caplog.set_level(logging.DEBUG)
    options = {"key": OURS} if keys is KeySource.OURS else {}
    with Upstream(fault) as up, pytest.raises(ProviderError) as caught:
        asyncio.run(
            pass_on(up.url, f"/messages?key={THEIRS}", keys=keys, timeouts=Timeouts(headers=0.2), **options)
        )
    shown = every_text(caught.value) + every_frame(caught.value, __file__) + caplog.text
    assert OURS not in shown
    assert THEIRS not in shown


def test_refused_header_is_not_shown(every_text, every_frame):
    async def run() -> None:
        request = RelayRequest("POST", "/messages", {"Authorization": f"Bearer {THEIRS}\nX-Other: 1"})
        nowhere = "http://127.0.0.1:9/v1"
        async with (
            Relay.open("local", base_url=nowhere, keys=KeySource.CLIENT) as relay,
            relay.send(request),
        ):
            raise AssertionError("it went out")

    with pytest.raises(RequestRefused) as caught:
        asyncio.run(run())
    assert THEIRS not in every_text(caught.value) + every_frame(caught.value, __file__)


def test_our_key_is_not_in_what_a_failure_says():
    async def judge(url: str):
        request = RelayRequest("POST", "/chat/completions", body=b"{}")
        async with Relay.open("local", base_url=url, key=OURS) as relay, relay.send(request) as answer:
            return await answer.failure()

    with Upstream(HttpStatus(401, {"error": {"message": f"no such key {OURS}"}})) as up:
        failed = asyncio.run(judge(up.url))
    assert OURS not in str(failed.error)
    assert OURS.encode() not in failed.error.body


ESCAPES = [
    "//evil.example/x",
    "http://evil.example/x",
    "evil.example",
    "@evil.example/x",
    ":80@evil.example/",
    "",
    "/..",
    "/../admin",
    "/a/../../admin",
    "/./a",
    "/%2e%2e/admin",
    "/%2E./admin",
    "/a%2f..%2f..%2fadmin",
    "/%252e%252e/admin",
    "/%25252e%25252e/admin",
    "/..;/admin",
    "/..%5cadmin",
    "/\\evil.example",
    "/a#b",
    "/a b",
    "/a\r\nX-Injected: 1",
    "/a\nb",
    "/a\x00b",
    "/a%0d%0ab",
    "/a%00b",
    "/é",
    "/%" + "25" * 40 + "2e",
]


@pytest.mark.parametrize("path", ESCAPES)
def test_path_that_leads_elsewhere_is_refused(path):
    with Upstream() as up:
        with pytest.raises(RequestRefused):
            asyncio.run(pass_on(up.url, path))
        assert up.connections == 0


@pytest.mark.parametrize("method", ["CONNECT", "TRACE", "get", "", "GET /x", "GET\r\nX: 1", "A" * 33])
def test_method_that_no_api_has_is_refused(method):
    async def run() -> None:
        request = RelayRequest(method, "/x")
        async with Relay.open("local", base_url="http://127.0.0.1:9/v1") as relay, relay.send(request):
            raise AssertionError("it went out")

    with pytest.raises(RequestRefused, match="its method"):
        asyncio.run(run())


BAD_HEADERS = [
    ("x-a", "1\r\nX-B: 2"),
    ("x-a", "1\n2"),
    ("x-a", "1\x002"),
    ("x-a", "\x7f"),
    (b"x-a", b"\xff\xfe"),
    ("x-a", "\ud800"),
    ("x a", "1"),
    ("x-a:", "1"),
    ("", "1"),
    ("x-a\r\n", "1"),
    ("é", "1"),
]


@pytest.mark.parametrize("header", BAD_HEADERS)
def test_header_that_would_be_another_on_the_line_is_refused(header):
    async def run() -> None:
        request = RelayRequest("GET", "/x", [header])
        async with Relay.open("local", base_url="http://127.0.0.1:9/v1") as relay, relay.send(request):
            raise AssertionError("it went out")

    with pytest.raises(RequestRefused, match="a header"):
        asyncio.run(run())


def test_no_repr_shows_a_key():
    request = RelayRequest("POST", f"/x?key={THEIRS}", BROUGHT, THEIRS.encode())
    relay = Relay.open("local", base_url="http://127.0.0.1:9/v1", key=ApiKey(OURS))
    shown = repr(request) + repr(relay) + repr(relay.endpoint)
    assert OURS not in shown
    assert THEIRS not in shown
    asyncio.run(relay.aclose())
