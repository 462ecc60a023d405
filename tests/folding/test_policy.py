"""Budgets follow from settings."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from midfold.folding import Budget, CompressionPolicy
from midfold.folding.policy import prefers_notes, tail_share


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


def test_the_newest_messages_get_more_of_a_wide_ceiling_than_of_a_narrow_one():
    fortieth, tenth, fifth = (tail_share(100_000 // part, 100_000) for part in (40, 10, 5))
    assert fortieth < tenth < fifth


@given(st.integers(0, 10**7), st.integers(0, 10**7), st.integers(0, 10**7))
def test_a_wider_ceiling_never_means_fewer_tokens_for_the_newest_messages(one, other, before):
    narrow, wide = sorted((one, other))
    assert narrow * tail_share(narrow, before) <= wide * tail_share(wide, before)


def test_a_tail_never_takes_more_than_a_third():
    assert tail_share(10, 0) <= 1 / 3


def test_notes_are_preferred_to_stubs_only_where_room_is_short():
    assert prefers_notes(20_000, 100_000)
    assert not prefers_notes(50_000, 100_000)
