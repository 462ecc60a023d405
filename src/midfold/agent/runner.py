"""The runner of an agent: one thing at a time, as a task of its own whose events are read while it works.

However a run ends, it ends in the same way: its task is cancelled and waited for, so that what must be stored
is stored before anybody goes on.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import suppress
from typing import TypeAlias, TypeVar

from midfold.agent.events import ApprovalRequested, Emit, Event
from midfold.errors import MidfoldError

_T = TypeVar("_T")
Work: TypeAlias = Callable[[Emit], Coroutine[object, None, _T]]


class AgentBusy(MidfoldError, RuntimeError):
    """An agent does one thing at a time, and is at it."""

    def __init__(self) -> None:
        super().__init__("the agent is busy; wait for the end of its run, or interrupt it")


class Runner:
    """Holds the task that is under way, if one is."""

    def __init__(self) -> None:
        self._task: asyncio.Task[object] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def is_busy(self) -> bool:
        """Whether something is under way."""
        return self._task is not None

    def check(self) -> None:
        """Raise `AgentBusy` where something is under way."""
        if self.is_busy:
            raise AgentBusy

    def interrupt(self) -> bool:
        """Cancel what is under way; false where nothing is. From any thread, and from signal handlers."""
        task, loop = self._task, self._loop
        if task is not None and loop is not None:
            with suppress(RuntimeError):  # the loop has just been closed, and everything with it
                loop.call_soon_threadsafe(task.cancel)
                return True
        return False

    async def events(self, work: Work[None]) -> AsyncGenerator[list[Event], None]:
        """Do `work`, and yield what it emits, as much at a time as there is; raises what it raises.

        `CancelledError` comes out where it was interrupted, after the last event.
        """
        self.check()
        queue: asyncio.Queue[Event | None] = asyncio.Queue()
        task = self._start(work(queue.put_nowait))
        task.add_done_callback(lambda _task: queue.put_nowait(None))  # behind the last event
        try:
            while batch := await _next_batch(queue):
                yield batch
                if isinstance(batch[-1], ApprovalRequested):
                    batch[-1].answer(allowed=False, reason="nobody answered")
            await task
        finally:
            await self._stop(task)

    async def perform(self, work: Work[_T], emit: Emit) -> _T:
        """Do `work` and return its result; `CancelledError` where it was interrupted."""
        self.check()
        task = self._start(work(emit))
        try:
            return await asyncio.shield(task)
        finally:
            await self._stop(task)

    def _start(self, work: Coroutine[object, None, _T]) -> asyncio.Task[_T]:
        task = asyncio.create_task(work)
        self._task, self._loop = task, asyncio.get_running_loop()
        return task

    async def stop(self) -> None:
        """End what is under way, and wait until it has let go."""
        if self._task is not None:
            await self._stop(self._task)

    async def _stop(self, task: asyncio.Task[_T]) -> None:
        """Wait until a task has let go; it is cancelled where it still works."""
        task.cancel()
        try:
            await asyncio.wait([task])
        finally:
            self._task = None


async def _next_batch(queue: "asyncio.Queue[Event | None]") -> list[Event]:
    """Return the events so far, none at the end; a question ends a batch, as it wants an answer."""
    batch: list[Event] = []
    while not batch or not queue.empty():
        event = await queue.get()
        if event is None:
            if batch:
                queue.put_nowait(event)
            break
        batch.append(event)
        if isinstance(event, ApprovalRequested):
            break
    return batch


def pass_on_cancellation() -> None:
    """Raise the cancellation at hand if the caller's own task was cancelled, and not only the work for it."""
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError
