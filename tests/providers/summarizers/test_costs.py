"""What is said about price and time before anything is sent."""

from decimal import Decimal

import pytest

from midfold.errors import ConfigError
from midfold.providers.summarizers import ModelRef, SummaryCall, forecast
from midfold.summaries import SummaryRequest
from midfold.tokens import CanonicalUsage, count_tokens

FAST, LARGE = "openai/gpt-5-mini", "anthropic/claude-sonnet-4-5"


def request(tokens):
    return SummaryRequest("word " * tokens, 1_000)


@pytest.mark.parametrize(
    ("tokens", "fast", "large"),
    [(10_000, 2, 5), (50_000, 8, 20), (75_000, 11.5, 30), (100_000, 15, 40), (200_000, 29, 80)],
)
def test_time_is_read_off_a_table_until_something_was_measured(tokens, fast, large):
    assert forecast([request(tokens)], FAST).seconds == pytest.approx(fast, abs=0.1)
    # Claude counts about a fifth more tokens in the same words.
    words = int(tokens * tokens / count_tokens("word " * tokens, LARGE))
    assert forecast([request(words)], LARGE).seconds == pytest.approx(large, abs=0.2)


def test_short_requests_take_a_moment_too():
    assert 0.4 < forecast([request(100)], FAST).seconds < 1
    assert 1 < forecast([request(100)], LARGE).seconds < 2


def test_unknown_models_are_taken_for_large_ones():
    assert forecast([request(10_000)], "ollama/mine").seconds == pytest.approx(5, abs=0.5)


def test_time_follows_own_calls_once_there_are_some():
    calls = [
        SummaryCall(FAST, 30.0, usage=CanonicalUsage(9_000, 1_000)),
        SummaryCall(FAST, 1.0, "it refused", CanonicalUsage(9_000, 1_000)),
        SummaryCall(LARGE, 300.0, usage=CanonicalUsage(9_000, 1_000)),
    ]
    expected = forecast([request(19_000)], FAST, measured=calls)
    assert expected.is_measured
    assert expected.seconds == pytest.approx(60, abs=0.5)
    assert not forecast([request(19_000)], "openai/gpt-5", measured=calls).is_measured


def test_price_is_that_of_what_is_sent_and_of_answers_as_long_as_asked_for():
    expected = forecast([request(10_000), request(20_000)], FAST)
    assert (expected.calls, expected.output_tokens) == (2, 2_000)
    assert 30_000 < expected.input_tokens < 30_200
    assert expected.cost.dollars == expected.input_tokens * Decimal("0.25") / 10**6 + Decimal("0.004")


def test_price_that_is_not_known_is_unknown():
    assert forecast([request(100)], "openai/nobody-knows").cost.dollars is None
    assert forecast([request(100)], ModelRef("gpt-5-mini", "http://127.0.0.1:8080/v1")).cost.dollars is None


def test_nothing_to_ask_costs_nothing():
    expected = forecast([], FAST)
    assert (expected.calls, expected.seconds, expected.cost.dollars) == (0, 0, 0)


def test_name_that_nobody_can_call_is_refused():
    with pytest.raises(ConfigError, match="provider/model"):
        forecast([request(100)], "gpt-5-mini")
