"""Models for callers without an event loop: the async model, run by a loop in a thread of its own."""

import asyncio
import threading
import warnings
import weakref
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Iterator
from concurrent.futures import CancelledError, Future, wait
from contextlib import suppress
from types import TracebackType
from typing import Self, TypeAlias, TypeVar

from midfold.errors import MidfoldError
from midfold.providers.failing import broken
from midfold.providers.model import CLOSED, Model
from midfold.wire.apis import Completion, StreamEvent

_T = TypeVar("_T")
_Close: TypeAlias = Callable[[], Awaitable[None]]

_NAME = "midfold-models"
# Nobody waits for a loop that was forgotten, but what it has open should be closed when Python ends.
_FORGOTTEN_SECONDS = 1.0


class LoopClosed(MidfoldError, RuntimeError):
    """A call came too late for its loop, or was under way when that was closed."""

    def __init__(self) -> None:
        super().__init__(f"{_NAME} is closed")


class LoopThread:
    """An event loop in a thread, for any number of blocking callers. Close it when they are done."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._stop = asyncio.Event()
        self._lock = threading.Lock()
        self._is_closing = False
        self._open: dict[object, Callable[[], bool]] = {}
        self._adopted: set[_Close] = set()
        # The thread does not hold this object, so that one which is forgotten can be told.
        work = (self._loop, self._stop, self._adopted)
        self._thread = threading.Thread(target=_run_loop, args=work, name=_NAME, daemon=True)
        self._thread.start()
        self._forgotten = weakref.finalize(self, _end_forgotten, self._loop, self._stop, self._thread)

    def run(self, coroutine: Coroutine[object, None, _T]) -> _T:
        """Run a coroutine to its end and return its result; raises `LoopClosed`.

        An interrupted caller cancels it and waits until it has let go: nobody should pay for an answer that
        nobody reads.
        """
        tasks: list[asyncio.Task[object]] = []
        future = self._submit(coroutine, tasks)
        try:
            return future.result()
        except CancelledError:
            raise LoopClosed from None
        finally:
            if not future.done():
                with suppress(RuntimeError):  # the loop has ended, and its end lets everybody go
                    self._loop.call_soon_threadsafe(self._cancel, tasks)
                wait([future])
            self._open.pop(future, None)

    def adopt(self, close: _Close) -> None:
        """Await `close()` before the loop ends, when nothing else runs in it any more."""
        self._adopted.add(close)

    def release(self, close: _Close) -> None:
        """Await at once what was adopted; a loop that ends has done so by itself."""
        with suppress(LoopClosed):
            self.run(_await(close))
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
        for cancel in list(self._open.values()):
            cancel()

    def _submit(
        self, coroutine: Coroutine[object, None, _T], tasks: list[asyncio.Task[object]]
    ) -> "Future[_T]":
        """Hand a coroutine to the loop, unless that is about to end."""
        is_own = threading.current_thread() is self._thread
        with self._lock:
            if self._is_closing or is_own:
                coroutine.close()
                raise RuntimeError(f"{_NAME} would wait for itself") if is_own else LoopClosed
            future = asyncio.run_coroutine_threadsafe(_tracked(coroutine, tasks), self._loop)
            self._open[future] = future.cancel
            return future

    def _cancel(self, tasks: list[asyncio.Task[object]]) -> None:
        """Cancel the task of a call; one that is yet to start is waited for."""
        if tasks:
            tasks[0].cancel()
        else:
            self._loop.call_soon(self._cancel, tasks)


class BlockingModel:
    """A `Model` without `await`: `with BlockingModel(Model.open("openai/gpt-5-mini")) as model`.

    Threads may share it. Models that are given a `thread` share that, and whoever made it closes it.
    """

    def __init__(self, model: Model, *, thread: LoopThread | None = None) -> None:
        self._model = model
        self._thread = thread or LoopThread()
        self._owns_thread = thread is None
        self._thread.adopt(model.aclose)

    def complete(
        self, request: object, *, system: str | None = None, max_output: int | None = None
    ) -> Completion:
        """Ask, and return the whole answer; see `Model.complete`."""
        return self._run(self._model.complete(request, system=system, max_output=max_output))

    def stream(
        self, request: object, *, system: str | None = None, max_output: int | None = None
    ) -> Iterator[StreamEvent]:
        """Ask, and yield the answer as it comes; see `Model.stream`."""
        events = self._model.stream(request, system=system, max_output=max_output)
        try:
            while (event := self._run(_next_or_none(events))) is not None:
                yield event
        finally:
            with suppress(LoopClosed):
                self._thread.run(_close(events))

    def close(self) -> None:
        """Close the connections, and the thread unless it is somebody else's."""
        if self._owns_thread:
            self._thread.close()
        else:
            self._thread.release(self._model.aclose)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Blocking{self._model!r}"

    def _run(self, coroutine: Coroutine[object, None, _T]) -> _T:
        """Run a coroutine; what a closed model says is what the async one says, in a loop or without one."""
        try:
            return self._thread.run(coroutine)
        except LoopClosed:
            raise broken(self._model.endpoint, CLOSED).error from None


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
            f"a model or summariser was left open, and with it {_NAME}; "
            "call its close(), or use it in a `with` block",
            ResourceWarning,
            stacklevel=2,
        )
    finally:
        loop.call_soon_threadsafe(stop.set)
        if threading.current_thread() is not thread:
            thread.join(_FORGOTTEN_SECONDS)


async def _tracked(coroutine: Coroutine[object, None, _T], tasks: list[asyncio.Task[object]]) -> _T:
    """Await a coroutine, leaving the task where whoever waits for it can cancel it."""
    task = asyncio.current_task()
    if task is not None:
        tasks.append(task)
    return await coroutine


async def _await(close: _Close) -> None:
    await close()


async def _next_or_none(events: AsyncGenerator[StreamEvent, None]) -> StreamEvent | None:
    return await anext(events, None)


async def _close(events: AsyncGenerator[StreamEvent, None]) -> None:
    await events.aclose()
