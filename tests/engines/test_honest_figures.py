"""One unit for the pause, no belief in absurd reports, and a log that says what happened."""

import logging

from midfold.engines import ContextCompressor
from midfold.engines.prepared import PREPARED_AHEAD, Background
from midfold.folding import CompressionPolicy, CompressionState, Strategy
from midfold.testing import transcript


def test_usage_reported_ten_times_too_high_is_not_believed(caplog):
    engine = ContextCompressor(200_000)
    items = transcript(turns=30, result_chars=3_000)
    tokens = engine.estimate(items)
    with caplog.at_level(logging.WARNING, "midfold"):
        engine.update_from_response({"prompt_tokens": tokens * 10})
    assert engine.last_prompt_tokens == 0
    assert engine.estimate(items) == tokens
    assert "not believed" in caplog.text
    engine.update_from_response({"prompt_tokens": int(tokens * 1.3)})
    assert engine.last_prompt_tokens == int(tokens * 1.3)


def test_the_pause_is_remembered_in_the_tokens_that_are_reported():
    engine = ContextCompressor(8_000, state=CompressionState(ineffective=1))
    stuck = [{"role": "system", "content": "word " * 9_000}, {"role": "user", "content": "word " * 1_000}]
    for _ in range(3):
        engine.estimate(stuck)
        engine.update_from_response({"prompt_tokens": 6_900})
    estimated = engine.estimate(stuck)
    assert not engine.compress_result(stuck).changed
    assert engine.state.paused_at_tokens in (None, estimated)


def test_a_compression_by_hand_uses_the_summary_that_is_ready():
    asked = []

    def summarize(request):
        asked.append(request)
        return "## Goal\n- Ship the tariff."

    def at_once(work, report):
        report(work())

    items = transcript(turns=90, result_chars=3_000)
    engine = ContextCompressor(
        120_000,
        policy=CompressionPolicy(strategy=Strategy.FOLD),
        summarizer=summarize,
        background=Background(launch=at_once),
    )
    shown = items[:40]
    while engine.estimate(shown) < engine.threshold_tokens * 0.82:
        shown = items[: len(shown) + 2]
    engine.should_compress_preflight(shown)
    paid = len(asked)
    assert paid
    result = engine.compress_result(shown)
    assert (result.reason, len(asked)) == (PREPARED_AHEAD, paid)


def test_folds_and_pressure_are_logged_and_nothing_that_was_said(caplog):
    engine = ContextCompressor(20_000)
    items = [*transcript(turns=40, result_chars=2_000), {"role": "user", "content": "the swordfish code"}]
    with caplog.at_level(logging.INFO, "midfold"):
        engine.should_compress_preflight(items)
        assert engine.compress_result(items).changed
    assert "pressure:" in caplog.text
    assert " tokens, summary of " in caplog.text
    assert "swordfish" not in caplog.text


def test_the_log_is_silent_by_default():
    assert any(isinstance(handler, logging.NullHandler) for handler in logging.getLogger("midfold").handlers)


def test_sizes_tell_the_words_of_a_model_from_those_of_the_digest():
    engine = ContextCompressor(
        200_000, summarizer=lambda _request: "## Goal\n- Ship the tariff by Friday.", prepare_ahead=False
    )
    result = engine.compress_result(transcript(turns=40, result_chars=2_000), focus_topic="tariff")
    assert result.summarizer == "model", result.warning
    assert 0 < result.model_tokens < 40 < result.summary_tokens
