"""Whoever summarises is waited for, but not for ever: not by a turn, a loop or the end of the program."""

import asyncio
import threading
import time
from contextvars import ContextVar

import pytest

from midfold.engines import ContextCompressor
from midfold.engines.summarizer_call import MOST_HANGING, Patience, SummarizerCaller
from midfold.errors import SummaryUnavailable
from midfold.folding import CompressionPolicy, Strategy
from midfold.summaries import SummaryRequest
from midfold.testing import transcript
from support.pace import LONG_SECONDS

WINDOW = 28_500  # the session fills it to 90 %: over the threshold, short of an emergency
SESSION = transcript("openai_chat", turns=30, result_chars=800)
NOTES = "## Goal\nShip the tariff."
SHORT = Patience(answer_seconds=0.05)
REQUEST = SummaryRequest("Write the notes.", 500)


@pytest.fixture
def gate():
    """Opens for all who wait when the test is over."""
    gate = threading.Event()
    yield gate
    gate.set()


@pytest.fixture
def hang(gate):
    def summarize(_request):
        gate.wait(60)
        return NOTES

    return summarize


def make_engine(summarizer, patience=SHORT, **policy):
    policy = CompressionPolicy(strategy=Strategy.FOLD, **policy)
    return ContextCompressor(WINDOW, policy=policy, summarizer=summarizer, patience=patience)


def test_a_summariser_that_hangs_is_given_up_at_its_deadline(hang):
    started = time.monotonic()
    result = make_engine(hang).compress_result(SESSION)
    assert time.monotonic() - started < LONG_SECONDS
    assert (result.changed, result.summarizer) == (True, "digest")
    assert "no answer within 0.05 s; the built-in digest stands in" in result.warning


def test_the_end_of_an_event_loop_does_not_wait_for_it_either(hang):
    async def host():
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await make_engine(hang, Patience()).acompress(SESSION)
        return await make_engine(hang).acompress_result(SESSION)

    started = time.monotonic()
    result = asyncio.run(host())
    assert time.monotonic() - started < LONG_SECONDS
    assert "no answer within 0.05 s" in result.warning


def test_of_threads_that_never_answer_there_are_three_at_most(hang):
    ask = SummarizerCaller(SHORT).for_fold(hang)
    reasons = []
    for _ in range(6):
        with pytest.raises(SummaryUnavailable) as late:
            ask(REQUEST)
        reasons.append(late.value.reason)
    assert reasons == ["no answer within 0.05 s"] * 3 + ["it still owes 3 answers"] * 3
    waiting = [thread for thread in threading.enumerate() if thread.name == "midfold-ask"]
    assert len(waiting) == MOST_HANGING
    assert all(thread.daemon for thread in waiting)


def test_one_that_answers_late_may_be_asked_again(gate, hang):
    ask = SummarizerCaller(SHORT).for_fold(hang)
    for _ in range(3):
        with pytest.raises(SummaryUnavailable):
            ask(REQUEST)
    gate.set()
    for thread in [thread for thread in threading.enumerate() if thread.name == "midfold-ask"]:
        thread.join(10)
    assert ask(REQUEST) == NOTES


class Clock:
    def __init__(self):
        self.seconds = 0.0

    def __call__(self):
        return self.seconds


@pytest.mark.parametrize("is_async", [False, True], ids=["blocking", "async"])
def test_all_pieces_of_a_fold_share_one_deadline(is_async):
    clock = Clock()

    def slow(_request):
        clock.seconds += 50
        return NOTES

    caller = SummarizerCaller(Patience(answer_seconds=60, fold_seconds=180), clock=clock)
    if is_async:
        answers = asyncio.run(answer_all(caller.for_fold_async(slow)))
    else:
        ask = caller.for_fold(slow)
        answers = asyncio.run(answer_all(lambda request: asyncio.to_thread(ask, request)))
    assert answers == [NOTES] * 4 + ["not all was read within 180 s"] * 2
    assert caller.for_fold(slow)(REQUEST) == NOTES


async def answer_all(ask):
    answers = []
    for _ in range(6):
        try:
            answers.append(await ask(REQUEST))
        except SummaryUnavailable as error:
            answers.append(error.reason)
    return answers


def test_a_fold_whose_pieces_take_too_long_is_written_by_the_digest():
    engine = make_engine(lambda _request: NOTES, summarizer_window=5_000)
    clock = Clock()

    def slow(_request):
        clock.seconds += 70
        return NOTES

    engine.summarizer = slow
    engine._caller = SummarizerCaller(clock=clock)
    result = engine.compress_result(SESSION)
    assert (result.changed, result.summarizer) == (True, "digest")
    assert "not all was read within 180 s; the built-in digest stands in" in result.warning


async def awaited(_request):
    await asyncio.sleep(0)
    return NOTES


class Awaited:
    """A summariser as an object, as most are."""

    deadline_seconds = 60.0

    async def __call__(self, request):
        return await awaited(request)


@pytest.mark.parametrize("summarizer", [awaited, Awaited(), lambda request: awaited(request)])
def test_an_async_summariser_is_awaited_in_async_code(summarizer):
    result = asyncio.run(make_engine(summarizer, Patience()).acompress_result(SESSION))
    assert (result.summarizer, result.warning) == ("model", None)


@pytest.mark.parametrize("summarizer", [awaited, Awaited(), lambda request: awaited(request)])
def test_an_async_summariser_is_refused_elsewhere_with_a_way_out(summarizer):
    result = make_engine(summarizer, Patience()).compress_result(SESSION)
    assert (result.changed, result.summarizer) == (True, "digest")
    assert "has to be awaited: use acompress, or give it as a BlockingSummarizer" in result.warning


def test_an_async_summariser_that_hangs_is_given_up():
    async def forever(_request):
        await asyncio.Event().wait()

    result = asyncio.run(make_engine(forever).acompress_result(SESSION))
    assert "no answer within 0.05 s" in result.warning


def until(condition):
    for _ in range(2_000):
        if condition():
            return
        threading.Event().wait(0.005)
    raise AssertionError("it never came")


def test_an_async_summariser_prepares_ahead_on_the_loop_of_its_host():
    async def host():
        loops = []

        async def summarize(_request):
            loops.append(asyncio.get_running_loop())
            return NOTES

        engine = ContextCompressor(
            100_000, policy=CompressionPolicy(strategy=Strategy.FOLD), summarizer=summarize
        )
        messages = transcript("openai_chat", turns=110, result_chars=1_000)
        assert not engine.should_compress_preflight(messages[:330])
        await asyncio.to_thread(until, lambda: engine.get_status()["preparation"]["phase"] == "ready")
        return await engine.acompress_result(messages[:400]), loops == [asyncio.get_running_loop()]

    result, is_own_loop = asyncio.run(host())
    assert result.reason == "prepared ahead, applied now"
    assert is_own_loop


def test_a_timeout_of_the_summariser_s_own_is_told_in_its_own_words():
    def times_out(_request):
        raise TimeoutError("the socket gave up after 10 s")

    for result in (
        make_engine(times_out).compress_result(SESSION),
        asyncio.run(make_engine(times_out).acompress_result(SESSION)),
    ):
        assert "TimeoutError: the socket gave up after 10 s" in result.warning


def test_one_that_keeps_a_deadline_of_its_own_is_asked_where_it_can_be_interrupted():
    class Punctual:
        deadline_seconds = 60.0

        def __call__(self, _request):
            return threading.current_thread().name

    assert SummarizerCaller().for_fold(Punctual())(REQUEST) == threading.current_thread().name


def test_what_a_host_has_put_into_its_context_is_seen_by_its_summariser():
    request_id = ContextVar("request_id")
    request_id.set("r-17")
    assert SummarizerCaller().for_fold(lambda _request: request_id.get())(REQUEST) == "r-17"
