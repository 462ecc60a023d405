"""The figures of a call."""

from hypothesis import given
from hypothesis import strategies as st

from midfold.tokens import CanonicalUsage

USAGES = st.builds(CanonicalUsage, *[st.integers(0, 10**9)] * 6)


def test_cached_tokens_fill_the_window_but_thinking_is_not_counted_twice():
    usage = CanonicalUsage(100, 50, 30, 20, 40)
    assert usage.prompt_tokens == 150
    assert usage.total_tokens == 200


def test_the_hit_rate_is_the_cached_part_of_the_prompt():
    assert CanonicalUsage(20, 500, 75, 5).cache_hit_rate == 0.75
    assert CanonicalUsage(output_tokens=5).cache_hit_rate == 0.0


@given(USAGES, USAGES)
def test_usages_add_up_bucket_by_bucket(one, other):
    both = one + other
    assert both == other + one
    assert both.prompt_tokens == one.prompt_tokens + other.prompt_tokens
    assert both.total_tokens == one.total_tokens + other.total_tokens


@given(USAGES)
def test_no_usage_adds_nothing(usage):
    assert usage + CanonicalUsage() == usage
