"""Chunks on all cores of this machine: each goes to whichever worker is idle, and they come back in order.

An interrupted run leaves without waiting for any worker. Of a plain file a worker is sent the position of a
chunk and reads it itself: to send what can be read costs more than to read it. What a worker had that died is
recovered when all others have answered, with the machine to itself.
"""

import time
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from multiprocessing.connection import wait
from queue import Queue
from threading import Thread

from midfold.late_dataclasses import dataclass, field, replace
from midfold.trajectories.chunks import Chunk, Extent, Position
from midfold.trajectories.reader import Selection, read_chunks, read_file
from midfold.trajectories.recovery import recover
from midfold.trajectories.runs import ChunkResult, Task
from midfold.trajectories.sources import FileForm, InputFile
from midfold.trajectories.work import Lanes, count_lanes, process
from midfold.trajectories.workers import (
    Pipe,
    Worker,
    WorkerEnded,
    WorkerFailed,
    WorkerHealth,
    cannot_work,
    say_late,
    send_answer,
    start_worker,
)

# How many chunks for each worker may wait for their turn, all of them in memory, beside those under way.
_AHEAD = 2
# Where workers start afresh they import everything, on a busy machine from a slow disk.
_START_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class _Assignment:
    """A chunk that a worker has: its number among all of them, and what part of a file it is."""

    number: int
    extent: Extent


@dataclass(slots=True)
class _Pool:
    """The workers: starting, idle, or busy with their chunks; and the answers that came before their turn.

    A worker is among the idle as often as it can take another chunk, and answers in the order of its chunks.
    """

    task: Task
    selection: Selection
    chunks: Iterator[Chunk]
    most_workers: int
    lanes: int
    """how many chunks a worker has at once"""
    start_seconds: float
    health: WorkerHealth = field(default_factory=WorkerHealth)
    starting: dict[Worker, float] = field(default_factory=dict)
    """those that are not ready, with the time at which they should be"""
    workers: list[Worker] = field(default_factory=list)
    idle: deque[Worker] = field(default_factory=deque)
    busy: dict[Worker, deque[_Assignment]] = field(default_factory=dict)
    waiting: deque[Chunk] = field(default_factory=deque)
    """read, and given to nobody: one for each worker that is starting"""
    lost: list[_Assignment] = field(default_factory=list)
    """what workers had that died"""
    early: dict[int, ChunkResult] = field(default_factory=dict)
    given: int = 0
    returned: int = 0

    @property
    def is_working(self) -> bool:
        return bool(self.busy or self.lost or self.waiting)

    def give(self) -> None:
        """Give a chunk to every idle worker, and start workers for more, as far ahead as is allowed.

        No worker gets any while one is lost: the process that tries it again should have memory.
        """
        while not self.lost:
            if self.idle and self._read(1):
                self._send(self.idle.popleft(), self.waiting.popleft())
            elif len(self.workers) < self.most_workers and self._read(len(self.starting) + 1):
                self._start()
            else:
                return

    def collect(self) -> None:
        """Wait until a worker is ready, and take its answer; where all that is left was lost, recover it."""
        if self.lost and not self.busy:
            assignment = min(self.lost, key=lambda lost: lost.number)
            self.lost.remove(assignment)
            self.early[assignment.number] = recover(
                self.task, self.selection, assignment.extent, self.health, start_seconds=self.start_seconds
            )
            return
        until = min(self.starting.values(), default=None)
        seconds = None if until is None else max(0.0, until - time.monotonic())
        ready = wait([worker.pipe for worker in (*self.busy, *self.starting)], seconds)
        for worker in [worker for worker in self.starting if worker.pipe in ready]:
            self._note_ready(worker)
        for worker in [worker for worker in self.busy if worker.pipe in ready]:
            self._receive(worker)
        for worker in [worker for worker, due in self.starting.items() if due <= time.monotonic()]:
            self._end(worker)
            self.health.note_failed_start(say_late(self.start_seconds))

    def hand_back(self) -> Iterator[ChunkResult]:
        """Yield what is next in order, if it is there."""
        while self.returned in self.early:
            finished = self.early.pop(self.returned)
            self.returned += 1
            yield finished

    def let_go(self) -> None:
        """End all workers, whatever they are doing."""
        for worker in self.workers:
            worker.process.kill()
        for worker in self.workers:
            worker.end()

    def _read(self, number: int) -> bool:
        """Have so many chunks at hand; false where there are no more, or too many are ahead."""
        most_ahead = self.most_workers * (self.lanes + _AHEAD)
        while len(self.waiting) < number:
            if self.given + len(self.waiting) - self.returned >= most_ahead:
                return False
            chunk = next(self.chunks, None)
            if chunk is None:
                return False
            self.waiting.append(chunk)
        return True

    def _start(self) -> None:
        """Start another worker; there are never more than chunks."""
        try:
            worker = start_worker(self.task, partial(_work, task=self.task, selection=self.selection))
        except OSError as error:  # too many processes, or too little memory
            self.health.note_failed_start(error.strerror or str(error))
            return
        self.workers.append(worker)
        self.starting[worker] = time.monotonic() + self.start_seconds

    def _note_ready(self, worker: Worker) -> None:
        trouble = worker.greet(self.start_seconds)
        if trouble is not None:
            self._end(worker)
            self.health.note_failed_start(trouble)
            return
        del self.starting[worker]
        self.health.note_start()
        self.idle.appendleft(worker)
        self.idle.extend([worker] * (self.lanes - 1))

    def _send(self, worker: Worker, chunk: Chunk) -> None:
        try:
            worker.pipe.send(_wrap(self.task, self.selection, chunk))
        except OSError:  # it is dead; what it had done and has not read is still in its pipe
            self.waiting.appendleft(chunk)
            self.idle = deque(each for each in self.idle if each is not worker)
            if worker not in self.busy:
                self._remove_dead(worker, worker.receive())
            return
        self.busy.setdefault(worker, deque()).append(_Assignment(self.given, chunk.extent))
        self.given += 1

    def _receive(self, worker: Worker) -> None:
        assignment, answer = self.busy[worker][0], worker.receive()
        if isinstance(answer, WorkerEnded):
            self._remove_dead(worker, answer)
            return
        if isinstance(answer, WorkerFailed):
            raise cannot_work(answer.reason)
        if not isinstance(answer, ChunkResult) or answer.extent != assignment.extent:
            raise cannot_work("the file has changed while it was read")
        self.health.note_answer()
        self.early[assignment.number] = answer
        self.busy[worker].popleft()
        if not self.busy[worker]:
            del self.busy[worker]
        self.idle.append(worker)

    def _remove_dead(self, worker: Worker, answer: object) -> None:
        """Take a dead worker off the list; what it had is lost and will be recovered."""
        self.lost.extend(self.busy.pop(worker, ()))
        self._end(worker)
        self.health.note_death(answer.how if isinstance(answer, WorkerEnded) else "it closed its pipe")

    def _end(self, worker: Worker) -> None:
        self.workers.remove(worker)
        self.starting.pop(worker, None)
        self.idle = deque(each for each in self.idle if each is not worker)
        worker.end()


def run_pool(
    task: Task, selection: Selection, workers: int, *, start_seconds: float = _START_SECONDS
) -> Iterator[ChunkResult]:
    """Yield what becomes of every chunk, in the order of the chunks.

    Raises `MidfoldError` where workers cannot be started, or die whatever they are given.
    """
    lanes = _count_lanes(task, selection)
    pool = _Pool(task, selection, read_chunks(selection), workers, lanes, start_seconds)
    try:
        pool.give()
        while pool.is_working:
            pool.collect()
            pool.give()  # before what is ready is handed back, so that nobody waits while it is written
            yield from pool.hand_back()
            pool.give()
    finally:
        pool.let_go()


def _wrap(task: Task, selection: Selection, chunk: Chunk) -> Chunk | Position:
    """Return what a worker is sent: the position of a chunk where it can begin to read there, else all of it.

    With a model all of it, too: that sets the pace, and what is read is held anyway.
    """
    extent = chunk.extent
    if task.asks_model or not _is_plain(selection.sources[extent.file]):
        return chunk
    return Position(extent.file, extent.start, extent.first_row)


def _count_lanes(task: Task, selection: Selection) -> int:
    """Return how many chunks a worker has at once: one more where positions wait in its pipe."""
    has_positions = not task.asks_model and all(map(_is_plain, selection.sources))
    return count_lanes(task) + has_positions


def _is_plain(source: InputFile) -> bool:
    return source.form is FileForm.LINES


def _work(pipe: Pipe, task: Task, selection: Selection) -> None:
    """Answer chunks until there are no more of them."""
    if task.asks_model:
        _answer_many(pipe, task)
        return
    while isinstance(parcel := pipe.recv(), Chunk | Position):
        send_answer(pipe, partial(_answer, task, selection, parcel))


def _answer(task: Task, selection: Selection, parcel: Chunk | Position) -> ChunkResult:
    if isinstance(parcel, Position):
        parcel = next(read_file(replace(selection, begin=parcel), parcel.file))
    return process(task, parcel)


def _answer_many(pipe: Pipe, task: Task) -> None:
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
            send_answer(pipe, lanes.finish)


def _take_chunks(pipe: Pipe, chunks: "Queue[Chunk | None]") -> None:
    with suppress(EOFError, OSError):
        while isinstance(chunk := pipe.recv(), Chunk):
            chunks.put(chunk)
    chunks.put(None)
