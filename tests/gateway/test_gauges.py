"""Honest gauges: what the client is told of its usage, and that both views are named."""

import json
import re

import pytest

from midfold.gateway.rewriting import Rewrite
from midfold.testing import Reply, Upstream, transcript
from midfold.tokens import CanonicalUsage
from midfold.wire import normalize_usage
from midfold.wire.sse import SseReader

PATHS = {
    "openai_chat": ("/v1/chat/completions", "messages"),
    "anthropic": ("/v1/messages", "messages"),
    "openai_responses": ("/v1/responses", "input"),
}


def reported(answer, stream):
    """The most prompt tokens that any report in an answer states."""
    if not stream:
        return normalize_usage(answer.json).prompt_tokens
    events = SseReader().feed(answer.body)
    bodies = [json.loads(event.data) for event in events if event.has_data and event.data != "[DONE]"]
    return max(normalize_usage(body).prompt_tokens for body in bodies)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("dialect", PATHS)
@pytest.mark.parametrize("view", ["provider", "client"])
def test_the_view_that_is_set_is_reported_and_the_header_names_both(gateway, dialect, stream, view):
    path, field = PATHS[dialect]
    items = transcript(dialect, turns=20, steps=2, result_chars=2_500)
    body = {"model": "gpt-5-mini", field: items, "stream": stream, "stream_options": {"include_usage": True}}
    with Upstream(Reply("It is done.", usage=CanonicalUsage(5_000, 20))) as up:
        running = gateway(up, model__context_length=16_000, gateway__report_usage=view)
        answer = running.ask(path, body)
        running.settle()
    saved = int(answer.changes["x-midfold-saved-tokens"])
    sent, client = map(int, re.findall(r"\d+", answer.changes["x-midfold-tokens"]))
    assert client - sent == saved > 1_000
    assert reported(answer, stream) == (5_000 if view == "provider" else 5_000 + saved)


def test_nothing_but_reports_is_rewritten():
    data = b'event: x\ndata: {"a":  1}\n\ndata: {"usage": null}\n\n: "usage"\n\n'
    data += b'data: {"usage":{"prompt_tokens":7}}\r\n\r\n'
    assert Rewrite(100).events(data) == data.replace(b'"prompt_tokens":7', b'"prompt_tokens":107')
    assert Rewrite(100).whole(b"no json") == b"no json"
    assert Rewrite(100).whole(b'{"odd":  1}') == b'{"odd":  1}'


def test_a_count_is_that_of_what_would_be_sent(gateway):
    items = transcript("anthropic", turns=20, steps=2, result_chars=2_500)
    body = {"model": "claude-opus-4-1", "messages": items, "max_tokens": 100}
    with Upstream(Reply("ok")) as up:
        running = gateway(up, model__context_length=16_000)
        before = running.ask(
            "/v1/messages/count_tokens", {"model": "claude-opus-4-1", "messages": items}
        ).json
        assert running.ask("/v1/messages", body).changes
        running.settle()
        after = running.ask("/v1/messages/count_tokens", {"model": "claude-opus-4-1", "messages": items}).json
    assert after["input_tokens"] < before["input_tokens"] / 1.5


def test_usage_that_nobody_reports_is_estimated_and_says_so(gateway, store):
    from midfold.testing.upstream import UsageReport

    with Upstream(Reply("It is done.", usage=UsageReport.MISSING)) as up:
        running = gateway(up)
        running.ask(
            "/v1/chat/completions",
            {"model": "gpt-5-mini", "messages": [{"role": "user", "content": "hi there"}]},
        )
        running.settle()
    (call,) = store.calls()
    assert call.usage.prompt_tokens > 0
    assert call.usage.output_tokens > 0
    assert call.facts["is_estimated"] is True
