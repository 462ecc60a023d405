"""Estimates corrected by what providers report."""

from collections.abc import Iterator
from itertools import accumulate
from statistics import median

from hypothesis import given
from hypothesis import strategies as st

from midfold.tokens import Calibration, TokenCounter

TOKENS = st.integers(0, 2_000_000)


def test_before_any_reply_the_count_is_the_estimate():
    assert Calibration().estimate(1_234) == 1_234


def test_the_next_request_is_the_last_report_and_what_came_after():
    calibration = Calibration().observe(30_000, 2_000)  # 28,000 tokens of tools are not in the transcript
    assert calibration.estimate(2_500) == 30_500


def test_the_factor_is_learnt_from_growth_not_from_what_the_transcript_lacks():
    calibration = Calibration()
    for turn in range(1, 40):
        calibration = calibration.observe(30_000 + 1_300 * turn, 1_000 * turn)
    assert 1.25 < calibration.factor <= 1.3


def test_a_compaction_teaches_nothing_but_where_the_count_stands():
    before = Calibration().observe(90_000, 80_000)
    after = before.observe(20_000, 82_000)
    assert after.factor == before.factor
    assert after.estimate(82_100) == 20_100


def test_after_our_own_compression_what_is_left_is_estimated_from_what_went():
    assert Calibration().observe(90_000, 80_000).estimate(20_000) == 30_000


def test_an_estimate_after_a_compression_is_never_less_than_its_share():
    # Here the provider counts less than we do, so that subtracting our figure would leave less than nothing.
    assert Calibration().observe(50_000, 80_000).estimate(16_000) == 10_000


def test_an_aborted_call_that_reports_nothing_changes_nothing():
    calibration = Calibration().observe(30_000, 2_000)
    assert calibration.observe(0, 2_500) is calibration


def test_tiny_growth_is_not_evidence():
    calibration = Calibration().observe(30_000, 2_000)
    assert calibration.observe(30_018, 2_010).factor == 1.0


@given(st.lists(st.tuples(TOKENS, TOKENS), max_size=30), TOKENS)
def test_whatever_is_reported_the_factor_stays_plausible_and_estimates_positive(reports, counted):
    calibration = Calibration()
    for reported, own in reports:
        calibration = calibration.observe(reported, own)
    assert 0.5 <= calibration.factor <= 2.0
    assert calibration.estimate(counted) >= 0


def test_after_three_replies_the_median_error_against_real_reports_is_small(corpus):
    errors = [abs(estimate - reported) / reported for _, estimate, reported in _predictions(corpus)]
    assert len(errors) > 3_000
    assert median(errors) <= 0.005
    assert sorted(errors)[int(len(errors) * 0.95)] <= 0.07


def test_growth_between_real_replies_is_foreseen_within_seven_percent(corpus):
    grown = [found for found in _predictions(corpus) if found[2] > found[0]]
    errors = [abs(estimate - reported) / (reported - before) for before, estimate, reported in grown]
    assert median(errors) <= 0.07


def test_without_any_report_a_complete_request_is_counted_within_seven_percent(corpus):
    for conversation in corpus:
        if conversation.name.startswith(
            "miniswe"
        ):  # the only ones whose system prompt and tools are all there
            last = conversation.usage[-1]
            counted = _counts(conversation)[last["index"]]
            assert abs(counted - last["prompt_tokens"]) / last["prompt_tokens"] <= 0.07, conversation.name


def _predictions(corpus) -> Iterator[tuple[int, int, int]]:
    """Yield, for every reply after the third, the report before it, the estimate, and its own report."""
    for conversation in corpus:
        counts = _counts(conversation)
        calibration = Calibration()
        reports = [(entry["prompt_tokens"], counts[entry["index"]]) for entry in conversation.usage]
        for position, (reported, counted) in enumerate(reports):
            if position >= 3 and reported:
                yield calibration.reported_tokens, calibration.estimate(counted), reported
            calibration = calibration.observe(reported, counted)


def _counts(conversation) -> list[int]:
    """Return the count of `messages[:index]` and the tools for every index."""
    count = TokenCounter(conversation.model)
    sizes = [count(message) for message in conversation.messages] if conversation.usage else []
    return list(accumulate(sizes, initial=count.count_tools(conversation.tools)))
