"""A compression for show: everything that a model would be asked, and nothing sent."""

from midfold.folding import CompressionPolicy
from midfold.folding.flow import compress
from midfold.folding.preview import dry_run
from midfold.testing import conversation
from midfold.tokens import TokenCounter


def flow(*, use_model=True, **policy):
    messages = conversation("openai_chat", turns=40, result_chars=1_500)
    return compress(messages, policy=CompressionPolicy(**policy), count=TokenCounter(), use_model=use_model)


def test_every_piece_that_would_be_sent_is_seen():
    planned = dry_run(flow(max_tokens=6_000, summarizer_window=8_000))
    assert len(planned.requests) > 1
    assert f"{len(planned.requests)} of {len(planned.requests)}" in planned.requests[-1].prompt
    assert (planned.result.summarizer, planned.result.warning) == ("model", None)


def test_result_is_as_large_as_a_real_one():
    planned = dry_run(flow(max_tokens=6_000))
    digest = dry_run(flow(max_tokens=6_000, use_model=False))
    assert digest.requests == ()
    assert planned.result.folded == digest.result.folded
    assert 0.9 < planned.result.tokens_after / digest.result.tokens_after < 1.1


def test_pass_that_needs_no_summary_asks_nothing():
    planned = dry_run(flow(max_tokens=1_000_000))
    assert planned.requests == ()
    assert not planned.result.changed
