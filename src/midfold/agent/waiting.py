"""Waiting without holding up the event loop, and without being torn away from what must be finished."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from contextvars import copy_context
from functools import partial
from queue import Empty, SimpleQueue
from threading import Thread
from typing import ParamSpec, TypeVar

_T = TypeVar("_T")
_P = ParamSpec("_P")

_IDLE_SECONDS = 5.0


async def in_thread(work: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
    """Do blocking work beside the event loop, in a daemon thread: one that hangs keeps nobody here."""
    future: Future[_T] = Future()
    future.set_running_or_notify_cancel()  # what has begun cannot be taken back

    def live() -> None:
        try:
            future.set_result(work(*args, **kwargs))
        except BaseException as error:  # noqa: BLE001 - whoever waits is told, and nobody else
            future.set_exception(_tame(error))

    _find_worker().jobs.put(partial(copy_context().run, live))
    return await asyncio.wrap_future(future)


class _Worker(Thread):
    """A thread that waits a while for more work before it ends: starting one takes longer than most work."""

    def __init__(self) -> None:
        super().__init__(name="midfold-agent-work", daemon=True)
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


def _tame(error: BaseException) -> Exception:
    """Return an error that only says that the work failed; some would end the loop, or hang who waits."""
    if isinstance(error, Exception) and not isinstance(error, (StopIteration, CancelledError)):
        return error
    tame = RuntimeError(f"{type(error).__name__}: {error}")
    tame.__cause__ = error
    return tame


async def to_the_end(work: Awaitable[_T]) -> _T:
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
