"""Logs: five hundred requests that fail in every way leave nothing of theirs in them."""

import io
import json
import logging

import pytest

from midfold.config import LogFormat
from midfold.gateway.logs import make_formatter
from midfold.testing import HttpStatus, Reply, Upstream
from midfold.testing.upstream import DeliveryFault

CHAT = "/v1/chat/completions"
MESSAGES = "/v1/messages"
KEY = "sk-proj-" + "Zk3Qw9" * 8
SAID = "the-words-that-were-said"
CANARIES = (KEY, SAID, "Zk3Qw9Zk3Qw9")
REFUSALS = [
    HttpStatus(401, {"error": {"message": f"Incorrect API key provided: {KEY}."}}),
    HttpStatus(400, {"error": {"message": f"cannot read {SAID}"}}),
    HttpStatus(500, f"<html>{SAID} {KEY}</html>"),
    HttpStatus(429, {"error": {"message": f"slow down, {KEY}"}}, headers={"x-key": KEY}),
]


@pytest.fixture(params=list(LogFormat), ids=str)
def written(request):
    """All that every logger writes, as an operator's log has it."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(make_formatter(request.param))
    root = logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    yield stream
    root.removeHandler(handler)
    root.setLevel(level)


def fail(running, number):
    """Send a request that fails; every part of it has a canary."""
    body = {"model": SAID, "messages": [{"role": "user", "content": f"{SAID} {KEY} {number}"}]}
    ways = [
        lambda: running.ask(CHAT, body, authorization=f"Bearer {KEY}"),
        lambda: running.ask(f"{MESSAGES}?key={KEY}&q={SAID}", {**body, "max_tokens": 9}, x_api_key=KEY),
        lambda: running.ask(CHAT, json.dumps(body).encode()[:-9], authorization=f"Bearer {KEY}"),
        lambda: running.ask(f"/v1/{SAID}/{KEY}", body, cookie=f"k={KEY}"),
        lambda: running.ask(CHAT, {**body, "messages": SAID}, x_midfold_key=KEY),
        lambda: running.ask(f"/admin/api/sessions/{KEY}?q={SAID}", method="GET", x_midfold_token=KEY),
        lambda: running.ask(CHAT, body, content_encoding=KEY),
        lambda: running.ask(CHAT, {**body, "stream": True}, x_midfold_session=SAID),
    ]
    return ways[number % len(ways)]()


@pytest.mark.slow
def test_five_hundred_failing_requests_leave_nothing_of_theirs_in_the_log(gateway, written):
    with Upstream([*REFUSALS, Reply(SAID, fault=DeliveryFault(cut_at=20))] * 200) as up:
        running = gateway(up)
        statuses = [fail(running, number).status for number in range(500)]
        running.settle()
    lines = written.getvalue()
    assert {400, 401, 404, 415, 429, 500} <= set(statuses)
    assert lines.count("POST ") >= 400
    assert [canary for canary in CANARIES if canary in lines] == []


def test_an_error_in_the_gateway_is_logged_without_what_was_said(gateway, written, monkeypatch):
    def broken(*_args, **_options):
        raise RuntimeError(f"cannot work with {KEY}")

    monkeypatch.setattr("midfold.gateway.app.RequestExchange.run", broken)
    with Upstream(Reply("ok")) as up:
        answer = gateway(up).ask(CHAT, {"model": "m", "messages": [{"role": "user", "content": SAID}]})
    assert answer.status == 500
    assert "RuntimeError" in written.getvalue()
    assert [canary for canary in CANARIES if canary in written.getvalue()] == []
