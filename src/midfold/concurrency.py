"""The bridge between threads and event loops, for every package that needs one.

Blocking callers run coroutines with `LoopThread`; coroutines run blocking work with `run_in_thread`, and what
must not be left half done with `shield_until_done`; `start_thread` is for work that nobody has to wait for; a
`FairLock` lets one of either kind through at a time.
All threads are daemons: work that hangs keeps no loop, and the end of the program for two seconds at most.
"""

import asyncio
import atexit
import os
import threading
import warnings
import weakref
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import CancelledError, Future, wait
from contextlib import suppress
from contextvars import copy_context
from functools import partial
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import Any, Generic, ParamSpec, TypeAlias, TypeVar

from midfold.errors import MidfoldError

_T = TypeVar("_T")
_P = ParamSpec("_P")
_Close: TypeAlias = Callable[[], Awaitable[None]]

_LOOP_NAME = "midfold-models"
_WORKER_NAME = "midfold-work"
_IDLE_SECONDS = 5.0
# Nobody waits for a loop that was forgotten, but what it has open should be closed when Python ends.
_FORGOTTEN_SECONDS = 1.0
_EXIT_SECONDS = 2.0
_under_way: "set[Future[Any]]" = set()
"""Work that has not ended."""


def start_thread(work: Callable[[], _T], name: str) -> "Future[_T]":
    """Begin on work in a thread of its own, in the caller's context; the future cannot be cancelled."""
    future: Future[_T] = Future()
    future.set_running_or_notify_cancel()  # what has begun cannot be taken back
    _under_way.add(future)
    future.add_done_callback(_under_way.discard)
    run = copy_context().run
    threading.Thread(target=run, args=(_settle, future, work), name=name, daemon=True).start()
    return future


@atexit.register
def _wait_at_exit() -> None:
    """Let work end that has begun: Python aborts where it stops a thread in the middle of C++ code."""
    wait(_under_way.copy(), timeout=_EXIT_SECONDS)


async def run_in_thread(work: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
    """Do blocking work beside the event loop; a caller that is cancelled leaves it to its end."""
    future: Future[_T] = Future()
    future.set_running_or_notify_cancel()
    call = partial(_settle, future, partial(_wrap_fatal_errors, partial(work, *args, **kwargs)))
    _find_worker().jobs.put(partial(copy_context().run, call))
    return await asyncio.wrap_future(future)


async def shield_until_done(work: Awaitable[_T]) -> _T:
    """Await something that must not be left half done; a cancellation in between is passed on after it."""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        while not task.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait([task])
        if not task.cancelled():
            task.exception()  # it is looked at: the cancellation is what counts
        raise


def running_loop() -> asyncio.AbstractEventLoop | None:
    """Return the event loop of the caller, if it is on one."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def start_on_loop(loop: asyncio.AbstractEventLoop, work: Awaitable[_T]) -> "Future[_T]":
    """Have something awaited on a loop that is not the caller's own."""
    return asyncio.run_coroutine_threadsafe(_await(work), loop)


class FairLock:
    """A lock that threads try and coroutines wait for; it lets one through at a time, in the order they came.

    A worker thread that finds it free goes through at once, which saves the way back to the event loop.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._is_taken = False
        self._waiting: deque[tuple[asyncio.AbstractEventLoop, asyncio.Future[None]]] = deque()

    def try_enter(self) -> bool:
        """Go through if nobody is in it, from any thread; who goes through has to leave."""
        with self._lock:
            is_free = not self._is_taken
            self._is_taken = True
            return is_free

    async def enter(self) -> None:
        """Wait for one's turn."""
        with self._lock:
            if not self._is_taken:
                self._is_taken = True
                return
            loop = asyncio.get_running_loop()
            turn = loop.create_future()
            self._waiting.append((loop, turn))
        try:
            await turn
        except asyncio.CancelledError:
            with self._lock:
                had_turn = turn.done() and not turn.cancelled()
            if had_turn:
                self.leave()
            raise

    def leave(self) -> None:
        """Let the next one through, from any thread."""
        with self._lock:
            if not self._waiting:
                self._is_taken = False
                return
            loop, turn = self._waiting.popleft()
        try:
            loop.call_soon_threadsafe(self._admit, turn)
        except RuntimeError:  # its loop has ended, and nobody waits there any more
            self.leave()

    def _admit(self, turn: "asyncio.Future[None]") -> None:
        if turn.cancelled():
            self.leave()
        else:
            turn.set_result(None)

    async def __aenter__(self) -> None:
        await self.enter()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.leave()


class LoopClosed(MidfoldError, RuntimeError):
    """A call came too late for its loop, or was under way when that was closed."""

    def __init__(self) -> None:
        super().__init__(f"{_LOOP_NAME} is closed")


class LoopThread:
    """An event loop in a thread, for any number of blocking callers. Close it when they are done."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._stop = asyncio.Event()
        self._lock = threading.Lock()
        self._is_closing = False
        self._open: set[_Call[Any]] = set()
        self._adopted: set[_Close] = set()
        # The thread does not hold this object, so that a forgotten one is noticed.
        work = (self._loop, self._stop, self._adopted)
        self._thread = threading.Thread(target=_run_loop, args=work, name=_LOOP_NAME, daemon=True)
        self._thread.start()
        self._forgotten = weakref.finalize(self, _end_forgotten, self._loop, self._stop, self._thread)

    def run(self, coroutine: Coroutine[object, None, _T]) -> _T:
        """Run a coroutine to its end and return its result; raises `LoopClosed`.

        An interrupted caller cancels it and waits until it has let go: nobody should pay for an answer that
        nobody reads.
        """
        call = _Call(coroutine, self._loop)
        try:
            self._submit(call)
            call.ended.acquire()
            return call.result()
        finally:
            if call.is_submitted and not call.is_ended:
                with suppress(RuntimeError):  # the loop has ended, and its end lets everybody go
                    self._loop.call_soon_threadsafe(call.cancel)
                call.ended.acquire()
            self._open.discard(call)

    def adopt(self, close: _Close) -> None:
        """Await `close()` before the loop ends, when nothing else runs in it any more."""
        self._adopted.add(close)

    def release(self, close: _Close) -> None:
        """Await at once what was adopted; a loop that ends has done so by itself."""
        with suppress(LoopClosed):
            self.run(_call(close))
            self._adopted.discard(close)

    @property
    def is_closed(self) -> bool:
        """Whether the loop has ended, and nothing can run any more."""
        return not self._thread.is_alive()

    def close(self) -> None:
        """Stop the loop, cancelling what still runs, and wait for its thread to end."""
        self._forgotten.detach()
        with self._lock:
            was_closing, self._is_closing = self._is_closing, True
        if not was_closing:
            self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()
        # What came too late to be run is waited for by somebody, too.
        for call in list(self._open):
            call.abandon()

    def _submit(self, call: "_Call[_T]") -> None:
        """Hand a call to the loop, unless that is about to end."""
        is_own = threading.current_thread() is self._thread
        with self._lock:
            if self._is_closing or is_own:
                call.abandon()
                raise RuntimeError(f"{_LOOP_NAME} would wait for itself") if is_own else LoopClosed
            self._open.add(call)
            self._loop.call_soon_threadsafe(call.start)
            call.is_submitted = True


class _Call(Generic[_T]):
    """A coroutine that a thread waits for while a loop runs it.

    The thread waits for a plain lock. A future has a condition, which a signal handler that raises, such as
    that of Ctrl-C, leaves broken: the caller or the loop would wait for ever.
    """

    def __init__(self, coroutine: Coroutine[object, None, _T], loop: asyncio.AbstractEventLoop) -> None:
        self._coroutine = coroutine
        self._loop = loop
        self._task: asyncio.Task[_T] | None = None
        self.ended = threading.Lock()
        self.ended.acquire()
        self.is_ended = False
        self.is_submitted = False

    def start(self) -> None:
        """Begin; called in the loop."""
        if not self.is_ended:
            self._task = self._loop.create_task(self._coroutine)
            self._task.add_done_callback(self._finish)

    def cancel(self) -> None:
        """Cancel it; called in the loop, where it was begun before."""
        if self._task is not None:
            self._task.cancel()

    def abandon(self) -> None:
        """Let the caller go where the loop never began, or will not go on."""
        if not self.is_ended:
            if self._task is None:
                self._coroutine.close()
            self._end()

    def result(self) -> _T:
        """Return the result, once it has ended; raises `LoopClosed` where it was cancelled."""
        if self._task is None or not self._task.done() or self._task.cancelled():
            raise LoopClosed
        return self._task.result()

    def _finish(self, task: "asyncio.Task[_T]") -> None:
        if not task.cancelled():
            task.exception()  # it is looked at, also where an interrupted caller never asks
        self._end()

    def _end(self) -> None:
        self.is_ended = True
        self.ended.release()


def _run_loop(loop: asyncio.AbstractEventLoop, stop: asyncio.Event, adopted: set[_Close]) -> None:
    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        runner.run(_serve(stop, adopted))


async def _serve(stop: asyncio.Event, adopted: set[_Close]) -> None:
    """Let others run until it is time to stop; then end them, so that nobody opens what is being closed."""
    await stop.wait()
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    while adopted:
        await adopted.pop()()


def _end_forgotten(loop: asyncio.AbstractEventLoop, stop: asyncio.Event, thread: threading.Thread) -> None:
    """End a loop that nobody can close any more. Python may call this anywhere, also in the loop's thread."""
    try:
        warnings.warn(
            f"a model or summariser was left open, and with it {_LOOP_NAME}; "
            "call its close(), or use it in a `with` block",
            ResourceWarning,
            stacklevel=2,
        )
    finally:
        loop.call_soon_threadsafe(stop.set)
        if threading.current_thread() is not thread:
            thread.join(_FORGOTTEN_SECONDS)


async def _call(close: _Close) -> None:
    await close()


async def _await(work: Awaitable[_T]) -> _T:
    return await work


def _settle(future: "Future[_T]", work: Callable[[], _T]) -> None:
    try:
        future.set_result(work())
    except BaseException as error:  # noqa: BLE001 - the waiting caller gets it, and nobody else
        future.set_exception(error)


def _wrap_fatal_errors(work: Callable[[], _T]) -> _T:
    """Do work whose errors only say that it failed; some would end the loop, or hang the caller."""
    try:
        return work()
    except BaseException as error:
        if isinstance(error, Exception) and not isinstance(error, (StopIteration, CancelledError)):
            raise
        raise RuntimeError(f"{type(error).__name__}: {error}") from error


class _Worker(threading.Thread):
    """A thread that waits a while for more work before it ends: starting one takes longer than most work."""

    def __init__(self) -> None:
        super().__init__(name=_WORKER_NAME, daemon=True)
        self.jobs: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self.process = os.getpid()

    def run(self) -> None:
        while True:
            try:
                job = self.jobs.get(timeout=_IDLE_SECONDS)
            except Empty:
                with suppress(ValueError):
                    _idle.remove(self)
                    return
                continue  # somebody has just taken it, and gives it work
            job()
            del job  # what it held is not kept until the next one
            _idle.append(self)


_idle: list[_Worker] = []
"""Workers without work. Taking one out and putting one in are single steps, so that no lock is needed."""


def _find_worker() -> _Worker:
    """Return a worker that nobody else has."""
    while True:
        try:
            worker = _idle.pop()
        except IndexError:
            worker = _Worker()
            worker.start()
            return worker
        if worker.process == os.getpid():  # threads do not live on in a child process
            return worker
