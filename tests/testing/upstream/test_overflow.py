"""A window that refuses what does not fit, in the words of a real provider."""

import json
import re

import pytest

from midfold.testing.upstream import PROVIDERS, Reply, Upstream, overflow

LONG = "word " * 2_000


def message_of(status):
    error = status.body.get("error", status.body)
    return error if isinstance(error, str) else error["message"]


def shape_of(text):
    return re.sub(r"\d+", "N", text).lower()


@pytest.mark.parametrize("api", ["chat", "responses", "messages"])
def test_a_request_that_does_not_fit_is_refused_and_one_that_fits_is_answered(api, ask):
    with Upstream([Reply("it fits")], window_tokens=1_000) as up:
        refused, answered = ask(up, api, LONG), ask(up, api, "short")
    assert refused.status == 400
    assert refused.json["error"]["type"] == "invalid_request_error"
    assert "it fits" in answered.body.decode()


def test_a_refusal_names_the_window_and_what_was_sent(ask):
    with Upstream(window_tokens=1_000) as up:
        said = ask(up, "messages", LONG).json["error"]["message"]
        assert said == f"prompt is too long: {up.requests[0].count_tokens()} tokens > 1000 maximum"


def test_a_cap_on_the_output_can_be_what_does_not_fit(ask):
    with Upstream(window_tokens=1_000) as up:
        refused = ask(up, "messages", "short", max_tokens=999)
        answered = ask(up, "messages", "short", max_tokens=900)
    assert "`max_tokens` exceed context limit" in refused.json["error"]["message"]
    assert answered.status == 200


def test_any_provider_can_be_the_one_who_refuses(ask):
    with Upstream(window_tokens=1_000, provider="llama.cpp") as up:
        error = ask(up, "chat", LONG).json["error"]
    assert (error["type"], error["n_ctx"]) == ("exceed_context_size_error", 1_000)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_what_fits_is_no_error(provider):
    assert overflow(provider, window_tokens=8_192, input_tokens=8_000, output_tokens=192) is None


@pytest.mark.parametrize("provider", PROVIDERS)
def test_every_provider_refuses_a_prompt_that_is_too_long(provider):
    status = overflow(provider, window_tokens=8_192, input_tokens=9_000)
    assert status.status == 400
    assert "{" not in message_of(status)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_the_words_are_those_of_the_provider(provider, data_dir):
    real = json.loads((data_dir / "overflow_errors.json").read_text("utf-8"))
    bodies = [shape_of(entry["body"].replace('\\"', '"')) for entry in real]
    sizes = [(9_000, 0), (8_000, 1_000)]
    made = [overflow(provider, window_tokens=8_192, input_tokens=i, output_tokens=o) for i, o in sizes]
    for status in filter(None, made):
        assert any(shape_of(message_of(status)) in body for body in bodies)
