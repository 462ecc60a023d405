"""Zero wait, as a host sees it: no turn waits for a summary, and none comes where it does not belong."""

import asyncio
import threading
import time
from typing import NamedTuple

import pytest

from midfold.engines import ContextCompressor
from midfold.engines.prepared import PREPARED_AHEAD, Background, is_prepared_for
from midfold.folding import CompressionPolicy, Strategy
from midfold.folding.compression import Compression
from midfold.folding.fold import Edit, Fold, apply
from midfold.folding.state import CompressionState
from midfold.messages import Message, Reasoning, Text
from midfold.summaries.prompts import find_body
from midfold.testing import transcript
from midfold.tokens import TokenCounter
from midfold.wire import parse
from midfold.wire.validate import validate

WINDOW = 100_000  # prepared from 51,200, threshold 64,000, hard tier 85,000, emergency 95,000
MARK, THRESHOLD, HARD, EMERGENCY = 51_200, 64_000, 85_000, 95_000
MOST_WAIT_SECONDS = 0.050
FOLD = CompressionPolicy(strategy=Strategy.FOLD)
ALL = transcript("openai_chat", turns=110, result_chars=1_000)
_SIZES = [TokenCounter()(message) for message in parse(ALL)]


class Later:
    """Takes work and does it when it is told to."""

    def __init__(self):
        self.jobs = []

    def __call__(self, work, report):
        self.jobs.append((work, report))

    def finish(self):
        work, report = self.jobs.pop()
        report(work())


class Clock:
    def __init__(self):
        self.seconds = 0.0

    def __call__(self):
        return self.seconds


def up_to(tokens):
    """Return whole exchanges of one long conversation that take at most `tokens`."""
    starts = [index for index, item in enumerate(ALL) if item["role"] == "user"]
    return ALL[: max(start for start in starts if sum(_SIZES[:start]) <= tokens)]


def summarize(_request):
    return "## Goal\nShip the tariff.\n\n## Completed Actions\n1. READ src/tariff.py"


def make_engine(summarizer=summarize, clock=None, **options):
    later = Later()
    background = Background(launch=later, clock=clock or Clock())
    options = {"policy": FOLD, **options}
    return ContextCompressor(WINDOW, summarizer=summarizer, background=background, **options), later


def phase(engine):
    return engine.get_status()["preparation"]["phase"]


def why(engine):
    return engine.get_status()["preparation"]["why"]


def ready_engine(**options):
    engine, later = make_engine(**options)
    assert not engine.should_compress_preflight(up_to(MARK + 6_000))
    later.finish()
    assert phase(engine) == "ready"
    return engine


def test_below_the_mark_nothing_is_prepared():
    engine, later = make_engine()
    assert not engine.should_compress_preflight(up_to(MARK - 500))
    assert (later.jobs, phase(engine)) == ([], "idle")


def test_a_prepared_fold_is_published_onto_the_longer_list():
    engine = ready_engine()
    messages = up_to(THRESHOLD + 4_000)
    assert engine.should_compress_preflight(messages)
    result = engine.compress_result(messages)
    assert (result.reason, result.summarizer, result.warning) == (PREPARED_AHEAD, "model", None)
    assert "Ship the tariff." in result.summary
    assert result.tokens_after < MARK
    assert validate(result.messages, dialect="openai_chat") == []
    assert (engine.compression_count, engine.state.folds, phase(engine)) == (1, 1, "idle")
    assert engine.last_prompt_tokens == result.tokens_after


def test_what_a_published_fold_counts_is_what_is_there():
    engine = ready_engine()
    messages = up_to(THRESHOLD + 4_000)
    result = engine.compress_result(messages)
    count = TokenCounter()
    assert result.tokens_before == sum(map(count, parse(messages)))
    assert result.tokens_after == sum(map(count, parse(result.messages)))
    assert result.before == tuple(parse(messages))


def test_kept_and_folded_make_the_whole_conversation():
    engine = ready_engine()
    messages = up_to(THRESHOLD + 4_000)
    result = engine.compress_result(messages)
    folded = {index for span in result.folded for index in span}
    edited = {edit.index for edit in result.fold.edits} | set(range(result.fold.lead))
    untouched = [item for index, item in enumerate(messages) if index not in folded | edited]
    assert all(any(item is kept for kept in result.messages) for item in untouched)
    assert len(result.messages) == len(messages) - len(folded) + 1 + len(result.fold.inserts)
    assert all(new is old for new, old in zip(result.restore(), messages, strict=True))


def test_the_active_task_is_the_request_of_now_and_not_of_back_then():
    engine = ready_engine()
    messages = [*up_to(THRESHOLD), {"role": "user", "content": "Now paint the meters green."}]
    result = engine.compress_result(messages, current_tokens=THRESHOLD + 1_000)
    assert result.reason == PREPARED_AHEAD
    notes = find_body(result.summary)
    assert notes.startswith("## Active Task\nNow paint the meters green.")
    assert notes.count("## Active Task") == 1
    assert result.messages[-1] is messages[-1]


def test_while_one_is_prepared_the_host_goes_on_until_the_hard_tier():
    engine, _later = make_engine()
    sizes = (MARK + 2_000, THRESHOLD + 2_000, HARD - 2_000)
    assert [engine.should_compress_preflight(up_to(size)) for size in sizes] == [False] * 3
    engine.update_from_response({"prompt_tokens": engine.estimate(up_to(HARD - 2_000))})
    assert not engine.should_compress()
    assert engine.should_compress_preflight(up_to(HARD + 4_000))


@pytest.mark.parametrize("size", [HARD + 4_000, EMERGENCY + 4_000], ids=["hard", "emergency"])
def test_from_the_hard_tier_on_the_digest_stands_in_at_once(size):
    engine, later = make_engine()
    engine.should_compress_preflight(up_to(MARK + 2_000))
    messages = up_to(size)
    assert engine.should_compress_preflight(messages)
    result = engine.compress_result(messages)
    assert (result.changed, result.summarizer) == (True, "digest")
    assert result.warning == "the summary is still being prepared; the built-in digest stands in"
    assert (phase(engine), why(engine)) == ("discarded", "a compression came first")
    later.finish()
    assert phase(engine) == "discarded"


def test_a_jump_past_the_hard_tier_does_not_wait_either():
    engine, later = make_engine(summarizer=never)
    messages = up_to(HARD + 4_000)
    assert engine.should_compress_preflight(messages)
    assert later.jobs == []
    assert engine.compress_result(messages).summarizer == "digest"


def never(_request):
    raise AssertionError("nobody is to be asked in a turn")


def test_a_manual_command_asks_the_model_though_a_fold_is_being_prepared():
    engine, later = make_engine()
    messages = up_to(MARK + 2_000)
    engine.should_compress_preflight(messages)
    result = engine.compress_result(messages, focus_topic="tariff")
    assert (result.summarizer, result.warning) == ("model", None)
    assert (phase(engine), why(engine)) == ("discarded", "a compression came first")
    later.finish()
    assert phase(engine) == "discarded"


def test_a_manual_command_folds_all_with_the_model_though_less_is_ready():
    engine = ready_engine()
    result = engine.compress_result(up_to(MARK + 6_000), focus_topic="tariff")
    assert (result.reason, result.summarizer, why(engine)) == ("folded", "model", "a compression came first")


def test_a_host_that_never_asks_ahead_is_compressed_directly():
    engine, later = make_engine()
    engine.update_from_response({"prompt_tokens": THRESHOLD + 4_000})
    assert engine.should_compress()
    result = engine.compress_result(up_to(THRESHOLD + 4_000))
    assert (later.jobs, result.reason, result.summarizer) == ([], "folded", "model")


def test_a_report_starts_the_preparation_while_the_user_is_reading():
    engine, later = make_engine()
    engine.should_compress_preflight(up_to(MARK - 4_000))
    assert later.jobs == []
    engine.update_from_response({"prompt_tokens": MARK + 100})
    assert phase(engine) == "preparing"


def test_without_a_summariser_or_when_told_so_nothing_is_prepared():
    for options in ({"summarizer": None}, {"prepare_ahead": False}, {"enabled": False}):
        engine, later = make_engine(**options)
        engine.should_compress_preflight(up_to(MARK + 2_000))
        assert (later.jobs, phase(engine)) == ([], "idle")


def edit(messages):
    return [*messages[:9], {**messages[9], "content": "something else"}, *messages[10:]]


def cut(messages):
    return messages[:20]


def drop(messages):
    return [*messages[:5], *messages[6:]]


@pytest.mark.parametrize("change", [edit, drop])
def test_a_history_that_changed_discards_the_fold_and_another_is_prepared(change):
    engine, later = make_engine()
    engine.should_compress_preflight(up_to(MARK + 6_000))
    later.finish()
    assert not engine.should_compress_preflight(change(up_to(THRESHOLD + 4_000)))
    assert (phase(engine), len(later.jobs)) == ("preparing", 1)


@pytest.mark.parametrize("change", [edit, drop, cut])
def test_a_fold_is_never_put_on_a_history_that_it_was_not_made_for(change):
    engine = ready_engine()
    messages = change(up_to(THRESHOLD + 6_000))
    result = engine.compress_result(messages, current_tokens=THRESHOLD + 4_000)
    assert result.reason != PREPARED_AHEAD
    assert "Ship the tariff." not in (result.summary or "")
    assert why(engine) == "the history changed"


def test_a_message_written_into_in_place_is_noticed():
    messages = [dict(item) for item in up_to(THRESHOLD + 4_000)]
    engine, later = make_engine()
    engine.should_compress_preflight(messages[: len(up_to(MARK + 6_000))])
    later.finish()
    messages[9]["content"] = "something else"
    result = engine.compress_result(messages)
    assert result.reason != PREPARED_AHEAD


def test_a_thought_that_the_client_drops_makes_no_edit_miss_its_place():
    thinking = Message("assistant", (Reasoning("Hm.", "c2ln"), Text("a long story")))
    thoughtless = Message("assistant", (Text("a long story"),))
    shorten = Edit.at(0, thinking, [(1, Text("a story"))])
    fold = Fold(edits=(shorten,)).identified([thinking])
    prepared = Compression([], (thinking,), fold, "pruned", CompressionState(), 9, 5, 5)
    assert is_prepared_for(prepared, [thinking])
    assert is_prepared_for(prepared, [thoughtless])
    assert [message.text for message in apply(fold, [thoughtless])] == ["a story"]


@pytest.mark.parametrize(
    ("event", "reason"),
    [
        (lambda engine: engine.update_model("gpt-5", WINDOW), "another model took over"),
        (lambda engine: engine.on_session_start("s-2"), "another session started"),
        (lambda engine: engine.on_session_end("s-1", []), "the session ended"),
        (lambda engine: engine.cancel_preparation(), "it was cancelled"),
        (lambda engine: setattr(engine, "summarizer", None), "another summariser was set"),
        (lambda engine: engine.pin("Never touch config."), "the pins changed"),
        (lambda engine: engine.unpin("Never touch config."), "the pins changed"),
        (lambda engine: engine.on_session_reset(), ""),
    ],
    ids=["model", "session", "end", "cancel", "summariser", "pin", "unpin", "reset"],
)
def test_whatever_makes_a_fold_unfit_discards_it(event, reason):
    engine = ready_engine()
    event(engine)
    assert (phase(engine), why(engine)) == ("discarded" if reason else "idle", reason)
    assert engine.compress_result(up_to(THRESHOLD + 4_000)).reason != PREPARED_AHEAD


def test_hosts_may_name_the_same_model_in_every_turn():
    engine = ready_engine()
    engine.summarizer = summarize
    engine.update_model("", WINDOW)
    assert phase(engine) == "ready"
    assert engine.compress_result(up_to(THRESHOLD + 4_000)).reason == PREPARED_AHEAD


def test_the_continuation_of_a_compression_is_the_same_conversation():
    engine = ready_engine()
    engine.on_session_start("s-2", boundary_reason="compression", old_session_id="s-1")
    assert phase(engine) == "ready"


def test_a_failed_preparation_rests_and_the_digest_says_why_it_stands_in():
    def broken(_request):
        raise ConnectionError("refused")

    engine, later = make_engine(summarizer=broken, clock=(clock := Clock()))
    engine.should_compress_preflight(up_to(MARK + 6_000))
    later.finish()
    assert "ConnectionError: refused" in why(engine)
    messages = up_to(THRESHOLD + 4_000)
    assert engine.should_compress_preflight(messages)
    assert later.jobs == []
    result = engine.compress_result(messages)
    assert (result.changed, result.summarizer) == (True, "digest")
    assert "ConnectionError: refused" in result.warning
    clock.seconds = 61.0
    for _ in range(3):
        engine.update_from_response({"prompt_tokens": MARK - 10_000})
    engine.should_compress_preflight(up_to(MARK + 6_000))
    assert phase(engine) == "preparing"


def test_a_rest_never_holds_up_a_manual_command():
    answers = iter([ConnectionError("refused"), "## Goal\nShip."])

    def flaky(_request):
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    engine, later = make_engine(summarizer=flaky)
    engine.should_compress_preflight(up_to(MARK + 6_000))
    later.finish()
    result = engine.compress_result(up_to(MARK + 6_000), focus_topic="tariff")
    assert (result.summarizer, result.warning) == ("model", None)


def test_a_fold_that_would_no_longer_help_is_not_published():
    engine = ready_engine()
    messages = up_to(THRESHOLD)
    result = engine.compress_result([*messages, *up_to(24_000)], current_tokens=HARD + 8_000)
    assert result.reason != PREPARED_AHEAD
    assert result.changed


def test_an_interrupt_while_publishing_leaves_the_fold_ready():
    engine = ready_engine()
    messages = up_to(THRESHOLD + 4_000)
    state = engine.state

    def interrupted(_message):
        raise KeyboardInterrupt

    engine.estimate(messages)
    counter, engine._meter.reader.count = engine._meter.reader.count, interrupted
    with pytest.raises(KeyboardInterrupt):
        engine.compress(messages)
    engine._meter.reader.count = counter
    assert (phase(engine), engine.state, engine.compression_count) == ("ready", state, 0)
    assert engine.compress_result(messages).reason == PREPARED_AHEAD


def test_where_pruning_will_do_nobody_is_asked_and_it_is_ready_all_the_same():
    engine = ready_engine(policy=CompressionPolicy(), summarizer=never)
    result = engine.compress_result(up_to(THRESHOLD + 4_000))
    assert (result.reason, result.summarizer, result.folded) == (PREPARED_AHEAD, None, ())
    assert result.tokens_after < MARK


def test_no_turn_waits_for_a_summariser_that_takes_a_minute():
    # Of several runs the quickest counts: other programs want the processor, too.
    runs = [time_turns() for _ in range(3)]
    assert max(min(turn) for turn in zip(*runs, strict=True)) < MOST_WAIT_SECONDS


def time_turns():
    """Work through the mark and the threshold, and measure what the engine adds to each turn."""
    asked, answered = threading.Event(), threading.Event()

    def slow(request):
        asked.set()
        answered.wait(60)
        return summarize(request)

    engine, seconds = ContextCompressor(WINDOW, policy=FOLD, summarizer=slow), []
    for size in range(MARK - 4_000, THRESHOLD + 8_000, 2_000):
        seconds.append(time_turn(engine, up_to(size)))
        assert seconds[-1].result is None
    assert asked.wait(10)
    answered.set()
    until(lambda: phase(engine) == "ready")
    seconds.append(time_turn(engine, up_to(THRESHOLD + 10_000)))
    assert seconds[-1].result.reason == PREPARED_AHEAD
    return [turn.seconds for turn in seconds]


def time_turn(engine, messages):
    engine.estimate(messages)  # what is new is read and counted in any turn, with a summariser or without
    begun, result = time.perf_counter(), None
    if engine.should_compress_preflight(messages):
        result = engine.compress_result(messages)
    else:
        engine.update_from_response({"prompt_tokens": engine.estimate(messages)})
        assert not engine.should_compress()
    return Turn(time.perf_counter() - begun, result)


class Turn(NamedTuple):
    seconds: float
    result: object


def until(condition):
    for _ in range(2_000):
        if condition():
            return
        threading.Event().wait(0.005)
    raise AssertionError("it never came")


def test_the_event_loop_of_an_async_host_never_waits():
    gate = threading.Event()

    def slow(request):
        gate.wait(60)
        return summarize(request)

    async def host():
        engine = ContextCompressor(WINDOW, policy=FOLD, summarizer=slow)
        messages = up_to(MARK + 6_000)
        assert not engine.should_compress_preflight(messages)
        await asyncio.sleep(0)
        assert phase(engine) == "preparing"
        gate.set()
        await asyncio.to_thread(until, lambda: phase(engine) == "ready")
        return await engine.acompress_result(up_to(THRESHOLD + 4_000))

    assert asyncio.run(host()).reason == PREPARED_AHEAD


def test_an_engine_that_is_left_alone_leaves_only_daemon_threads():
    gate = threading.Event()
    hang = lambda request: gate.wait(60) and summarize(request)  # noqa: E731
    engine = ContextCompressor(WINDOW, policy=FOLD, summarizer=hang)
    engine.should_compress_preflight(up_to(MARK + 6_000))
    engine.on_session_end("s-1", [])
    mine = [thread for thread in threading.enumerate() if thread.name == "midfold-prepare"]
    assert mine
    assert all(thread.daemon for thread in mine)
    gate.set()
    for thread in mine:
        thread.join(10)
    assert phase(engine) == "discarded"
