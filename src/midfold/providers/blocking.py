"""Models for callers without an event loop: the async model, run by a loop in a thread of its own."""

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from concurrent.futures import CancelledError, Future, wait
from types import TracebackType
from typing import Self, TypeVar

from midfold.providers.model import Model
from midfold.wire.calls import Completion, StreamEvent

_T = TypeVar("_T")


class LoopThread:
    """An event loop in a thread, for any number of blocking callers. Close it when they are done."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._stop = asyncio.Event()
        self._lock = threading.Lock()
        self._is_closing = False
        self._open: dict[object, Callable[[], bool]] = {}
        self._thread = threading.Thread(target=self._serve, name="midfold-models", daemon=True)
        self._thread.start()

    def run(self, coroutine: Coroutine[object, None, _T]) -> _T:
        """Run a coroutine to its end and return its result.

        An interrupted caller cancels it and waits until it has let go: nobody should pay for an answer that
        nobody reads.
        """
        tasks: list[asyncio.Task[object]] = []
        future = self._submit(coroutine, tasks)
        try:
            return future.result()
        except CancelledError:
            raise RuntimeError(f"{self._thread.name} was closed while it was at work") from None
        finally:
            self._open.pop(future, None)
            if not future.done():
                self._loop.call_soon_threadsafe(self._cancel, tasks)
                wait([future])

    @property
    def is_closed(self) -> bool:
        """Whether the loop has ended, and nothing can run any more."""
        return not self._thread.is_alive()

    def close(self) -> None:
        """Stop the loop, cancelling what still runs, and wait for its thread to end."""
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
        with self._lock:
            if self._is_closing or threading.current_thread() is self._thread:
                coroutine.close()
                raise RuntimeError(f"{self._thread.name} is closed, or would wait for itself")
            future = asyncio.run_coroutine_threadsafe(_tracked(coroutine, tasks), self._loop)
            self._open[future] = future.cancel
            return future

    def _cancel(self, tasks: list[asyncio.Task[object]]) -> None:
        """Cancel the task of a call; one that is yet to start is waited for."""
        if tasks:
            tasks[0].cancel()
        else:
            self._loop.call_soon(self._cancel, tasks)

    def _serve(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._wait())

    async def _wait(self) -> None:
        await self._stop.wait()


class BlockingModel:
    """A `Model` without `await`: `with BlockingModel(Model.open("openai/gpt-5-mini")) as model`.

    Threads may share it. Models that are given a `thread` share that, and whoever made it closes it.
    """

    def __init__(self, model: Model, *, thread: LoopThread | None = None) -> None:
        self._model = model
        self._thread = thread or LoopThread()
        self._owns_thread = thread is None

    def complete(
        self, request: object, *, system: str | None = None, max_output: int | None = None
    ) -> Completion:
        """Ask, and return the whole answer; see `Model.complete`."""
        return self._thread.run(self._model.complete(request, system=system, max_output=max_output))

    def stream(
        self, request: object, *, system: str | None = None, max_output: int | None = None
    ) -> Iterator[StreamEvent]:
        """Ask, and yield the answer as it comes; see `Model.stream`."""
        events = self._model.stream(request, system=system, max_output=max_output)
        try:
            while (event := self._thread.run(_next_or_none(events))) is not None:
                yield event
        finally:
            if not self._thread.is_closed:
                self._thread.run(_close(events))

    def close(self) -> None:
        """Close the connections, and the thread unless it is somebody else's."""
        if not self._thread.is_closed:
            self._thread.run(self._model.aclose())
        if self._owns_thread:
            self._thread.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Blocking{self._model!r}"


async def _tracked(coroutine: Coroutine[object, None, _T], tasks: list[asyncio.Task[object]]) -> _T:
    """Await a coroutine, leaving the task where whoever waits for it can cancel it."""
    task = asyncio.current_task()
    if task is not None:
        tasks.append(task)
    return await coroutine


async def _next_or_none(events: AsyncGenerator[StreamEvent, None]) -> StreamEvent | None:
    return await anext(events, None)


async def _close(events: AsyncGenerator[StreamEvent, None]) -> None:
    await events.aclose()
