"""What a provider refuses as too long is made to fit; everything else is its own error, byte for byte."""

import json

import pytest

from midfold.testing import HttpStatus, Reply, Upstream, transcript
from midfold.testing.upstream import PROVIDERS

MALFORMED = "messages.2: `tool_use` ids were found without `tool_result` blocks immediately after: call_1"
PATHS = {
    "openai_chat": ("/v1/chat/completions", "messages"),
    "anthropic": ("/v1/messages", "messages"),
    "openai_responses": ("/v1/responses", "input"),
}


def long_body(dialect, **more):
    path, field = PATHS[dialect]
    items = transcript(dialect, turns=20, steps=2, result_chars=2_500)
    return path, {"model": "any", field: items, **more}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("dialect", PATHS)
def test_a_prompt_that_is_too_long_is_folded_and_sent_again(gateway, store, dialect, stream):
    path, body = long_body(dialect, stream=stream)
    with Upstream(Reply("It fits."), window_tokens=9_000) as up:
        running = gateway(up)
        answer = running.ask(path, body)
        assert answer.status == 200, answer.body
        assert b"fits" in answer.body
        assert "folded to" in answer.changes["x-midfold-recovered"]
        assert int(answer.changes["x-midfold-saved-tokens"]) > 1_000
        sent = len(up.requests)
        assert 2 <= sent <= 4
        running.settle()
        again = running.ask(path, body)
        assert again.status == 200
        assert len(up.requests) == sent + 1  # the fold that was made is found, and fits at once
    assert store.folds()


@pytest.mark.parametrize("provider", sorted(PROVIDERS)[:6])
def test_the_words_of_many_providers_are_understood(gateway, provider):
    path, body = long_body("openai_chat")
    with Upstream(Reply("It fits."), window_tokens=9_000, provider=provider) as up:
        answer = gateway(up).ask(path, body)
    assert answer.status == 200, (provider, answer.body)


def test_an_output_cap_that_is_too_large_is_lowered_for_this_call_alone(gateway, store):
    body = {"model": "any", "max_tokens": 60_000, "messages": [{"role": "user", "content": "hello " * 500}]}
    with Upstream(Reply("ok"), window_tokens=20_000) as up:
        answer = gateway(up).ask("/v1/messages", body)
    assert answer.status == 200, answer.body
    assert "output cap lowered to" in answer.changes["x-midfold-recovered"]
    first, second = up.requests
    assert second.json["max_tokens"] < 20_000
    assert second.json["messages"] == first.json["messages"]
    assert store.folds() == []


def test_what_can_never_fit_ends_with_the_providers_own_error(gateway):
    body = {"model": "any", "messages": [{"role": "user", "content": "word " * 30_000}]}
    with Upstream(Reply("ok"), window_tokens=9_000) as up:
        answer = gateway(up).ask("/v1/chat/completions", body)
        direct = json.loads(up.requests[0].body)
    assert direct == body
    assert answer.status == 400
    assert "maximum context length is 9000 tokens" in answer.body.decode()
    assert "still too long" in answer.changes["x-midfold-warning"]
    assert len(up.requests) <= 4


def test_with_compression_off_an_overflow_is_reported_not_repaired(gateway):
    path, body = long_body("openai_chat")
    with Upstream(Reply("ok"), window_tokens=9_000) as up:
        answer = gateway(up, compression__enabled=False).ask(path, body)
    assert answer.status == 400
    assert len(up.requests) == 1


@pytest.mark.parametrize(
    "said",
    [
        HttpStatus(400, {"error": {"message": "tools[0].name is missing", "type": "invalid_request_error"}}),
        HttpStatus(401, {"error": {"message": "bad key", "type": "authentication_error"}}),
        HttpStatus(402, {"error": {"message": "Insufficient credit"}}),
        HttpStatus(404, {"error": {"message": "no such model"}}),
        HttpStatus(429, {"error": {"message": "slow down"}}, {"Retry-After": "3"}),
        HttpStatus(500, "<html>oops</html>"),
        HttpStatus(529, {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}),
    ],
    ids=lambda said: str(said.status),
)
@pytest.mark.parametrize("stream", [False, True])
def test_no_other_failure_is_tried_again(gateway, said, stream):
    path, body = long_body("anthropic", stream=stream)
    with Upstream(said) as up:
        answer = gateway(up).ask(path, body)
    assert answer.status == said.status
    assert len(up.requests) == 1
    assert answer.changes == {}


def test_a_folded_list_that_is_refused_is_sent_as_the_client_wrote_it(gateway):
    path, body = long_body("anthropic")
    refusal = {"type": "error", "error": {"type": "invalid_request_error", "message": MALFORMED}}

    def answer(received):
        return Reply("ok") if received.json == body else HttpStatus(400, refusal)

    with Upstream(answer) as up:
        answer = gateway(up, model__context_length=16_000).ask(path, body)
    assert answer.status == 200
    assert len(up.requests) == 2
    assert "refused the folded request" in answer.changes["x-midfold-warning"]


def test_a_key_for_repetitions_goes_with_the_body_that_it_was_given_for(gateway):
    path, body = long_body("openai_chat")
    with Upstream(Reply("It fits."), window_tokens=9_000) as up:
        answer = gateway(up).ask(path, body, idempotency_key="once")
    assert answer.status == 200
    first, *others = up.requests
    assert first.json == body
    assert first.headers["idempotency-key"] == "once"
    assert others
    assert not any("idempotency-key" in received.headers for received in others)


def test_a_limit_that_was_stated_is_remembered(gateway, home):
    path, body = long_body("openai_chat")
    with Upstream(Reply("It fits."), window_tokens=80_000, provider="openai") as up:
        running = gateway(up, model__context_length=256_000)
        body["messages"] = transcript("openai_chat", turns=60, steps=2, result_chars=3_000)
        assert running.ask(path, body).status == 200
    assert "80000" in (home / "learnt_limits.json").read_text()
