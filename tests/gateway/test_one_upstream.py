"""A client names no upstream: sixty ways to try it, of which none reaches another address."""

import json
import socket
from urllib.parse import unquote

import pytest

from midfold.keys import KeyRing
from midfold.testing import Reply, Upstream

PATH = "/v1/chat/completions"
BODY = {"model": "gpt-5-mini", "messages": [{"role": "user", "content": "hello"}]}
FIELDS = (
    *("api_base", "base_url", "baseUrl", "api_url", "endpoint", "url", "host", "upstream", "proxy", "server"),
    *("azure_endpoint", "custom_llm_provider", "model_list", "fallbacks", "litellm_params", "webhook_url"),
)
"""of a body; other gateways heed some of them"""
HEADERS = (
    *("x-forwarded-host", "x-forwarded-server", "x-original-host", "x-original-url", "x-rewrite-url"),
    *("x-midfold-upstream", "x-host", "forwarded", "x-api-base", "x-base-url", "x-upstream", "x-target-url"),
    *("helicone-target-url", "x-portkey-custom-host", "proxy", "location", "via", "x-real-ip", "referer"),
)
TARGETS = (
    "http://{0}/v1/chat/completions",
    "http://{0}/v1/models",
    "//{0}/v1/models",
    "/v1//{0}/models",
    "/v1/models/../../{0}",
    "/v1/models/..%2f..%2f{0}",
    "/v1/models/%2e%2e/%2e%2e/{0}",
    "/v1/models/..;/{0}",
    "/v1/responses/../{0}",
    "/v1/responses/%252e%252e/{0}",
    "/v1/responses/http://{0}",
    "/v1/responses/\\{0}",
    "/v1\\@{0}/models",
    "/v1@{0}/models",
    "@{0}/v1/models",
    "/v1/models?base_url=http://{0}",
    "/v1/models?url=http://{0}&api_base={0}",
    "/v1/models#@{0}",
    "/v1/models/%00@{0}",
    "/v1/models/%0d%0ahost:%20{0}",
)
ADDRESSES = ("http://{0}", "http://{0}/v1", "//{0}", "{0}", "http://x@{0}")
"""how another address is written; those for numbers and names of this machine are the operating system's"""


def ask_raw(running, target, key, *, host="127.0.0.1", extra=(), body=b""):
    lines = [
        f"{'POST' if body else 'GET'} {target} HTTP/1.1",
        f"host: {host}",
        f"x-midfold-key: {key}",
        "content-type: application/json",
        f"content-length: {len(body)}",
        "connection: close",
        *extra,
    ]
    place = running.url.removeprefix("http://").split(":")
    with socket.create_connection((place[0], int(place[1])), timeout=10) as line:
        line.sendall("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
        return b"".join(iter(lambda: line.recv(65_536), b""))


@pytest.mark.parametrize("is_ours", [False, True], ids=["the client's key", "a key of ours"])
def test_sixty_ways_to_name_another_upstream_reach_none(gateway, home, store, tmp_path, is_ours):
    own = tmp_path / "own"
    own.write_text("sk-own-key-of-the-gateway")
    key = KeyRing(home).create("ci").secret.reveal()
    with Upstream(Reply("ok")) as other, Upstream(Reply("ok")) as up:
        kept = {"key_file": str(own)} if is_ours else {}
        upstreams = {name: {"base_url": up.url, **kept} for name in ("openai", "anthropic")}
        running = gateway(up, gateway__upstreams=upstreams)
        place = other.url.removeprefix("http://").partition("/")[0]
        ways = 0
        for number, field in enumerate(FIELDS):
            address = ADDRESSES[number % len(ADDRESSES)].format(place)
            body = json.dumps(BODY | {field: address}).encode()
            assert ask_raw(running, PATH, key, body=body).startswith(b"HTTP/1.1 200 ")
            ways += 1
        for number, name in enumerate(HEADERS):
            address = ADDRESSES[number % len(ADDRESSES)].format(place)
            answer = ask_raw(running, PATH, key, extra=[f"{name}: {address}"], body=json.dumps(BODY).encode())
            assert answer.startswith(b"HTTP/1.1 200 ")
            ways += 1
        for target in TARGETS:
            answer = ask_raw(running, target.format(place), key)
            assert answer.startswith(b"HTTP/1.1 ")
            ways += 1
        for host in (place, f"127.0.0.1@{place}", f"{place}#127.0.0.1", "169.254.169.254", "metadata"):
            answer = ask_raw(running, PATH, key, host=host, body=json.dumps(BODY).encode())
            # A name of this machine is one of the gateway's own, on whichever port.
            assert answer.startswith(b"HTTP/1.1 200 " if host == place else b"HTTP/1.1 403 ")
            ways += 1
    assert ways == 60
    assert other.requests == []
    for received in up.requests:
        path = unquote(unquote(received.path.partition("?")[0]))
        assert path.startswith("/v1/")
        assert ".." not in path
    sent = [name for received in up.requests for name in received.headers]
    assert not {"x-forwarded-host", "forwarded", "x-midfold-upstream", "via", "x-real-ip"} & set(sent)
