"""A worker: a process with a pipe of its own, so that one that dies is noticed, and how it died can be said.

A worker says that it is ready before it is given anything. So a death at the start is known from one at work,
and is never laid to the charge of a row. A worker whose parent dies ends by itself.

One row in a million may end the process that reads it. Where every worker dies it is not the rows: a library
is missing, or memory, and to go on would reject row after row. The run ends then, and can be resumed.
"""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from itertools import pairwise
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from threading import Thread
from typing import TypeAlias

from midfold.errors import MidfoldError
from midfold.faults import faultpoint
from midfold.late_dataclasses import dataclass, replace
from midfold.trajectories.runs import ChunkResult, Task
from midfold.trajectories.tokenizer import load_tokenizer

Pipe: TypeAlias = "Connection[object, object]"
_END_SECONDS = 5.0
"""A worker whose pipe is closed has this long to end."""
_REASON_CHARS = 200
# Signals that come from outside, or from a kernel that runs out of memory, rather than from a mistake.
_PERHAPS_MEMORY = ("SIGKILL",)


@dataclass(frozen=True, slots=True)
class WorkerReady:
    """The first message of a worker."""


@dataclass(frozen=True, slots=True)
class WorkerFailed:
    """The message of a worker that cannot go on, instead of an answer."""

    reason: str


@dataclass(frozen=True, slots=True)
class WorkerEnded:
    """Stands for the answer of a worker that is no more."""

    how: str


@dataclass(frozen=True, slots=True)
class Worker:
    """A process, and our end of its pipe."""

    process: BaseProcess
    pipe: Pipe

    def receive(self) -> object:
        """Return the next thing it sends; `WorkerEnded` where it sends nothing any more."""
        try:
            answer = self.pipe.recv()
            return (
                replace(answer, output=self.pipe.recv_bytes()) if isinstance(answer, ChunkResult) else answer
            )
        except (EOFError, OSError):
            return WorkerEnded(self._say_how_it_ended())

    def greet(self, seconds: float) -> str | None:
        """Wait until it is ready; returns what kept it from being so, or took too long."""
        if not wait([self.pipe], seconds):
            return say_late(seconds)
        answer = self.receive()
        if isinstance(answer, WorkerReady):
            return None
        return answer.how if isinstance(answer, WorkerEnded) else _read_failure(answer)

    def end(self) -> None:
        """End it, whatever it is doing, and wait until it is gone."""
        self.process.kill()
        self.process.join()
        self.pipe.close()

    def _say_how_it_ended(self) -> str:
        self.process.join(_END_SECONDS)
        status = self.process.exitcode
        if status is None:
            return "it closed its pipe"
        if status >= 0:
            return f"it left with status {status}"
        try:
            name = signal.Signals(-status).name
        except ValueError:
            name = f"signal {-status}"
        return f"it was killed by {name}{', perhaps out of memory' if name in _PERHAPS_MEMORY else ''}"


def say_late(seconds: float) -> str:
    return f"it was not ready within {seconds:g} s"


def start_worker(task: Task, work: Callable[[Pipe], None]) -> Worker:
    """Start a process that sends `WorkerReady` and then works; raises `OSError` where none can be started."""
    is_fork = _may_fork()
    context = get_context("fork") if is_fork else get_context("spawn")
    ours, theirs = context.Pipe()
    begin = partial(_begin_apart if is_fork else _begin, theirs, task, work)
    process = context.Process(target=begin, name="midfold-trajectories", daemon=True)
    with theirs, _interrupts_held():
        process.start()
    return Worker(process, ours)


def send_answer(pipe: Pipe, finish: Callable[[], ChunkResult]) -> None:
    """Send what becomes of a chunk, its output apart: pickled it would be copied twice."""
    faultpoint("trajectories.worker")
    try:
        finished = finish()
    except Exception as error:  # noqa: BLE001 - the edge of a process: the parent says what happened
        pipe.send(_describe(error))
        return
    faultpoint("trajectories.worker.answer")
    pipe.send(replace(finished, output=b""))
    faultpoint("trajectories.worker.output")
    pipe.send_bytes(finished.output)


def _may_fork() -> bool:
    """Whether a worker can begin as a copy of this process, with the tokenizer and every module in place.

    Not beside other threads: a lock that one of them holds would never be released in the copy.
    """
    return sys.platform == "linux" and len([*Path("/proc/self/task").iterdir()]) == 1


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Hold back Ctrl-C, which the terminal sends to workers as well, until a new one can ignore it."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _begin_apart(pipe: Pipe, task: Task, work: Callable[[Pipe], None]) -> None:
    """Begin in a fork, which lets go of what it has inherited.

    Else it would hold the lock of a run whose process was killed, and the pipes of others, who would wait.
    """
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    kept = sorted(fd for fd in (pipe.fileno(), _find_parent()) if fd is not None)
    for below, above in pairwise((2, *kept, os.sysconf("SC_OPEN_MAX"))):
        os.closerange(below + 1, above)
    _begin(pipe, task, work)


def _begin(pipe: Pipe, task: Task, work: Callable[[Pipe], None]) -> None:
    """Work until there is no more of it, or nobody who would take the answer."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what an interrupted run leaves behind
    Thread(target=_end_with_parent, daemon=True).start()
    with suppress(EOFError, ConnectionError):
        try:
            faultpoint("trajectories.worker.start")
            load_tokenizer(task.config.tokenizer)  # what cannot be loaded is the fault of no row
            pipe.send(WorkerReady())
            faultpoint("trajectories.worker.ready")
            work(pipe)
        except (EOFError, ConnectionError):
            raise
        except Exception as error:  # noqa: BLE001 - the edge of a process: the parent says what happened
            pipe.send(_describe(error))


def _find_parent() -> int | None:
    """Return what becomes readable when the parent is gone."""
    parent = parent_process()
    return None if parent is None else parent.sentinel


def _end_with_parent() -> None:
    """End this process when its parent is gone, also while it hangs or works for nobody."""
    sentinel = _find_parent()
    if sentinel is not None:
        wait([sentinel])
        os._exit(1)


def _read_failure(answer: object) -> str:
    return answer.reason if isinstance(answer, WorkerFailed) else "it answered something else"


def _describe(error: Exception) -> WorkerFailed:
    return WorkerFailed(" ".join(f"{type(error).__name__}: {error}".split())[:_REASON_CHARS])


MOST_FAILED_STARTS = 3
"""Workers that may fail to start, one after the other."""
MOST_ROWS_IN_A_ROW = 5
"""Rows that may end their workers with no other row in between that a worker gets through."""
SPARE_DEATHS = 100
"""Workers that may die beyond one for every chunk that is answered; a row that ends workers ends three."""
_RESUME = "continue with --resume"


@dataclass(slots=True)
class WorkerHealth:
    """Counts deaths and what was done between them; raises `MidfoldError` when there are too many."""

    failed_starts: int = 0
    deaths: int = 0
    answered: int = 0
    rows_in_a_row: int = 0

    def note_start(self) -> None:
        self.failed_starts = 0

    def note_failed_start(self, how: str) -> None:
        """Count a worker that ended before it was ready."""
        self.failed_starts += 1
        if self.failed_starts >= MOST_FAILED_STARTS:
            raise MidfoldError(
                f"no worker can be started: {how}, {self.failed_starts} times in a row; {_RESUME}"
            )

    def note_death(self, how: str) -> None:
        """Count a worker that ended at its work."""
        self.deaths += 1
        if self.deaths > SPARE_DEATHS + self.answered:
            raise MidfoldError(
                f"{self.deaths:,} workers ended for {self.answered:,} chunks that are done, the last: {how}; "
                f"with fewer --workers there is more memory for each; {_RESUME}"
            )

    def note_answer(self) -> None:
        """Count a chunk that came back as it should."""
        self.answered += 1
        self.rows_in_a_row = 0

    def note_row(self) -> None:
        """Count a row that a worker got through."""
        self.rows_in_a_row = 0

    def note_rejected_row(self, where: str, how: str) -> None:
        """Count a row that ends its workers."""
        self.rows_in_a_row += 1
        if self.rows_in_a_row >= MOST_ROWS_IN_A_ROW:
            raise MidfoldError(
                f"{self.rows_in_a_row} rows in a row ended their workers, the last of them {where}: {how}; "
                f"that is the machine rather than the rows; {_RESUME}"
            )


def cannot_work(reason: str) -> MidfoldError:
    """Return the error that ends a run in which a worker said that it cannot go on."""
    return MidfoldError(f"a worker failed: {reason}; {_RESUME}")
