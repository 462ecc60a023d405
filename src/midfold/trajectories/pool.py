"""Chunks on all cores of this machine: each goes to whichever worker is idle, and they come back in order.

Each worker has a pipe of its own. So one that dies is noticed at once, one whose parent dies ends by itself,
and an interrupted run leaves without waiting for any. Of a plain file a worker is told the place of a chunk
and reads it itself: to send what can be read costs more than to read it.
"""

import os
import signal
import sys
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from queue import Queue
from threading import Thread

from midfold.errors import MidfoldError
from midfold.faults import faultpoint
from midfold.trajectories.files import (
    Chunk,
    Extent,
    Form,
    Position,
    Selection,
    Source,
    read_chunks,
    read_file,
)
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


@dataclass(frozen=True, slots=True)
class _Errand:
    """A chunk that a worker has: its place among all of them, and what part of a file it is."""

    number: int
    extent: Extent


@dataclass(slots=True)
class _Crew:
    """Who is idle, who works on which chunks, and what came back before its turn.

    A worker is among the idle as often as it can take another chunk, and answers in the order of its chunks.
    """

    task: Task
    selection: Selection
    most_workers: int
    lanes: int
    """how many chunks a worker has at once"""
    hired: list[_Worker] = field(default_factory=list)
    idle: deque[_Worker] = field(default_factory=deque)
    busy: dict[_Worker, deque[_Errand]] = field(default_factory=dict)
    early: dict[int, Finished] = field(default_factory=dict)
    given: int = 0
    returned: int = 0

    def give(self, chunks: Iterator[Chunk]) -> None:
        """Give a chunk to everybody who is idle, as far ahead as is allowed."""
        most_ahead = self.most_workers * (self.lanes + _AHEAD)
        while self.given - self.returned < most_ahead and (self.idle or self._can_hire):
            chunk = next(chunks, None)
            if chunk is None:
                return
            if self._can_hire:
                self._hire()
            worker = self.idle.popleft()
            worker.pipe.send(_wrap(self.task, self.selection, chunk))
            self.busy.setdefault(worker, deque()).append(_Errand(self.given, chunk.extent))
            self.given += 1

    def collect(self) -> None:
        """Wait until somebody is ready, and take what is."""
        ready = wait([worker.pipe for worker in self.busy])
        for worker in [worker for worker in self.busy if worker.pipe in ready]:
            errand = self.busy[worker].popleft()
            self.early[errand.number] = _receive(worker, errand)
            self.idle.append(worker)
            if not self.busy[worker]:
                del self.busy[worker]

    def hand_back(self) -> Iterator[Finished]:
        """Yield what is next in order, if it is there."""
        while self.returned in self.early:
            finished = self.early.pop(self.returned)
            self.returned += 1
            yield finished

    def let_go(self) -> None:
        """End all workers, whatever they are doing."""
        for worker in self.hired:
            worker.process.terminate()
        for worker in self.hired:
            worker.process.join()
            worker.pipe.close()

    @property
    def _can_hire(self) -> bool:
        return len(self.hired) < self.most_workers

    def _hire(self) -> None:
        """Start another worker; it is the next to get a chunk, so that there are never more than chunks."""
        worker = _hire(self.task, self.selection)
        self.hired.append(worker)
        self.idle.appendleft(worker)
        self.idle.extend([worker] * (self.lanes - 1))


def run_pool(task: Task, selection: Selection, workers: int) -> Iterator[Finished]:
    """Yield what becomes of every chunk, in the order of the chunks."""
    chunks = read_chunks(selection)
    crew = _Crew(task, selection, workers, _count_lanes(task, selection))
    try:
        crew.give(chunks)
        while crew.busy:
            crew.collect()
            crew.give(chunks)  # before what is ready is handed back, so that nobody waits while it is written
            yield from crew.hand_back()
            crew.give(chunks)
    finally:
        crew.let_go()


def _hire(task: Task, selection: Selection) -> _Worker:
    is_fork = _may_fork()
    context = get_context("fork") if is_fork else get_context("spawn")
    ours, theirs = context.Pipe()
    work = partial(_work_apart if is_fork else _work, theirs, task, selection)
    process = context.Process(target=work, name="midfold-trajectories", daemon=True)
    process.start()
    theirs.close()
    return _Worker(process, ours)


def _may_fork() -> bool:
    """Whether a worker can begin as a copy of this process, with the tokenizer and every module in place.

    Not beside other threads: a lock that one of them holds would never be released in the copy.
    """
    return sys.platform == "linux" and len([*Path("/proc/self/task").iterdir()]) == 1


def _wrap(task: Task, selection: Selection, chunk: Chunk) -> Chunk | Position:
    """Return what a worker is sent: the place of a chunk where it can begin to read there, else all of it.

    With a model all of it, too: that sets the pace, and what is read is held anyway.
    """
    extent = chunk.extent
    if task.asks_model or not _is_plain(selection.sources[extent.file]):
        return chunk
    return Position(extent.file, extent.start, extent.first_row)


def _count_lanes(task: Task, selection: Selection) -> int:
    """Return how many chunks a worker has at once: one more where that is a place, and waits in its pipe."""
    has_places = not task.asks_model and all(map(_is_plain, selection.sources))
    return count_lanes(task) + has_places


def _is_plain(source: Source) -> bool:
    return source.form is Form.LINES


def _receive(worker: _Worker, errand: _Errand) -> Finished:
    try:
        answer, output = worker.pipe.recv(), worker.pipe.recv_bytes()
    except (EOFError, OSError):
        worker.process.join()
        status = worker.process.exitcode
        answer, output = _Failed(f"it ended with status {status}, perhaps for want of memory"), b""
    if isinstance(answer, Finished) and answer.extent == errand.extent:
        return replace(answer, output=output)
    reason = answer.reason if isinstance(answer, _Failed) else "the file has changed while it was read"
    raise MidfoldError(f"a worker failed: {reason}; go on with --resume")


def _work_apart(pipe: "Connection[object, object]", task: Task, selection: Selection) -> None:
    """Work in a fork, which lets go of what it has inherited.

    Else it would hold the lock of a run whose process was killed, and the pipes of others, who would wait.
    """
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.closerange(3, pipe.fileno())
    os.closerange(pipe.fileno() + 1, os.sysconf("SC_OPEN_MAX"))
    _work(pipe, task, selection)


def _work(pipe: "Connection[object, object]", task: Task, selection: Selection) -> None:
    """Answer chunks until there are no more of them, or nobody who would take the answer."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what an interrupted run leaves behind
    with suppress(EOFError, OSError):
        if task.asks_model:
            _answer_many(pipe, task)
            return
        while isinstance(parcel := pipe.recv(), Chunk | Position):
            _send(pipe, partial(_answer, task, selection, parcel))


def _answer(task: Task, selection: Selection, parcel: Chunk | Position) -> Finished:
    if isinstance(parcel, Position):
        parcel = next(read_file(replace(selection, begin=parcel), parcel.file))
    return process(task, parcel)


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
    """Send what becomes of a chunk, its output apart: pickled it would be copied twice."""
    faultpoint("trajectories.worker")
    try:
        finished = finish()
    except Exception as error:  # noqa: BLE001 - the edge of a process: the parent says what happened
        pipe.send(_Failed(f"{type(error).__name__}: {error}"))
        pipe.send_bytes(b"")
        return
    pipe.send(replace(finished, output=b""))
    pipe.send_bytes(finished.output)
