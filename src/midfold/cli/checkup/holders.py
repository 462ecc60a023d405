"""Which other processes have the files of a store open.

A program that opens and closes them without SQLite drops the locks of its own process; a copy made so may
miss what was committed last.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_PROCESSES = Path("/proc")
_OURS = ("midfold", "python", "pypy")


@dataclass(frozen=True, slots=True)
class Holder:
    """A process that has a file open."""

    pid: int
    name: str

    @property
    def is_foreign(self) -> bool:
        """Whether it looks like anything but midfold."""
        return not self.name.lower().startswith(_OURS)


def find_holders(files: Sequence[Path]) -> list[Holder]:
    """Find the processes that have one of `files` open, as far as the system lets us look."""
    wanted = {str(file.resolve()) for file in files}
    pids = [int(entry.name) for entry in _scan(_PROCESSES) if entry.name.isdigit()]
    return [Holder(pid, _name(pid)) for pid in pids if pid != os.getpid() and wanted & set(_targets(pid))]


def _targets(pid: int) -> Iterator[str]:
    for entry in _scan(_PROCESSES / str(pid) / "fd"):
        with suppress(OSError):
            yield str(Path(entry.path).readlink())


def _scan(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []


def _name(pid: int) -> str:
    try:
        return (_PROCESSES / str(pid) / "comm").read_text().strip()
    except OSError:
        return "unknown"
