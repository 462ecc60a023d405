"""Reports as calls: their tokens, their cost and how that is known, and the report itself."""

from decimal import Decimal
from types import SimpleNamespace

import anthropic.types as claude
import openai.types as gpt
import pytest

from midfold.providers.summarizers.costs import SummaryCall
from midfold.store import open_store
from midfold.tokens import CanonicalUsage, Cost, Prices
from midfold.usage import CostKind, make_call, make_summary_call

SONNET = "claude-sonnet-4-5"  # 3 in, 15 out, 0.30 read, 3.75 written for five minutes, 6 for an hour
MINI = "gpt-5-mini"  # no price for cache writes
UNKNOWN = "my-own-finetune"
MILLION = 1_000_000


@pytest.mark.parametrize(
    "raw",
    [
        {"prompt_tokens": 1_000, "completion_tokens": 50},
        {"input_tokens": 1_000, "output_tokens": 50, "input_tokens_details": {}},
        {"promptTokenCount": 1_000, "candidatesTokenCount": 50},
        {"inputTokens": 1_000, "outputTokens": 50},
        {"prompt_eval_count": 1_000, "eval_count": 50},
        {"input_tokens": 1_000, "output_tokens": 50, "service_tier": "standard"},
        gpt.CompletionUsage(prompt_tokens=1_000, completion_tokens=50, total_tokens=1_050),
        claude.Usage(input_tokens=1_000, output_tokens=50),
        SimpleNamespace(prompt_tokens=1_000, completion_tokens=50),
    ],
    ids=[
        "chat",
        "responses",
        "gemini",
        "bedrock",
        "ollama",
        "anthropic",
        "openai-sdk",
        "claude-sdk",
        "object",
    ],
)
def test_no_shape_of_usage_is_lost(raw):
    """B19: dicts, native shapes and SDK objects all count, under any model's name."""
    call = make_call(raw, "somebody/some-model")
    assert call.usage == CanonicalUsage(1_000, 50)
    assert call.raw


def test_the_cost_is_computed_by_the_price_table():
    call = make_call({"input_tokens": MILLION, "output_tokens": MILLION}, SONNET)
    assert (call.cost, call.cost_kind) == (Decimal(18), CostKind.COMPUTED)


def test_what_the_provider_charged_goes_before_the_price_table():
    """B19: a reported cost is not ignored."""
    call = make_call({"prompt_tokens": MILLION, "completion_tokens": 1, "cost": 0.5}, SONNET)
    assert (call.cost, call.cost_kind) == (Decimal("0.5"), CostKind.REPORTED)


def test_cache_writes_that_last_an_hour_have_a_price_of_their_own():
    """B19: they are not priced as those of five minutes."""
    split = {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": MILLION}
    hour = make_call({"input_tokens": 0, "cache_creation": split}, SONNET)
    minutes = make_call({"input_tokens": 0, "cache_creation_input_tokens": MILLION}, SONNET)
    assert (hour.cost, minutes.cost) == (Decimal(6), Decimal("3.75"))


def test_a_report_that_does_not_say_how_long_its_writes_last_is_read_by_what_was_asked_for():
    raw = {"prompt_tokens": MILLION, "prompt_tokens_details": {"cache_write_tokens": MILLION}}
    assert make_call(raw, SONNET, cache_ttl="1h").cost == Decimal(6)
    assert make_call(raw, SONNET, cache_ttl="5m").cost == Decimal("3.75")


def test_one_missing_price_makes_the_cost_partial_and_not_unknown():
    """B19: the tokens that have a price are counted."""
    raw = {"prompt_tokens": 2 * MILLION, "prompt_tokens_details": {"cache_write_tokens": MILLION}}
    call = make_call(raw, MINI)
    assert (call.cost, call.cost_kind) == (Decimal("0.25"), CostKind.PARTIAL)


def test_an_unknown_model_costs_an_unknown_amount_and_never_nothing():
    call = make_call({"prompt_tokens": 1_000, "completion_tokens": 5}, UNKNOWN)
    assert (call.cost, call.cost_kind) == (None, CostKind.UNKNOWN)


@pytest.mark.parametrize("raw", [None, {}, {"usage": None}, {"usage": {"unheard_of": 5}}])
def test_a_call_without_figures_costs_an_unknown_amount(raw):
    call = make_call(raw, SONNET)
    assert (call.usage, call.cost, call.cost_kind) == (CanonicalUsage(), None, CostKind.UNKNOWN)


def test_a_server_of_one_s_own_has_no_prices():
    raw = {"prompt_tokens": 1_000, "completion_tokens": 5}
    assert make_call(raw, SONNET, prices=Prices()).cost_kind == CostKind.UNKNOWN
    assert make_call(raw, UNKNOWN, prices=Prices(Decimal(1), Decimal(1))).cost == Decimal("0.001005")


def test_every_call_has_an_id_so_that_recording_it_twice_counts_it_once(tmp_path):
    call = make_call({"prompt_tokens": 1_000, "completion_tokens": 5}, SONNET)
    with open_store(tmp_path / "sessions.db", synchronous="NORMAL") as store:
        session = store.create_session(source="chat").id
        for _ in range(3):
            store.record_call(session, call)
        assert store.usage() == call.usage
        [kept] = store.calls(session)
    assert (kept.cost, kept.cost_kind, kept.raw) == (call.cost, call.cost_kind, call.raw)


def test_calls_of_a_summariser_are_recorded_as_such_even_if_they_failed():
    usage = CanonicalUsage(60_000, 900)
    raw = {"prompt_tokens": 60_000, "completion_tokens": 900}
    asked = SummaryCall(MINI, 2.5, "the answer was cut", usage, raw, Cost(Decimal("0.02")))
    call = make_summary_call(asked)
    assert (call.purpose, call.usage, call.cost, call.cost_kind) == (
        "summary",
        usage,
        Decimal("0.02"),
        "computed",
    )
    assert call.facts == {"seconds": 2.5, "failure": "the answer was cut"}
    assert call.raw == raw


def test_what_a_gateway_charged_for_a_summary_is_reported():
    raw = {"prompt_tokens": 10, "completion_tokens": 5, "cost": 0.25}
    asked = SummaryCall(UNKNOWN, 1.0, None, CanonicalUsage(10, 5), raw, Cost(Decimal("0.25")))
    assert make_summary_call(asked).cost_kind == CostKind.REPORTED


@pytest.mark.parametrize("odd", ["12", " 9000 ", 10**30, -5])
def test_a_figure_that_was_not_counted_makes_the_cost_partial(odd):
    raw = {"prompt_tokens": 900, "completion_tokens": 20, "prompt_tokens_details": {"cached_tokens": odd}}
    assert make_call(raw, SONNET).cost_kind == "partial"
    assert make_call({**raw, "cost": 0.5}, SONNET).cost_kind == "reported"


def test_words_beside_the_figures_are_no_figures():
    raw = {"prompt_tokens": 900, "completion_tokens": 20, "token_type": "7", "tier": "12"}
    assert make_call(raw, SONNET).cost_kind == "computed"
