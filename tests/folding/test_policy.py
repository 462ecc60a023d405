"""Budgets follow from settings."""

import pytest

from midfold.folding import Budget, CompressionPolicy


def test_the_worked_example_of_a_200_000_token_window():
    policy = CompressionPolicy(context_length=200_000)
    assert (policy.threshold_tokens, policy.tail_budget_tokens) == (100_000, 20_000)
    assert policy.summary_budget_tokens(1_000_000) == 10_000
    assert policy.target_tokens == 50_000


@pytest.mark.parametrize(
    ("window", "threshold"),
    [(1_000_000, 500_000), (128_000, 64_000), (100_000, 64_000), (64_000, 54_400), (8_000, 6_800)],
)
def test_the_threshold_has_a_floor_and_a_cap(window, threshold):
    assert CompressionPolicy(context_length=window).threshold_tokens == threshold


@pytest.mark.parametrize(
    ("folded", "budget"), [(1_000, 500), (5_000, 2_000), (20_000, 4_000), (50_000, 10_000), (500_000, 10_000)]
)
def test_a_summary_gets_a_fifth_within_its_bounds(folded, budget):
    assert CompressionPolicy(context_length=200_000).summary_budget_tokens(folded) == budget


@pytest.mark.parametrize(
    ("folded", "budget"),
    [(9_999, 2_000), (10_000, 2_000), (29_999, 4_499), (30_000, 3_000), (99_999, 9_999), (100_000, 5_000)],
)
def test_a_scaled_budget_uses_half_open_ranges(folded, budget):
    policy = CompressionPolicy(context_length=1_000_000, budget=Budget.SCALED)
    assert policy.summary_budget_tokens(folded) == budget


def test_fixed_budgets_replace_the_ratios():
    policy = CompressionPolicy(budget=Budget.FIXED, tail_tokens=16_000, summary_tokens=4_000)
    assert (policy.tail_budget_tokens, policy.summary_budget_tokens(100_000)) == (16_000, 4_000)


def test_a_ceiling_replaces_threshold_and_target():
    policy = CompressionPolicy(context_length=200_000, max_tokens=10_000)
    assert (policy.target_tokens, policy.tail_budget_tokens) == (10_000, 1_500)
