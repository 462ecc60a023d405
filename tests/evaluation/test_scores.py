"""Fold upon fold: pieces are whole, and what is left is told for each length."""

import pytest

from midfold.evaluation.conversations import make_conversation
from midfold.evaluation.scores import chain_folds, cut_pieces
from midfold.testing import transcript
from midfold.wire import read_request


@pytest.fixture(scope="module")
def talk():
    return make_conversation("c", read_request(transcript("openai_chat", seed=2, turns=60), "openai_chat"))


@pytest.mark.parametrize("count", [1, 2, 5, 10])
def test_pieces_make_up_the_conversation_and_split_no_pair(talk, count):
    pieces = list(cut_pieces(talk, count, 0.1))
    assert len(pieces) == count
    assert [index for start, stop in pieces for index in range(start, stop)] == list(
        range(len(talk.messages))
    )
    starts = {start for start, _ in pieces}
    for call, result in talk.pairing.answers.items():
        assert starts.isdisjoint(range(call.message + 1, result.message + 1))


def test_the_first_piece_is_large_enough_to_be_folded(talk):
    start, stop = next(iter(cut_pieces(talk, 10, 0.2)))
    assert sum(talk.sizes[start:stop]) >= 0.4 * sum(talk.sizes)


def test_a_chain_tells_what_is_left_for_every_length(talk):
    links = chain_folds(talk, 0.3, lengths=(1, 3))
    assert [link.length for link in links] == [1, 3] * 4
    for link in links:
        assert link.everything.asked == len(talk.probes)
        assert 0 <= link.everything.kept <= link.everything.asked
        assert link.folds == link.length
