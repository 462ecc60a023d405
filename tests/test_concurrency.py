"""Threads and event loops: work crosses over with its errors and its context, and nothing is torn apart."""

import asyncio
import signal
import subprocess
import sys
import textwrap
import threading
from concurrent.futures import CancelledError
from contextvars import ContextVar

import pytest

from midfold.concurrency import (
    LoopClosed,
    LoopThread,
    run_in_thread,
    running_loop,
    shield_until_done,
    start_on_loop,
    start_thread,
)

NAME: ContextVar[str] = ContextVar("name", default="nobody")


def test_work_in_a_thread_sees_the_context_of_its_caller():
    token = NAME.set("caller")
    try:
        assert start_thread(NAME.get, "midfold-test").result(5) == "caller"
        assert asyncio.run(run_in_thread(NAME.get)) == "caller"
    finally:
        NAME.reset(token)


def test_started_thread_is_a_daemon_whose_error_is_handed_over():
    def fail() -> None:
        raise SystemExit(threading.current_thread().daemon)

    with pytest.raises(SystemExit, match="True"):
        start_thread(fail, "midfold-test").result(5)


@pytest.mark.parametrize("error", [StopIteration, SystemExit, KeyboardInterrupt, CancelledError])
def test_error_that_would_end_a_loop_only_says_that_the_work_failed(error):
    def fail() -> None:
        raise error("out")

    async def call() -> None:
        with pytest.raises(RuntimeError, match=rf"^{error.__name__}: out$"):
            await run_in_thread(fail)

    asyncio.run(call())


def test_plain_error_comes_back_as_it_is():
    with pytest.raises(KeyError):
        asyncio.run(run_in_thread({}.__getitem__, "missing"))


def test_shielded_work_is_done_before_the_cancellation_goes_on():
    done = []

    async def work() -> None:
        await asyncio.sleep(0.01)
        done.append("work")

    async def cancel() -> None:
        task = asyncio.ensure_future(shield_until_done(work()))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancel())
    assert done == ["work"]


def test_awaitable_is_awaited_on_the_loop_it_is_given_to():
    async def host() -> bool:
        loop = asyncio.get_running_loop()

        async def ask() -> bool:
            return asyncio.get_running_loop() is loop

        return await run_in_thread(lambda: start_on_loop(loop, ask()).result(5))

    assert asyncio.run(host())
    assert running_loop() is None


def test_loop_runs_coroutines_until_it_is_closed():
    async def double(number: int) -> int:
        return number * 2

    thread = LoopThread()
    assert thread.run(double(4)) == 8
    thread.close()
    assert thread.is_closed
    with pytest.raises(LoopClosed):
        thread.run(double(4))


INTERRUPTED = """
import asyncio, signal, sys
from midfold.concurrency import LoopThread

class Stop(BaseException):
    pass

is_armed = False

def stop(*_):
    if is_armed:
        raise Stop

async def work():
    await asyncio.sleep(0)
    return 7

sys.unraisablehook = lambda _: None  # Python drops what is raised while it tidies up
signal.signal(signal.SIGALRM, stop)
loop, stopped = LoopThread(), 0
for n in range(20_000):
    signal.setitimer(signal.ITIMER_REAL, 0.00001 + (n * 37 % 1_000) * 0.0000002)
    try:
        is_armed = True
        try:
            assert loop.run(work()) == 7
        finally:
            is_armed = False
    except Stop:
        stopped += 1
    is_armed = False
signal.setitimer(signal.ITIMER_REAL, 0)
assert loop.run(work()) == 7
loop.close()
print(stopped)
"""


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs a timer that signals")
def test_a_signal_handler_that_raises_at_any_moment_blocks_neither_the_loop_nor_the_caller():
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, timeout=60, check=True
    )
    assert int(done.stdout) > 100


def test_a_program_ends_well_while_work_is_under_way():
    """Python stops threads at its end; one that is in C++ then takes the whole process with it."""
    program = """
        import time
        from midfold.concurrency import start_thread
        from midfold.redact import redact

        def work():
            end = time.monotonic() + 0.5
            while time.monotonic() < end:
                redact("password=hunter2 and more words " * 1_000)

        redact("password=hunter2")
        start_thread(work, "work")
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
