"""Chunks whose summaries a model writes: several under way at once, finished in the order they were begun.

So there are enough requests to ask for, and one slow answer does not leave all others waiting.
"""

import asyncio
from collections import deque
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Self

from midfold.trajectories.files import Chunk
from midfold.trajectories.work import Finished, Task, process_awaited

# In real data a fifth of the 128 rows of a chunk is too long, and each asks once.
_REQUESTS_OF_A_CHUNK = 25
# Each chunk holds up to 8 MB of rows.
_MOST_LANES = 20


def count_lanes(task: Task) -> int:
    """Return how many chunks a worker has under way: enough for its requests, and one more to begin early."""
    if not task.asks_model:
        return 1
    return min(_MOST_LANES, 1 + -(-task.config.max_concurrent_requests // _REQUESTS_OF_A_CHUNK))


def run_lanes(task: Task, chunks: Iterable[Chunk]) -> Iterator[Finished]:
    """Yield what becomes of every chunk, in order."""
    with Lanes(task) as lanes:
        for chunk in chunks:
            lanes.begin(chunk)
            if lanes.is_full:
                yield lanes.finish()
        while lanes.is_busy:
            yield lanes.finish()


class Lanes:
    """The chunks under way in one event loop, which share the requests that are allowed."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self._most = count_lanes(task)
        self._slots = asyncio.Semaphore(task.config.max_concurrent_requests)
        self._runner = asyncio.Runner()
        self._under_way: deque[asyncio.Task[Finished]] = deque()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._runner.close()

    @property
    def is_busy(self) -> bool:
        return bool(self._under_way)

    @property
    def is_full(self) -> bool:
        return len(self._under_way) >= self._most

    def begin(self, chunk: Chunk) -> None:
        """Begin a chunk; it goes on whenever an earlier one is waited for."""
        work = process_awaited(self._task, chunk, self._slots)
        self._under_way.append(self._runner.get_loop().create_task(work))

    def finish(self) -> Finished:
        """Wait for the chunk that was begun first."""
        return self._runner.run(_wait_for(self._under_way.popleft()))


async def _wait_for(work: "asyncio.Task[Finished]") -> Finished:
    return await work
