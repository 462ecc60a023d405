"""A preparation from start to end: one at a time, used once, given up in time."""

import asyncio
import threading

from midfold.engines.prepared import (
    MOST_IN_VAIN,
    MOST_WORKERS,
    Background,
    Phase,
    Preparation,
    arrive,
    begin,
    can_wait,
    commit,
    discard,
    fail,
    is_time,
    launch,
    prepare_from,
)
from midfold.folding import CompressionPolicy
from midfold.folding.compression import Compression
from midfold.folding.fold import Fold, Span
from midfold.folding.state import CompressionState
from midfold.messages import Message, Text

FOLD = Fold((Span(0, 1),), 0, Message("user", (Text("summary"),)), (), (), b"", b"")
DONE = Compression([], (), FOLD, "folded", CompressionState(), 10, 5, 8, summarizer="model")


class Clock:
    """Goes on when it is told to."""

    def __init__(self):
        self.seconds = 0.0

    def __call__(self):
        return self.seconds


class Later:
    """Takes work and does it when it is told to."""

    def __init__(self):
        self.jobs = []

    def __call__(self, work, report):
        self.jobs.append((work, report))

    def finish(self, place=-1):
        work, report = self.jobs[place]
        report(work())


def test_a_fold_is_prepared_once_and_used_once():
    background = Background(launch=(later := Later()))
    background.start(lambda: DONE)
    background.start(lambda: DONE)
    assert len(later.jobs) == 1
    later.finish()
    ready = background.preparation
    assert (ready.phase, ready.ready) == (Phase.READY, DONE)
    assert [background.commit(ready.ticket), background.commit(ready.ticket)] == [True, False]
    assert background.preparation.phase is Phase.IDLE


def test_of_many_who_publish_at_once_one_does():
    background = Background(launch=(later := Later()))
    background.start(lambda: DONE)
    later.finish()
    ticket, won, gate = background.preparation.ticket, [], threading.Barrier(8)

    def publish():
        gate.wait()
        won.append(background.commit(ticket))

    threads = [threading.Thread(target=publish) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(won) == [False] * 7 + [True]


def test_a_result_that_comes_after_its_preparation_was_given_up_is_ignored():
    background = Background(launch=(later := Later()))
    background.start(lambda: DONE)
    background.discard("another model took over")
    background.start(lambda: DONE)
    later.finish(0)
    assert background.preparation.phase is Phase.PREPARING
    later.finish(1)
    assert background.preparation.ticket == 2


def test_a_preparation_past_its_deadline_has_failed_and_rests():
    background = Background(clock=(clock := Clock()), launch=(later := Later()))
    background.start(lambda: DONE)
    clock.seconds = 179.9
    assert background.describe() == {"phase": "preparing", "seconds": 179.9, "why": ""}
    clock.seconds = 180.0
    assert background.describe() == {"phase": "discarded", "seconds": 0.0, "why": "no summary within 180 s"}
    later.finish()
    assert background.preparation.ready is None
    clock.seconds = 239.0
    background.start(lambda: DONE)
    assert len(later.jobs) == 1
    clock.seconds = 240.0
    background.start(lambda: DONE)
    assert background.preparation.phase is Phase.PREPARING


def test_a_host_that_changes_its_history_all_the_time_is_not_followed_for_ever():
    background = Background(launch=(later := Later()))
    for _ in range(10):
        background.start(lambda: DONE)
        later.finish()
        background.discard_stale()
    assert (len(later.jobs), background.preparation.why) == (MOST_IN_VAIN, "the history changed")
    background.conclude()
    background.start(lambda: DONE)
    assert background.preparation.phase is Phase.PREPARING


def test_a_summariser_that_always_fails_is_not_asked_for_ever():
    background = Background(clock=(clock := Clock()), launch=(later := Later()))

    def fail():
        raise ConnectionError("refused")

    for hour in range(10):
        clock.seconds = hour * 3_600.0
        background.start(fail)
        if background.preparation.phase is Phase.PREPARING:
            work, report = later.jobs[-1]
            report(outcome_of(work))
    assert (len(later.jobs), background.preparation.why) == (MOST_IN_VAIN, "ConnectionError: refused")


def outcome_of(work):
    try:
        return work()
    except ConnectionError as error:
        return error


def test_a_fold_that_was_used_makes_up_for_those_that_came_to_nothing():
    background = Background(launch=(later := Later()))
    for _ in range(10):
        background.start(lambda: DONE)
        later.finish()
        background.discard_stale()
        background.start(lambda: DONE)
        later.finish()
        assert background.commit(background.preparation.ticket)


def test_what_a_digest_wrote_is_a_failure_that_says_why():
    stand_in = Compression(
        [],
        (),
        FOLD,
        "folded",
        CompressionState(),
        10,
        5,
        8,
        summarizer="digest",
        warning="no summary: refused",
    )
    background = Background(launch=(later := Later()))
    background.start(lambda: stand_in)
    later.finish()
    assert background.describe()["why"] == "no summary: refused"


def test_where_there_is_too_little_to_fold_yet_nothing_failed():
    idle = Compression([], (), None, "nothing can be folded", CompressionState(), 10, 10, 8)
    background = Background(clock=(clock := Clock()), launch=(later := Later()))
    for minute in range(10):
        clock.seconds = minute * 60.0
        background.start(lambda: idle)
        later.finish()
        assert background.describe() == {"phase": "idle", "seconds": 0.0, "why": ""}
        background.start(lambda: idle)
    assert len(later.jobs) == 10


def test_work_that_raises_is_a_failure_too():
    ended = threading.Event()
    background = Background(launch=lambda work, report: launch(work, lambda o: (report(o), ended.set())))

    def work():
        raise SystemExit(3)

    background.start(work)
    assert ended.wait(10)
    assert background.describe()["why"] == "SystemExit: 3"


def test_where_no_thread_is_to_be_had_the_preparation_fails():
    def refuse(_work, _report):
        raise RuntimeError("can't start new thread")

    background = Background(launch=refuse)
    background.start(lambda: DONE)
    assert "can't start new thread" in background.preparation.why


def test_threads_that_hang_are_bounded():
    gate = threading.Event()
    background = Background(clock=(clock := Clock()))

    def hang():
        gate.wait(10)
        return DONE

    for minute in range(10):
        clock.seconds = minute * 200.0
        background.start(hang)
        background.conclude()
    hanging = [thread for thread in threading.enumerate() if thread.name == "midfold-prepare"]
    assert len(hanging) == MOST_WORKERS
    assert all(thread.daemon for thread in hanging)
    gate.set()
    for thread in hanging:
        thread.join(10)
    background.start(lambda: DONE)
    assert background.preparation.ticket == MOST_WORKERS + 1


def test_forgetting_lifts_the_rest_but_hears_nothing_of_what_was_asked_before():
    background = Background(launch=(later := Later()))
    background.start(lambda: DONE)
    background.forget()
    assert background.preparation.phase is Phase.IDLE
    background.start(lambda: DONE)
    later.finish(0)
    assert background.preparation.phase is Phase.PREPARING


def test_an_async_host_is_told_on_its_own_loop():
    async def host():
        reported = asyncio.get_running_loop().create_future()
        launch(lambda: DONE, lambda outcome: reported.set_result((outcome, threading.current_thread())))
        return await asyncio.wait_for(reported, 10)

    assert asyncio.run(host()) == (DONE, threading.main_thread())


def test_a_loop_that_ended_meanwhile_does_not_lose_the_result():
    gate, reported = threading.Event(), threading.Event()
    outcomes = []

    async def host():
        launch(lambda: gate.wait(10) and DONE, lambda outcome: (outcomes.append(outcome), reported.set()))

    asyncio.run(host())
    gate.set()
    assert reported.wait(10)
    assert outcomes == [DONE]


def test_each_step_leaves_a_preparation_in_another_phase_alone():
    idle, ready = Preparation(), Preparation(Phase.READY, 1, 0.0, DONE)
    under_way = begin(idle, 5.0)
    assert (under_way.phase, under_way.ticket, under_way.since) == (Phase.PREPARING, 1, 5.0)
    assert begin(under_way, 6.0) is under_way
    assert begin(ready, 6.0) is ready
    assert arrive(idle, 0, DONE) is idle
    assert fail(ready, 1, "late", 9.0) is ready
    assert commit(under_way, 1) is under_way
    assert discard(idle, "why not") is idle


def test_it_is_time_from_four_fifths_of_the_threshold_until_the_hard_tier():
    policy, state = CompressionPolicy(context_length=200_000), CompressionState()
    assert prepare_from(policy) == 80_000
    assert [is_time(tokens, policy, state) for tokens in (79_999, 80_000, 120_000, 169_999, 170_000)] == [
        False,
        True,
        True,
        True,
        False,
    ]
    assert not can_wait(170_000, policy)


def test_nothing_is_prepared_while_automatic_compression_pauses():
    paused = CompressionState(paused_at_tokens=100_000)
    assert not is_time(90_000, CompressionPolicy(context_length=200_000), paused)


def test_a_fold_from_elsewhere_is_taken_where_none_is_under_way_or_ready():
    background = Background(launch=(later := Later()))
    background.receive(DONE)
    assert background.preparation.ready is DONE
    assert background.commit(background.preparation.ticket)
    background.start(lambda: DONE)
    background.receive(DONE)
    assert background.preparation.phase is Phase.PREPARING
    later.finish()
    assert background.preparation.ready is DONE


def test_what_a_model_wrote_is_told_to_others():
    background, told = Background(launch=(later := Later())), []
    background.tell = told.append
    background.start(lambda: DONE)
    later.finish()
    assert told == [DONE]
