"""What a person asks for by hand: fold all but the last exchanges, and take a fold back."""

import asyncio

import pytest

from midfold.engines import ContextCompressor
from midfold.errors import ConfigError
from midfold.folding import Budget, CompressionPolicy
from midfold.testing import conversation, transcript
from midfold.wire.validate import validate

WINDOW = 100_000
DIALECTS = ("openai_chat", "openai_responses", "anthropic")


def session(dialect="openai_chat", **options):
    return transcript(dialect, turns=12, result_chars=700, **options)


def starts_of_exchanges(items, dialect):
    """Return where the user speaks; what tools gave back is not the user's."""
    messages = conversation(dialect, turns=12, result_chars=700)
    assert len(messages) == len(items)
    return [i for i, message in enumerate(messages) if message.role == "user" and message.text.strip()]


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("exchanges", [1, 2, 5])
def test_the_last_exchanges_stay_and_all_before_them_but_the_head_is_folded(dialect, exchanges):
    items = session(dialect)
    engine = ContextCompressor(WINDOW)
    result = engine.compress_result(items, keep_last=exchanges)
    start = starts_of_exchanges(items, dialect)[-exchanges]
    if exchanges > 1 or len(items) - start >= 3:
        assert result.folded[-1].stop == start
    kept = items[start:]
    assert all(new is old for new, old in zip(result.messages[-len(kept) :], kept, strict=True))
    assert validate(result.messages, dialect=dialect) == []
    assert result.summarizer == "digest"


def test_an_exchange_of_any_size_stays_word_for_word():
    big = {"role": "user", "content": "word " * 30_000}
    items = [*session(), big, {"role": "assistant", "content": "Read."}, *session(system=False)[:4]]
    result = ContextCompressor(WINDOW).compress_result(items, keep_last=2)
    assert any(item is big for item in result.messages)
    assert result.folded[-1].stop == len(items) - 6


def test_fixed_budgets_do_not_change_what_stays():
    items = session()
    policy = CompressionPolicy(budget=Budget.FIXED, tail_tokens=50, head_tokens=500)
    result = ContextCompressor(WINDOW, policy=policy).compress_result(items, keep_last=3)
    assert result.folded[-1].stop == starts_of_exchanges(items, "openai_chat")[-3]


def test_an_emergency_does_not_cut_into_what_a_person_wants_to_keep():
    items = session()
    result = ContextCompressor(9_000).compress_result(items, current_tokens=8_900, keep_last=4)
    assert result.folded[-1].stop == starts_of_exchanges(items, "openai_chat")[-4]


def test_an_earlier_summary_is_no_exchange_and_is_folded_again():
    engine = ContextCompressor(WINDOW)
    items = engine.compress(session(), focus_topic="tariff")
    more = [*items, *transcript(turns=24, result_chars=700)[len(session()) :]]
    result = engine.compress_result(more, keep_last=2)
    assert sum("CONTEXT COMPACTION" in str(item.get("content")) for item in result.messages) == 1
    assert engine.compression_count == 2


@pytest.mark.parametrize("exchanges", [12, 13, 500])
def test_with_nothing_before_them_nothing_is_folded(exchanges):
    items = session()
    engine = ContextCompressor(WINDOW)
    result = engine.compress_result(items, keep_last=exchanges)
    assert not result.changed
    assert result.reason == f"there is nothing to fold before the last {exchanges} exchanges"
    assert all(new is old for new, old in zip(result.messages, items, strict=True))
    assert engine.state.ineffective == 0


@pytest.mark.parametrize("items", [[], [{"role": "user", "content": "hi"}]], ids=["none", "one"])
def test_hardly_any_messages_are_left_alone(items):
    assert ContextCompressor(WINDOW).compress_result(items, keep_last=1).messages == items


def test_no_exchange_to_keep_is_no_number():
    with pytest.raises(ConfigError, match="keep_last is 0; expected a number of exchanges"):
        ContextCompressor(WINDOW).compress_result(session(), keep_last=0)


def test_a_model_may_write_the_summary_of_a_partial_fold_in_async_code_too():
    engine = ContextCompressor(WINDOW, summarizer=lambda _request: "## Goal\nShip the tariff.")
    result = asyncio.run(engine.acompress_result(session(), keep_last=2))
    assert result.summarizer == "model"
    assert "Ship the tariff." in result.summary


@pytest.mark.parametrize("dialect", DIALECTS)
def test_undo_gives_back_the_list_before_and_what_came_since(dialect):
    items = session(dialect)
    engine = ContextCompressor(WINDOW)
    folded = engine.compress(items, focus_topic="tariff")
    since = transcript(dialect, turns=1, seed=5, system=False)
    restored = engine.undo([*folded, *since])
    assert len(folded) < len(items)
    assert all(new is old for new, old in zip(restored, [*items, *since], strict=True))


def test_undo_without_messages_goes_by_the_list_that_was_last_shown():
    items = session()
    engine = ContextCompressor(WINDOW)
    folded = engine.compress(items, focus_topic="tariff")
    shown = [*folded, {"role": "user", "content": "And the night rate?"}]
    engine.should_compress_preflight(shown)
    assert engine.undo() == [*items, shown[-1]]


def test_undo_right_after_a_compression_gives_back_what_it_was_given():
    items = session()
    engine = ContextCompressor(WINDOW)
    engine.compress(items, focus_topic="tariff")
    assert engine.undo() == items


def test_undo_works_once_and_only_for_the_last_compression():
    items = transcript(turns=30, result_chars=700)
    engine = ContextCompressor(20_000)
    assert engine.undo(items[:80]) is None
    first = engine.compress(items[:80], focus_topic="tariff")
    grown = [*first, *items[80:]]
    second = engine.compress(grown, focus_topic="tariff")
    assert engine.compression_count == 2
    assert engine.undo(second) == grown
    assert engine.undo(grown) is None


def test_undo_does_not_guess_at_a_conversation_that_it_does_not_know():
    engine = ContextCompressor(WINDOW)
    folded = engine.compress(session(), focus_topic="tariff")
    assert engine.undo(folded[1:]) is None
    assert engine.undo([dict(item) for item in folded]) is None
    assert engine.undo(folded) is not None


def test_a_host_that_went_on_with_the_old_list_keeps_it():
    items = session()
    engine = ContextCompressor(WINDOW)
    engine.compress(items, focus_topic="tariff")
    more = [*items, {"role": "user", "content": "And the night rate?"}]
    assert engine.undo(more) == more


def test_what_was_undone_is_not_folded_again_at_once():
    items = transcript(turns=20, result_chars=800)
    engine = ContextCompressor(int(ContextCompressor().estimate(items) / 0.9))
    assert engine.should_compress_preflight(items)
    folded = engine.compress(items)
    assert engine.compression_count == 1
    restored = engine.undo(folded)
    assert (engine.compression_count, engine.state.folds) == (0, 0)
    assert not engine.should_compress_preflight(restored)
    assert engine.should_compress(int(engine.last_prompt_tokens * 1.2) + 1)


@pytest.mark.parametrize(
    "event",
    [
        lambda engine: engine.on_session_reset(),
        lambda engine: engine.on_session_start("s-2"),
        lambda engine: engine.on_session_end("s-1", []),
    ],
    ids=["reset", "start", "end"],
)
def test_undo_ends_with_the_conversation(event):
    engine = ContextCompressor(WINDOW)
    folded = engine.compress(session(), focus_topic="tariff")
    event(engine)
    assert engine.undo(folded) is None


def test_undo_reaches_across_the_continuation_of_a_compression():
    items = session()
    engine = ContextCompressor(WINDOW)
    folded = engine.compress(items, focus_topic="tariff")
    engine.on_session_start("s-2", boundary_reason="compression", old_session_id="s-1")
    assert engine.undo(folded) == items
