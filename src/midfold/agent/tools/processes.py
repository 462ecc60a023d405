"""The processes that a command leaves running: asked to end, given a moment, and then killed.

They are found by the session that they were started in, and by a mark that every child inherits: a process
can make a session of its own. Where the system does not show these (it is no Linux), and where a process of
another session emptied its environment, only the command's own process group is ended.
"""

import os
import secrets
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from midfold.late_dataclasses import dataclass

VARIABLE = "RUN_BY_MIDFOLD"
GRACE_SECONDS = 1.0
_POLL_SECONDS = 0.02
_PROCESSES = Path("/proc")
_NO_SIGNAL = 0
"""Harms no process, and shows whether it is there."""
# A process that starts others meanwhile is met again; one that does so without end is left alone.
_MOST_ROUNDS = 20


@dataclass(frozen=True, slots=True)
class ProcessMark:
    """A word that no other command has, behind those of the commands that this one runs in."""

    own: str
    outer: str

    @classmethod
    def make(cls) -> "ProcessMark":
        """Make the mark of a command; a command that runs us has its own in our environment."""
        return cls(secrets.token_hex(16), os.environ.get(VARIABLE, ""))

    @property
    def value(self) -> str:
        """The value in the environment of the command: ending the outer command finds this one as well."""
        return f"{self.outer}:{self.own}".lstrip(":")


def end_all(leader: int, mark: ProcessMark, *, rest_seconds: float = 0.0) -> bool:
    """End everything that a command started; true where a process had to be signalled.

    `leader` is the command's own process, which leads a session and a group. What is about to end by itself
    has `rest_seconds` for it.
    """
    if _wait_until_gone(leader, mark, rest_seconds) or not _signal_all(leader, mark, signal.SIGTERM):
        return False
    if not _wait_until_gone(leader, mark, GRACE_SECONDS):
        for _ in range(_MOST_ROUNDS):
            if not _signal_all(leader, mark, signal.SIGKILL):
                break
    return True


def _wait_until_gone(leader: int, mark: ProcessMark, seconds: float) -> bool:
    """Wait until nothing is left, for so long at most."""
    latest = time.monotonic() + seconds
    while _signal_all(leader, mark, _NO_SIGNAL):
        if time.monotonic() >= latest:
            return False
        time.sleep(_POLL_SECONDS)
    return True


def _signal_all(leader: int, mark: ProcessMark, number: int) -> bool:
    """Send a signal to all that is left; false where nothing is."""
    if not (_PROCESSES / "self" / "stat").exists():
        return _send(os.killpg, leader, number)
    # Each one as soon as it is found: a number that is kept for later may be another's by then.
    return sum(_send(os.kill, process, number) for process in _find(leader, mark)) > 0


def _send(kill: Callable[[int, int], None], target: int, number: int) -> bool:
    with suppress(ProcessLookupError, PermissionError):
        kill(target, number)
        return True
    return False


def _find(leader: int, mark: ProcessMark) -> Iterator[int]:
    for folder in _PROCESSES.iterdir():
        if folder.name.isdecimal():
            with suppress(OSError):  # it has ended, or is somebody else's
                if _is_alive_in(folder, leader) or _has_mark(folder, mark):
                    yield int(folder.name)


def _is_alive_in(folder: Path, session: int) -> bool:
    # Behind the name, which may have blanks and brackets: state, parent, group, session.
    fields = (folder / "stat").read_bytes().rpartition(b")")[2].split()
    return int(fields[3]) == session and fields[0] not in (b"Z", b"X")


def _has_mark(folder: Path, mark: ProcessMark) -> bool:
    entry = f"{VARIABLE}=".encode()
    values = (folder / "environ").read_bytes().split(b"\0")
    marks = [value.removeprefix(entry) for value in values if value.startswith(entry)]
    return any(mark.own.encode() in each.split(b":") for each in marks)
