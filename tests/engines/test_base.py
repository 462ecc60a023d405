"""Engines built from one value: the same history, settings and key give the same bytes."""

import json
from dataclasses import replace

import pytest

from midfold.engines import ContextCompressor, ContextEngine, EngineSetup, FoldingEngine
from midfold.errors import EngineUnable
from midfold.folding import CompressionPolicy, Strategy
from midfold.folding.state import CompressionState
from midfold.testing import transcript

FOLD = CompressionPolicy(strategy=Strategy.FOLD, context_length=60_000)
SECRET = "ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def session():
    items = transcript("openai_chat", turns=40, result_chars=2_500)
    items[3] = {"role": "user", "content": f"the key is {SECRET}, use it. Never print it."}
    return items


@pytest.mark.parametrize("key", [b"", b"k" * 32])
def test_two_engines_with_one_key_write_the_same_bytes(key):
    items = session()
    first, second = (
        json.dumps(ContextCompressor.open(EngineSetup(FOLD, key=key)).compress(items)) for _ in range(2)
    )
    assert first == second
    assert json.dumps(ContextCompressor(60_000, policy=FOLD, key=key).compress(items)) == first


def test_another_key_gives_other_placeholders():
    items = session()
    by_key = [ContextCompressor(60_000, policy=FOLD, key=key).compress(items) for key in (b"", b"k")]
    assert by_key[0] != by_key[1]


def test_an_engine_that_takes_up_another_conversation_writes_as_one_made_for_it():
    items = session()
    state = CompressionState(count=2, folds=1, pins=("Only metric units.",))
    engine = ContextCompressor(60_000, policy=FOLD, key=b"one")
    engine.estimate(items)
    engine.on_session_reset()
    engine.adopt(state, key=b"two")
    made = ContextCompressor(60_000, policy=FOLD, key=b"two", state=state)
    assert (engine.key, engine.pins, engine.compression_count) == (b"two", ("Only metric units.",), 2)
    assert made.compression_count == 2
    assert engine.compress_result(items) == made.compress_result(items)


def test_a_state_goes_in_and_comes_out():
    engine = ContextCompressor(60_000, policy=FOLD)
    engine.pin("Only metric units.")
    result = engine.compress_result(session())
    assert engine.state == result.state
    assert (engine.state.count, engine.state.pins) == (1, ("Only metric units.",))
    again = ContextCompressor.open(EngineSetup(FOLD, state=engine.state))
    assert again.state == engine.state


def test_a_reply_without_usage_changes_nothing():
    engine = ContextCompressor(60_000)
    engine.update_from_response({"prompt_tokens": 1_000, "completion_tokens": 5})
    before = (engine.state, engine.last_prompt_tokens, engine.last_total_tokens)
    engine.update_from_response(None)
    assert (engine.state, engine.last_prompt_tokens, engine.last_total_tokens) == before


def test_a_model_is_named_by_position():
    engine = ContextCompressor(60_000)
    engine.update_model("openai/gpt-5-mini", 200_000, "https://example.com/v1", "key", "openai")
    assert (engine.model, engine.context_length) == ("openai/gpt-5-mini", 200_000)


def test_another_policy_keeps_the_window():
    engine = ContextCompressor(60_000)
    engine.policy = replace(FOLD, context_length=1, threshold=0.8)
    assert (engine.policy.context_length, engine.threshold_percent) == (60_000, 0.8)


def test_a_rehearsal_changes_nothing_and_asks_nobody():
    asked = []
    engine = ContextCompressor(60_000, policy=FOLD, summarizer=asked.append)
    items = session()
    planned = engine.dry_run(items)
    assert planned.result.changed
    assert planned.requests
    assert (asked, engine.state) == ([], CompressionState())
    assert "before the last 500" in engine.dry_run(items, keep_last=500).result.reason


class Plain(FoldingEngine):
    """The least that a folding engine is."""

    name = "plain"
    policy = key = None
    can_pin = False
    update_from_response = should_compress = open = adopt = estimate = lambda *_: None
    compress_result = acompress_result = lambda *_: None


def test_what_an_engine_need_not_do_is_refused_in_one_sentence():
    engine = Plain()
    assert isinstance(engine, ContextEngine)
    with pytest.raises(EngineUnable, match="the engine 'plain' cannot say beforehand"):
        engine.dry_run([])
    for change in (engine.pin, engine.unpin):
        with pytest.raises(EngineUnable, match="cannot keep sentences word for word"):
            change("Only metric units.")
