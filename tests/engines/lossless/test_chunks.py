"""Chunks: cut where the list may be cut, and never larger than they must be."""

from itertools import accumulate

from hypothesis import given
from hypothesis import strategies as st

from midfold.engines.lossless.chunks import LayerSizes, choose_to_condense, cut_chunks
from midfold.folding import Span

sizes = st.lists(st.integers(1, 400), min_size=1, max_size=40)


@given(sizes, st.data(), st.integers(50, 800))
def test_chunks_cover_their_span_and_end_at_legal_cuts(tokens, data, most):
    cuts = [
        True,
        *data.draw(st.lists(st.booleans(), min_size=len(tokens) - 1, max_size=len(tokens) - 1)),
        True,
    ]
    sums = [0, *accumulate(tokens)]
    chunks = cut_chunks([Span(0, len(tokens))], sums, cuts, most)
    assert [index for chunk in chunks for index in chunk] == list(range(len(tokens)))
    for chunk in chunks:
        assert cuts[chunk.start]
        assert cuts[chunk.stop]
        inner = [index for index in range(chunk.start + 1, chunk.stop) if cuts[index]]
        assert not inner or sums[chunk.stop] - sums[chunk.start] <= most


@given(sizes, st.integers(50, 800), st.integers(1, 300))
def test_no_chunk_is_too_small_and_only_a_small_span_is_left_out(tokens, most, fewest):
    sums, cuts = [0, *accumulate(tokens)], [True] * (len(tokens) + 1)
    chunks = cut_chunks([Span(0, len(tokens))], sums, cuts, most, fewest)
    assert all(sums[chunk.stop] - sums[chunk.start] >= fewest for chunk in chunks)
    covered = [index for chunk in chunks for index in chunk]
    assert covered == (list(range(len(tokens))) if sums[-1] >= fewest else [])


@given(st.integers(0, 400_000))
def test_a_summary_is_always_smaller_than_what_it_stands_for(tokens):
    layers = LayerSizes.for_target(50_000)
    assert layers.leaf_budget(tokens) <= tokens // 2
    assert layers.condensed_budget(tokens) <= tokens // 2


def test_the_oldest_of_the_lowest_depth_are_condensed_first():
    assert choose_to_condense([2, 1, 1, 0, 0, 0, 0, 0], 4) == Span(3, 7)


def test_without_a_full_row_the_oldest_are_condensed():
    assert choose_to_condense([2, 1, 0, 0], 4) == Span(0, 4)
    assert choose_to_condense([1, 0], 4) == Span(0, 2)


def test_a_single_summary_cannot_be_condensed():
    assert choose_to_condense([3], 4) is None
    assert choose_to_condense([], 4) is None


@given(st.lists(st.integers(0, 3), min_size=2, max_size=30), st.integers(2, 6))
def test_condensing_always_comes_to_an_end(depths, fan_in):
    steps = 0
    while (chosen := choose_to_condense(depths, fan_in)) is not None:
        assert len(chosen) >= 2
        depths[chosen.start : chosen.stop] = [max(depths[chosen.start : chosen.stop]) + 1]
        steps += 1
        assert steps < 40
