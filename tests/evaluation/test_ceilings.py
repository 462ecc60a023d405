"""Ladders of ceilings show where less gave more, and where a ceiling was missed that could be met."""

import pytest

from midfold.evaluation.ceilings import CeilingLadder, Rung, climb_down, summarize_ceilings
from midfold.evaluation.conversations import make_conversation
from midfold.testing import transcript
from midfold.wire import read_request


def ladder(*rungs):
    return CeilingLadder("c", 1000, tuple(Rung(ceiling / 1000, ceiling, tokens) for ceiling, tokens in rungs))


def test_a_smaller_ceiling_with_a_larger_result_is_found():
    found = ladder((500, 400), (300, 420), (100, 90)).larger
    assert [(above.ceiling, below.ceiling) for above, below in found] == [(500, 300)]


def test_equal_results_are_no_larger_ones():
    assert ladder((500, 400), (300, 300), (100, 300)).larger == []


def test_a_ceiling_is_missed_only_where_some_fold_meets_it():
    assert [rung.ceiling for rung in ladder((500, 510), (300, 290)).unmet] == [500]
    assert ladder((500, 490), (300, 310)).unmet == []


def test_conversations_are_counted_not_rungs():
    figures = summarize_ceilings([ladder((500, 1), (300, 2), (100, 3)), ladder((500, 5))])
    assert (figures.conversations, figures.larger_results, figures.unmet_ceilings) == (2, 1, 0)
    assert summarize_ceilings([]) is None


@pytest.mark.parametrize("dialect", ["anthropic", "openai_chat"])
def test_a_ladder_goes_from_large_to_small(dialect):
    conversation = make_conversation("c", read_request(transcript(dialect, seed=3, turns=40), dialect), ())
    found = climb_down(conversation, [0.3, 0.5])
    assert [rung.ratio for rung in found.rungs] == [0.5, 0.3]
    assert found.larger == found.unmet == []
