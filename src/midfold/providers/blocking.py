"""Models for callers without an event loop: the async model, run by a loop in a thread of its own."""

from collections.abc import AsyncGenerator, Coroutine, Iterator
from contextlib import suppress
from types import TracebackType
from typing import Self, TypeVar

from midfold.concurrency import LoopClosed, LoopThread
from midfold.providers.failing import broken
from midfold.providers.model import CLOSED, Model
from midfold.wire.apis import Completion, StreamEvent

_T = TypeVar("_T")


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


async def _next_or_none(events: AsyncGenerator[StreamEvent, None]) -> StreamEvent | None:
    return await anext(events, None)


async def _close(events: AsyncGenerator[StreamEvent, None]) -> None:
    await events.aclose()
