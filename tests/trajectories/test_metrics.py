"""Sums agree with what they are the sums of, in whatever order they are taken."""

import json
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from midfold.trajectories import AggregateMetrics, Histogram, TrajectoryMetrics

TOKENS = st.integers(0, 3_000_000)


@st.composite
def metrics(draw):
    original, turns = draw(TOKENS), draw(st.integers(1, 2_000))
    is_compressed = draw(st.booleans())
    return TrajectoryMetrics(
        original_tokens=original,
        original_turns=turns,
        compressed_tokens=draw(st.integers(0, original)) if is_compressed else original,
        compressed_turns=draw(st.integers(1, turns)) if is_compressed else turns,
        was_compressed=is_compressed,
        still_over_limit=draw(st.booleans()),
        skipped_under_target=not is_compressed,
        failure=draw(st.sampled_from([None, "too late"])),
        summarizer="digest" if is_compressed else None,
    )


def aggregate(many):
    total = AggregateMetrics()
    for each in many:
        total.add(each)
    return total


def test_names_beyond_the_first_twenty_are_counted_together():
    total = AggregateMetrics()
    total.add_remarks([], [f"speaker {number}" for number in range(50)])
    other = AggregateMetrics.from_dict(json.loads(json.dumps(total.to_dict())))
    total.merge(other)
    assert len(total.unknown_speakers) == 21
    assert total.unknown_speakers["speaker 3"] == 2
    assert total.unknown_speakers["others"] == 60


def test_ratio_is_one_where_nothing_was_done():
    assert TrajectoryMetrics(0, 1, 0, 1).compression_ratio == 1.0
    assert TrajectoryMetrics(900, 4, 900, 4, skipped_under_target=True).compression_ratio == 1.0


def test_dictionary_has_all_figures_and_is_json():
    told = TrajectoryMetrics(40_000, 90, 10_000, 30, 4, 64, 60, was_compressed=True).to_dict()
    assert json.loads(json.dumps(told)) == told
    assert (told["tokens_saved"], told["turns_removed"], told["compression_ratio"]) == (30_000, 60, 0.25)
    assert (told["turns_compressed_start_idx"], told["turns_compressed_end_idx"]) == (4, 64)


@given(st.lists(metrics(), max_size=30), st.integers(0, 30), st.integers(0, 5))
def test_parts_add_up_to_the_whole_in_any_order(many, cut, rejected):
    whole = aggregate(many)
    whole.add_rejected(rejected)
    first, second = aggregate(many[cut:]), aggregate(many[:cut])
    second.add_rejected(rejected)
    first.merge(second)
    assert first == whole
    assert whole.rows == len(many) + rejected
    assert whole.tokens_saved == sum(each.tokens_saved for each in many)
    assert whole.turns_removed == sum(each.turns_removed for each in many)
    assert sum(whole.histograms["tokens_before"].counts) == len(many)
    assert sum(whole.histograms["compression_ratio"].counts) == whole.compressed


@given(st.lists(metrics(), max_size=10))
def test_aggregate_survives_being_written_down_and_sent(many):
    whole = aggregate(many)
    assert AggregateMetrics.from_dict(json.loads(json.dumps(whole.to_dict()))) == whole
    assert pickle.loads(pickle.dumps(whole)) == whole  # noqa: S301 - what was just made


def test_row_that_was_kept_is_not_counted_as_over_the_limit_again():
    total = aggregate([TrajectoryMetrics(20_000, 9, 20_000, 9, still_over_limit=True, failure="too late")])
    assert (total.kept, total.over_limit, total.compressed, total.skipped) == (1, 0, 0, 0)


@pytest.mark.parametrize(("value", "place"), [(-5, 0), (0, 0), (1, 1), (2, 1), (3, 1), (99, 1)])
def test_what_lies_beyond_the_edges_is_in_the_outermost_bin(value, place):
    histogram = Histogram.empty((0, 1, 3))
    histogram.add(value)
    assert histogram.counts.index(1) == place
