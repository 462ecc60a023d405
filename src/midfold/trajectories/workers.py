"""A worker: a process with a pipe of its own, so that one that dies is noticed, and how it died can be said.

A worker says that it is ready before it is given anything. So a death at the start is told from one at work,
and is never laid to the charge of a row. One whose parent dies ends by itself.
"""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from threading import Thread
from typing import TypeAlias

from midfold.faults import faultpoint
from midfold.trajectories.tokenizer import load_tokenizer
from midfold.trajectories.work import Finished, Task

Pipe: TypeAlias = "Connection[object, object]"
_END_SECONDS = 5.0
"""How long a worker whose pipe is closed may take to be gone."""
_REASON_CHARS = 200
# Signals that come from outside, or from a kernel that runs out of memory, rather than from a mistake.
_PERHAPS_MEMORY = ("SIGKILL",)


@dataclass(frozen=True, slots=True)
class Ready:
    """What a worker sends first."""


@dataclass(frozen=True, slots=True)
class Failed:
    """What a worker sends instead of an answer when it cannot go on."""

    reason: str


@dataclass(frozen=True, slots=True)
class Ended:
    """Stands for the answer of a worker that is no more."""

    how: str


@dataclass(frozen=True, slots=True)
class Worker:
    """A process, and our end of its pipe."""

    process: BaseProcess
    pipe: Pipe

    def receive(self) -> object:
        """Return the next thing it sends; `Ended` where it sends nothing any more."""
        try:
            answer = self.pipe.recv()
            return replace(answer, output=self.pipe.recv_bytes()) if isinstance(answer, Finished) else answer
        except (EOFError, OSError):
            return Ended(self._say_how_it_ended())

    def greet(self, seconds: float) -> str | None:
        """Wait until it is ready; returns what kept it from being so, or took too long."""
        if not wait([self.pipe], seconds):
            return say_late(seconds)
        answer = self.receive()
        if isinstance(answer, Ready):
            return None
        return answer.how if isinstance(answer, Ended) else _read_failure(answer)

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
    """Start a process that says `Ready` and then does this; raises `OSError` where none can be started."""
    is_fork = _may_fork()
    context = get_context("fork") if is_fork else get_context("spawn")
    ours, theirs = context.Pipe()
    begin = partial(_begin_apart if is_fork else _begin, theirs, task, work)
    process = context.Process(target=begin, name="midfold-trajectories", daemon=True)
    with theirs, _interrupts_held():
        process.start()
    return Worker(process, ours)


def send_answer(pipe: Pipe, finish: Callable[[], Finished]) -> None:
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
            pipe.send(Ready())
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
    return answer.reason if isinstance(answer, Failed) else "it answered something else"


def _describe(error: Exception) -> Failed:
    return Failed(" ".join(f"{type(error).__name__}: {error}".split())[:_REASON_CHARS])
