"""What a command leaves running although it was to end: found by a mark that everything it starts inherits.

A process that made a session of its own is in no group that could be ended. Its environment tells where it
comes from, on systems that show it (Linux); elsewhere, and where it was emptied, such a process stays.
"""

import os
import secrets
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

VARIABLE = "RUN_BY_MIDFOLD"
_PROCESSES = Path("/proc")
# Who starts others while it is looked for is met again; who does so without end is left alone.
_MOST_ROUNDS = 20


def make_mark() -> str:
    """Return a mark that no other command has."""
    return secrets.token_hex(16)


def end_marked(mark: str) -> None:
    """End every process that carries a mark."""
    for _ in range(_MOST_ROUNDS):
        found = list(_find(f"{VARIABLE}={mark}".encode()))
        for process in found:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(process, signal.SIGKILL)
        if not found:
            return


def _find(entry: bytes) -> Iterator[int]:
    with suppress(OSError):
        for folder in _PROCESSES.iterdir():
            if folder.name.isdecimal():
                with suppress(OSError):  # it has ended, or is somebody else's
                    if entry in (folder / "environ").read_bytes().split(b"\0"):
                        yield int(folder.name)
