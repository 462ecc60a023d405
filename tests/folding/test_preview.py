"""A compression for show: everything that a model would be asked, and nothing sent."""

from midfold.folding import CompressionPolicy
from midfold.folding.flow import compress
from midfold.folding.preview import rehearse
from midfold.testing import conversation
from midfold.tokens import TokenCounter


def flow(*, use_model=True, **policy):
    messages = conversation("openai_chat", turns=40, result_chars=1_500)
    return compress(messages, policy=CompressionPolicy(**policy), count=TokenCounter(), use_model=use_model)


def test_every_piece_that_would_be_sent_is_seen():
    rehearsal = rehearse(flow(max_tokens=6_000, summarizer_window=8_000))
    assert len(rehearsal.requests) > 1
    assert f"{len(rehearsal.requests)} of {len(rehearsal.requests)}" in rehearsal.requests[-1].prompt
    assert (rehearsal.result.summarizer, rehearsal.result.warning) == ("model", None)


def test_result_is_as_large_as_a_real_one():
    rehearsal = rehearse(flow(max_tokens=6_000))
    digest = rehearse(flow(max_tokens=6_000, use_model=False))
    assert digest.requests == ()
    assert rehearsal.result.folded == digest.result.folded
    assert 0.9 < rehearsal.result.tokens_after / digest.result.tokens_after < 1.1


def test_pass_that_needs_no_summary_asks_nothing():
    rehearsal = rehearse(flow(max_tokens=1_000_000))
    assert rehearsal.requests == ()
    assert not rehearsal.result.changed
