"""What calls cost."""

from decimal import Decimal

import pytest

from midfold.tokens import CanonicalUsage, Cost, Prices, cache_saving, price
from midfold.tokens.pricing import price_with

MILLION = 1_000_000
SONNET = "claude-sonnet-4-5"  # 3 in, 15 out, 0.30 read, 3.75 and 6 written


def test_every_bucket_has_its_price():
    usage = CanonicalUsage(MILLION, MILLION, MILLION, MILLION)
    assert price(usage, SONNET) == Cost(Decimal("22.05"))


def test_writes_that_last_an_hour_cost_more():
    usage = CanonicalUsage(cache_write_tokens=MILLION, cache_write_1h_tokens=MILLION // 2)
    assert price(usage, SONNET) == Cost((Decimal("3.75") + 6) / 2)


def test_reasoning_is_part_of_the_output_and_not_charged_again():
    usage = CanonicalUsage(output_tokens=MILLION, reasoning_tokens=MILLION)
    assert price(usage, SONNET).dollars == 15


@pytest.mark.parametrize("usage", [CanonicalUsage(), CanonicalUsage(10, 10)])
def test_an_unknown_model_costs_something_unknown_not_nothing(usage):
    cost = price(usage, "my-own-finetune")
    assert cost.dollars is None
    assert not cost.is_complete


def test_a_call_that_used_nothing_of_a_known_model_costs_nothing():
    assert price(CanonicalUsage(), SONNET) == Cost(Decimal(0))


def test_a_bucket_without_a_price_is_named_and_the_rest_is_a_lower_bound():
    cost = price_with(CanonicalUsage(MILLION, cache_write_tokens=5), Prices(input=Decimal(2)))
    assert cost == Cost(Decimal(2), ("cache_write",))
    assert not cost.is_complete


def test_costs_add_up_and_what_is_unknown_in_one_stays_unknown():
    known, unknown = price(CanonicalUsage(MILLION), SONNET), price(CanonicalUsage(5), "my-own-finetune")
    assert known + known == Cost(Decimal(6))
    assert known + unknown == Cost(Decimal(3), ("input",))
    assert (unknown + unknown).dollars is None


@pytest.mark.parametrize(("prompt_tokens", "dollars_per_million"), [(200_000, "1.25"), (200_001, "2.5")])
def test_a_long_prompt_costs_its_own_price_from_the_first_token_on(prompt_tokens, dollars_per_million):
    cost = price(CanonicalUsage(prompt_tokens), "gemini/gemini-2.5-pro")
    assert cost.dollars == Decimal(dollars_per_million) * prompt_tokens / MILLION


def test_cached_tokens_count_towards_the_length_of_a_prompt():
    usage = CanonicalUsage(1_000, cache_read_tokens=200_000)
    assert price(usage, "gemini/gemini-2.5-pro").dollars == Decimal("0.0525")


def test_caching_saves_what_reads_are_cheaper_less_what_writes_are_dearer():
    usage = CanonicalUsage(5_000, cache_read_tokens=MILLION, cache_write_tokens=MILLION)
    assert cache_saving(usage, SONNET) == Decimal("1.95")


def test_what_caching_saved_is_unknown_without_prices():
    assert cache_saving(CanonicalUsage(cache_read_tokens=5), "my-own-finetune") is None
