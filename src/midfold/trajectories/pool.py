"""Chunks on all cores of this machine: each goes to whichever worker is idle, and they come back in order.

Each worker has a pipe of its own. So one that dies is noticed at once, one whose parent dies ends by itself,
and an interrupted run leaves without waiting for any.
"""

import signal
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from queue import Queue
from threading import Thread

from midfold.errors import MidfoldError
from midfold.faults import faultpoint
from midfold.trajectories.files import Chunk, Selection, read_chunks
from midfold.trajectories.lanes import Lanes, count_lanes
from midfold.trajectories.work import Finished, Task, process

# How many chunks for each worker may wait for their turn, all of them in memory, beside those under way.
_AHEAD = 2


@dataclass(frozen=True, slots=True)
class _Worker:
    process: BaseProcess
    pipe: "Connection[object, object]"


@dataclass(frozen=True, slots=True)
class _Failed:
    """What a worker sends instead of a chunk when it cannot go on."""

    reason: str


@dataclass(slots=True)
class _Crew:
    """Who is idle, who works on which chunks, and what came back before its turn.

    A worker is among the idle as often as it can take another chunk, and answers in the order of its chunks.
    """

    idle: deque[_Worker]
    most_ahead: int
    busy: dict[_Worker, deque[int]] = field(default_factory=dict)
    early: dict[int, Finished] = field(default_factory=dict)
    given: int = 0
    returned: int = 0

    def give(self, chunks: Iterator[Chunk]) -> None:
        """Give a chunk to everybody who is idle, as far ahead as is allowed."""
        while self.idle and self.given - self.returned < self.most_ahead:
            chunk = next(chunks, None)
            if chunk is None:
                return
            worker = self.idle.popleft()
            worker.pipe.send(chunk)
            self.busy.setdefault(worker, deque()).append(self.given)
            self.given += 1

    def collect(self) -> None:
        """Wait until somebody is ready, and take what is."""
        ready = wait([worker.pipe for worker in self.busy])
        for worker in [worker for worker in self.busy if worker.pipe in ready]:
            self.early[self.busy[worker].popleft()] = _receive(worker)
            self.idle.append(worker)
            if not self.busy[worker]:
                del self.busy[worker]

    def hand_back(self) -> Iterator[Finished]:
        """Yield what is next in order, if it is there."""
        while self.returned in self.early:
            finished = self.early.pop(self.returned)
            self.returned += 1
            yield finished


def run_pool(task: Task, selection: Selection, workers: int) -> Iterator[Finished]:
    """Yield what becomes of every chunk, in the order of the chunks."""
    chunks = read_chunks(selection)
    hired = [_hire(task) for _ in range(workers)]
    crew = _Crew(deque(hired * count_lanes(task)), workers * (count_lanes(task) + _AHEAD))
    try:
        crew.give(chunks)
        while crew.busy:
            crew.collect()
            crew.give(chunks)  # before what is ready is handed back, so that nobody waits while it is written
            yield from crew.hand_back()
            crew.give(chunks)
    finally:
        for worker in hired:
            worker.process.terminate()
        for worker in hired:
            worker.process.join()
            worker.pipe.close()


def _hire(task: Task) -> _Worker:
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_work, args=(theirs, task), name="midfold-trajectories", daemon=True)
    process.start()
    theirs.close()
    return _Worker(process, ours)


def _receive(worker: _Worker) -> Finished:
    try:
        answer = worker.pipe.recv()
    except (EOFError, OSError):
        worker.process.join()
        answer = _Failed(f"it ended with status {worker.process.exitcode}, perhaps for want of memory")
    if isinstance(answer, Finished):
        return answer
    reason = answer.reason if isinstance(answer, _Failed) else "it sent no answer"
    raise MidfoldError(f"a worker failed: {reason}; go on with --resume")


def _work(pipe: "Connection[object, object]", task: Task) -> None:
    """Answer chunks until there are no more of them, or nobody who would take the answer."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what an interrupted run leaves behind
    with suppress(EOFError, OSError):
        if task.asks_model:
            _answer_many(pipe, task)
            return
        while isinstance(chunk := pipe.recv(), Chunk):
            _send(pipe, partial(process, task, chunk))


def _answer_many(pipe: "Connection[object, object]", task: Task) -> None:
    """Have several chunks under way; they are taken from the pipe at once, so that the parent never waits."""
    chunks: Queue[Chunk | None] = Queue()
    Thread(target=_take_chunks, args=(pipe, chunks), daemon=True).start()
    with Lanes(task) as lanes:
        while True:
            while not lanes.is_busy or not (lanes.is_full or chunks.empty()):
                chunk = chunks.get()
                if chunk is None:
                    return
                lanes.begin(chunk)
            _send(pipe, lanes.finish)


def _take_chunks(pipe: "Connection[object, object]", chunks: "Queue[Chunk | None]") -> None:
    with suppress(EOFError, OSError):
        while isinstance(chunk := pipe.recv(), Chunk):
            chunks.put(chunk)
    chunks.put(None)


def _send(pipe: "Connection[object, object]", finish: Callable[[], Finished]) -> None:
    faultpoint("trajectories.worker")
    try:
        answer: object = finish()
    except Exception as error:  # noqa: BLE001 - the edge of a process: the parent says what happened
        answer = _Failed(f"{type(error).__name__}: {error}")
    pipe.send(answer)
