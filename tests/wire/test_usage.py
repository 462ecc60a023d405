"""Every provider's report of what a call used."""

import json
from dataclasses import asdict
from decimal import Decimal
from types import SimpleNamespace

import anthropic.types as claude
import openai.types as gpt
import openai.types.responses as gpt_responses
import pytest
from hypothesis import given
from hypothesis import strategies as st

from midfold.tokens import CanonicalUsage
from midfold.wire.usage import find_report, merge_usage, normalize_usage, reported_cost

REPORTS = {
    "anthropic": (
        {
            "input_tokens": 100,
            "output_tokens": 50,
            "cache_read_input_tokens": 5_000,
            "cache_creation_input_tokens": 2_000,
        },
        CanonicalUsage(100, 50, 5_000, 2_000),
    ),
    "anthropic with lasting cache writes": (
        {
            "input_tokens": 100,
            "output_tokens": 50,
            "cache_creation_input_tokens": 2_000,
            "cache_creation": {"ephemeral_5m_input_tokens": 500, "ephemeral_1h_input_tokens": 1_500},
            "output_tokens_details": {"thinking_tokens": 20},
        },
        CanonicalUsage(100, 50, 0, 2_000, 20, 1_500),
    ),
    "anthropic with the split of the writes alone": (
        {
            "input_tokens": 1,
            "cache_creation": {"ephemeral_5m_input_tokens": 5, "ephemeral_1h_input_tokens": 7},
        },
        CanonicalUsage(1, 0, 0, 12, 0, 7),
    ),
    "openai responses": (
        {
            "input_tokens": 7_100,
            "input_tokens_details": {"cached_tokens": 5_000, "cache_creation_tokens": 2_000},
            "output_tokens": 50,
            "output_tokens_details": {"reasoning_tokens": 30},
            "total_tokens": 7_150,
        },
        CanonicalUsage(100, 50, 5_000, 2_000, 30),
    ),
    "openai chat": (
        {
            "prompt_tokens": 7_100,
            "completion_tokens": 50,
            "total_tokens": 7_150,
            "prompt_tokens_details": {"cached_tokens": 5_000, "cache_write_tokens": 2_000},
            "completion_tokens_details": {"reasoning_tokens": 30},
        },
        CanonicalUsage(100, 50, 5_000, 2_000, 30),
    ),
    "openai chat with anthropic's cache fields": (
        {
            "prompt_tokens": 7_100,
            "completion_tokens": 50,
            "cache_read_input_tokens": 5_000,
            "cache_creation_input_tokens": 2_000,
            "cache_creation": {"ephemeral_1h_input_tokens": 2_000},
        },
        CanonicalUsage(100, 50, 5_000, 2_000, 0, 2_000),
    ),
    "deepseek": (
        {
            "prompt_tokens": 5_100,
            "completion_tokens": 50,
            "prompt_cache_hit_tokens": 5_000,
            "prompt_cache_miss_tokens": 100,
        },
        CanonicalUsage(100, 50, 5_000),
    ),
    "deepseek without the sum": (
        {"completion_tokens": 50, "prompt_cache_hit_tokens": 5_000, "prompt_cache_miss_tokens": 100},
        CanonicalUsage(100, 50, 5_000),
    ),
    "moonshot": (
        {"prompt_tokens": 5_100, "completion_tokens": 50, "cached_tokens": 5_000},
        CanonicalUsage(100, 50, 5_000),
    ),
    "xai, thinking beside the output": (
        {
            "prompt_tokens": 100,
            "completion_tokens": 9,
            "total_tokens": 409,
            "completion_tokens_details": {"reasoning_tokens": 300},
        },
        CanonicalUsage(100, 309, reasoning_tokens=300),
    ),
    "gemini": (
        {
            "promptTokenCount": 5_000,
            "toolUsePromptTokenCount": 100,
            "cachedContentTokenCount": 5_000,
            "candidatesTokenCount": 20,
            "thoughtsTokenCount": 30,
        },
        CanonicalUsage(100, 50, 5_000, reasoning_tokens=30),
    ),
    "gemini sdk names": (
        {"prompt_token_count": 5_100, "cached_content_token_count": 5_000, "candidates_token_count": 50},
        CanonicalUsage(100, 50, 5_000),
    ),
    "bedrock": (
        {
            "inputTokens": 100,
            "outputTokens": 50,
            "totalTokens": 7_150,
            "cacheReadInputTokens": 5_000,
            "cacheWriteInputTokens": 2_000,
        },
        CanonicalUsage(100, 50, 5_000, 2_000),
    ),
    "bedrock with lasting cache writes": (
        {
            "inputTokens": 100,
            "outputTokens": 50,
            "cacheWriteInputTokens": 2_000,
            "cacheDetails": [{"ttl": "1h", "inputTokens": 1_500}, {"ttl": "5m", "inputTokens": 500}],
        },
        CanonicalUsage(100, 50, 0, 2_000, 0, 1_500),
    ),
    "langchain": (
        {
            "input_tokens": 7_100,
            "output_tokens": 50,
            "total_tokens": 7_150,
            "input_token_details": {"cache_read": 5_000, "cache_creation": 2_000},
            "output_token_details": {"reasoning": 30},
        },
        CanonicalUsage(100, 50, 5_000, 2_000, 30),
    ),
    "langchain with lasting cache writes": (
        {
            "input_tokens": 7_100,
            "output_tokens": 50,
            "input_token_details": {
                "cache_read": 5_000,
                "cache_creation": 0,
                "ephemeral_5m_input_tokens": 500,
                "ephemeral_1h_input_tokens": 1_500,
            },
        },
        CanonicalUsage(100, 50, 5_000, 2_000, 0, 1_500),
    ),
    "our own, out of a store": (
        asdict(CanonicalUsage(100, 50, 5_000, 2_000, 30, 1_500)),
        CanonicalUsage(100, 50, 5_000, 2_000, 30, 1_500),
    ),
    "ollama": ({"model": "x", "prompt_eval_count": 100, "eval_count": 50}, CanonicalUsage(100, 50)),
    "llama.cpp": (
        {"timings": {"prompt_n": 100, "cache_n": 5_000, "predicted_n": 50}},
        CanonicalUsage(100, 50, 5_000),
    ),
}


@pytest.mark.parametrize("shape", REPORTS)
def test_every_shape_is_read_into_the_same_buckets(shape):
    raw, expected = REPORTS[shape]
    assert normalize_usage(raw) == expected


@pytest.mark.parametrize("shape", REPORTS)
def test_objects_are_read_like_dicts(shape):
    raw, expected = REPORTS[shape]
    assert normalize_usage(_as_object(raw)) == expected


@pytest.mark.parametrize(
    "wrap",
    [
        lambda usage: {"id": "r1", "usage": usage},
        lambda usage: {"type": "response.completed", "response": {"id": "r1", "usage": usage}},
        lambda usage: {"type": "message_start", "message": {"role": "assistant", "usage": usage}},
        lambda usage: {"metadata": {"usage": usage, "metrics": {"latencyMs": 5}}},
        lambda usage: {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop", "usage": usage}]},
        lambda usage: {"choices": [], "x_groq": {"id": "r1", "usage": usage}},
    ],
)
def test_a_response_or_event_is_unwrapped(wrap):
    raw, expected = REPORTS["openai chat"]
    assert normalize_usage(wrap(raw)) == expected


def test_a_gemini_response_is_unwrapped():
    raw, expected = REPORTS["gemini"]
    assert normalize_usage({"candidates": [], "usageMetadata": raw}) == expected


@pytest.mark.parametrize("raw", [None, {}, [], "usage", 5, {"usage": None}, {"usage": "none"}, object()])
def test_where_nothing_is_reported_nothing_was_used(raw):
    assert normalize_usage(raw) == CanonicalUsage()


@pytest.mark.parametrize("odd", [None, -5, "12", True, float("nan"), float("inf"), 10**30, [], {"tokens": 5}])
def test_a_figure_that_cannot_be_one_counts_nothing(odd):
    raw = {"prompt_tokens": odd, "completion_tokens": 7, "prompt_tokens_details": odd}
    assert normalize_usage(raw) == CanonicalUsage(output_tokens=7)


def test_more_cached_than_sent_leaves_no_negative_input():
    raw = {"prompt_tokens": 100, "prompt_tokens_details": {"cached_tokens": 150}}
    assert normalize_usage(raw) == CanonicalUsage(cache_read_tokens=150)


def test_the_dialect_decides_whether_input_includes_the_cache():
    raw = {"input_tokens": 5_100, "cache_read_input_tokens": 5_000}
    assert normalize_usage(raw, "anthropic") == CanonicalUsage(5_100, cache_read_tokens=5_000)
    assert normalize_usage(raw, "openai_responses") == CanonicalUsage(100, cache_read_tokens=5_000)


def test_what_is_canonical_already_comes_back():
    usage = CanonicalUsage(1, 2, 3, 4, 5, 6)
    assert normalize_usage(usage) is usage


def test_the_anthropic_sdk_is_read():
    usage = claude.Usage(
        input_tokens=100,
        output_tokens=50,
        cache_read_input_tokens=5_000,
        cache_creation_input_tokens=2_000,
        cache_creation=claude.CacheCreation(ephemeral_5m_input_tokens=500, ephemeral_1h_input_tokens=1_500),
    )
    assert normalize_usage(usage) == CanonicalUsage(100, 50, 5_000, 2_000, 0, 1_500)
    message = claude.Message(
        id="m1", type="message", role="assistant", model="x", content=[], stop_reason=None, usage=usage
    )
    assert normalize_usage(message) == normalize_usage(usage)


def test_the_openai_chat_sdk_is_read():
    usage = gpt.CompletionUsage(
        prompt_tokens=7_100,
        completion_tokens=50,
        total_tokens=7_150,
        prompt_tokens_details={"cached_tokens": 5_000, "cache_write_tokens": 2_000},
        completion_tokens_details={"reasoning_tokens": 30},
    )
    assert normalize_usage(usage) == CanonicalUsage(100, 50, 5_000, 2_000, 30)


def test_fields_that_a_gateway_adds_to_sdk_objects_are_read():
    usage = gpt.CompletionUsage(
        prompt_tokens=5_100, completion_tokens=50, total_tokens=5_150, cached_tokens=5_000, cost=0.0123
    )
    assert normalize_usage(usage) == CanonicalUsage(100, 50, 5_000)
    assert reported_cost(usage) == Decimal("0.0123")


def test_the_openai_responses_sdk_is_read():
    usage = gpt_responses.ResponseUsage(
        input_tokens=7_100,
        input_tokens_details={"cached_tokens": 5_000, "cache_write_tokens": 2_000},
        output_tokens=50,
        output_tokens_details={"reasoning_tokens": 30},
        total_tokens=7_150,
    )
    assert normalize_usage(usage) == CanonicalUsage(100, 50, 5_000, 2_000, 30)


def test_an_anthropic_stream_is_merged():
    start = {
        "type": "message_start",
        "message": {"usage": {"input_tokens": 100, "cache_read_input_tokens": 5_000, "output_tokens": 1}},
    }
    delta = {"type": "message_delta", "usage": {"output_tokens": 50}}
    ping = {"type": "ping"}
    assert merge_usage([start, ping, delta]) == CanonicalUsage(100, 50, 5_000)


def test_a_stream_that_tells_all_at_its_end_is_merged():
    start = claude.RawMessageStartEvent(
        type="message_start",
        message=claude.Message(
            id="m1",
            type="message",
            role="assistant",
            model="x",
            content=[],
            stop_reason=None,
            usage=claude.Usage(input_tokens=0, output_tokens=0),
        ),
    )
    delta = claude.RawMessageDeltaEvent(
        type="message_delta",
        delta={"stop_reason": "end_turn"},
        usage=claude.MessageDeltaUsage(input_tokens=100, cache_read_input_tokens=5_000, output_tokens=50),
    )
    assert merge_usage([start, delta]) == CanonicalUsage(100, 50, 5_000)


def test_an_openai_stream_has_its_usage_in_the_last_chunk():
    chunks = [{"choices": [{}], "usage": None}, {"choices": [], "usage": REPORTS["openai chat"][0]}]
    assert merge_usage(chunks) == REPORTS["openai chat"][1]


def test_a_moonshot_stream_has_its_usage_inside_the_choice():
    chunks = [
        {"choices": [{"delta": {"content": "Hi"}, "finish_reason": None}]},
        {
            "choices": [
                {
                    "delta": {},
                    "finish_reason": "stop",
                    "usage": {"prompt_tokens": 19, "completion_tokens": 13, "cached_tokens": 4},
                }
            ]
        },
    ]
    assert merge_usage(chunks) == CanonicalUsage(15, 13, 4)


def test_an_attribute_that_raises_counts_nothing():
    class Lazy:
        completion_tokens = 7

        @property
        def prompt_tokens(self):
            raise RuntimeError("the response was not read")

    assert normalize_usage({"usage": Lazy()}) == CanonicalUsage(output_tokens=7)


def test_a_stream_without_usage_used_nothing_known():
    assert merge_usage([]) == CanonicalUsage()


@pytest.mark.parametrize("cost", [None, "0.5", True, -1, float("nan")])
def test_a_cost_that_is_no_amount_is_unknown(cost):
    assert reported_cost({"usage": {"prompt_tokens": 5, "cost": cost}}) is None


@pytest.mark.parametrize(
    ("report", "dollars"),
    [
        ({"cost": 0.0123}, "0.0123"),
        ({"cost_in_usd_ticks": 37_756_000}, "0.0037756"),
        ({"cost": {"input_tokens_cost": 0.001, "total_cost": 0.006}}, "0.006"),
        ({"estimated_cost": 0.00002}, "0.00002"),
        ({"cost": 0.05, "is_byok": False, "cost_details": {"upstream_inference_cost": 0.05}}, "0.05"),
        ({"cost": 0.05, "is_byok": True, "cost_details": {"upstream_inference_cost": 1}}, "1.05"),
    ],
    ids=["openrouter", "xai", "perplexity", "deepinfra", "openrouter's own key", "a key of one's own"],
)
def test_what_a_provider_says_it_charged_is_read(report, dollars):
    assert reported_cost({"usage": {"prompt_tokens": 5, **report}}) == Decimal(dollars)


def test_a_fee_without_what_the_provider_charged_is_no_cost():
    assert reported_cost({"prompt_tokens": 5, "cost": 0.05, "is_byok": True}) is None


def test_a_reported_cost_of_nothing_is_a_fact():
    assert reported_cost({"usage": {"prompt_tokens": 5, "cost": 0}}) == 0


KEYS = st.sampled_from(
    sorted({key for raw, _ in REPORTS.values() for key in raw} | {"usage", "message", "response", "choices"})
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=6),
)


@given(JSON)
def test_no_report_raises_and_no_figure_is_negative(raw):
    usage = normalize_usage(raw)
    assert (
        min(usage.input_tokens, usage.output_tokens, usage.cache_read_tokens, usage.cache_write_tokens) >= 0
    )
    assert 0 <= usage.cache_write_1h_tokens <= usage.cache_write_tokens


@pytest.mark.parametrize("shape", [shape for shape in REPORTS if shape != "llama.cpp"])
def test_the_report_is_kept_as_plain_json(shape):
    raw, _ = REPORTS[shape]
    assert find_report({"id": "r1", "choices": ["words " * 500], "usage": raw}) == raw


def test_the_report_of_an_sdk_object_is_kept():
    usage = gpt.CompletionUsage(prompt_tokens=7, completion_tokens=5, total_tokens=12, cost=0.5)
    assert find_report(usage) == {"prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12, "cost": 0.5}


def test_figures_that_nobody_understands_are_kept_and_words_are_not():
    body = {"eval_count": 5, "unheard_of_tokens": 7, "message": {"content": "words " * 500}}
    assert find_report(body) == {"eval_count": 5, "unheard_of_tokens": 7}


@given(JSON)
def test_whatever_is_kept_can_be_stored(raw):
    assert json.dumps(find_report(raw), allow_nan=False)


def _as_object(value: object) -> object:
    if isinstance(value, dict):
        return SimpleNamespace(**{key: _as_object(inner) for key, inner in value.items()})
    return value
