"""Whether the files that a connection opened are still those that are found under their names.

A database can be replaced or removed while it is open: by a copy that is moved over it, by a backup that is
brought back, by a process that believed itself the last one and removed the log. Whatever is written after
that goes to files that have no name, and is gone with the process. So the writer looks before it writes, and
again before it says that something is written.
"""

import os
import sqlite3
import sys
import time
from pathlib import Path

from midfold.errors import StoreReplaced
from midfold.store.sqlite.driver import driver

_SECONDS_BETWEEN_LOOKS = 0.01
# A handle that cannot read: closing it leaves the locks of the process alone.
_NO_ACCESS = getattr(os, "O_PATH", None)
_PRIVATE_FILE = 0o600
_WITHOUT_LOG = "its log, or the index of that, was replaced or removed while it was open"

_Identity = tuple[int, int]
_LEFT_OPEN: list[sqlite3.Connection] = []
_LEFT_FILES: list[tuple[_Identity | None, ...]] = []


class DatabaseFiles:
    """The database, its log and the index of that, as they were when the writer had just opened them.

    Processes agree over the index on who writes where in the log: two that have each its own overwrite what
    the other one committed.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._database = str(path)
        self._beside = _beside(path)
        self.expected = _look(path, self._beside)
        self._handles = [handle for name in self._beside if (handle := _watch(name)) is not None]
        self._next_look = 0.0

    def close(self) -> None:
        """Let go of what is watched; nothing is checked any more."""
        handles, self._handles = self._handles, []
        for handle in handles:
            os.close(handle)

    def check(self) -> None:
        """Raise `StoreReplaced` where other files, or none, have the names by now."""
        try:
            found = _look(self._path, self._beside)
        except OSError:  # a process that may not look cannot know, and the files stay open
            return
        if found[0] != self.expected[0]:
            raise self._replaced()
        if found != self.expected:
            raise self._without_log()

    def check_before_writing(self) -> None:
        """Look, unless that was done a moment ago: a writer without a pause looks after each write."""
        now = time.monotonic()
        if now >= self._next_look:
            self._next_look = now + _SECONDS_BETWEEN_LOOKS
            self.check()

    def check_before_answering(self) -> None:
        """Look at what costs least: who has the name of the database, and whether the others have names."""
        if not self._handles:
            self.check()
            return
        try:
            database = _identify(self._database)
        except OSError:
            return
        if database != self.expected[0]:
            raise self._replaced()
        if not all(os.fstat(handle).st_nlink for handle in self._handles):
            raise self._without_log()

    def _replaced(self) -> StoreReplaced:
        return StoreReplaced(str(self._path), "it was replaced, moved or removed while it was open")

    def _without_log(self) -> StoreReplaced:
        return StoreReplaced(str(self._path), _WITHOUT_LOG)


def leave_open(connection: sqlite3.Connection, files: DatabaseFiles | None) -> None:
    """Never close a connection whose files were replaced, not even when Python ends.

    SQLite's last act would be to remove the log by its name, which is by now that of somebody else's log.
    """
    _LEFT_OPEN.append(connection)
    if files is not None:
        _LEFT_FILES.append(files.expected)
    if sys.implementation.name == "cpython":
        import ctypes  # here, because it is hardly ever needed

        ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))


def refuse_left_open(path: Path) -> None:
    """Raise `StoreReplaced` for a file that this process has open with a log or an index which is replaced.

    All connections of a process to one file share the index, so another one would write by the old one, too.
    """
    if not _LEFT_FILES:
        return
    try:
        found = _look(path, _beside(path))
    except OSError:
        return
    if any(found[0] == left[0] and found != left for left in _LEFT_FILES):
        raise StoreReplaced(str(path), _WITHOUT_LOG)


def keep_copy(connection: sqlite3.Connection, path: Path) -> Path | None:
    """Write all that a connection sees into a new file beside `path`; `None` where that cannot be done.

    What was acknowledged may be nowhere else: files without a name are gone with the process.
    """
    copy = path.with_name(f"{path.name}.kept-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}")
    try:
        os.close(os.open(copy, os.O_CREAT | os.O_EXCL | os.O_WRONLY, _PRIVATE_FILE))
    except OSError:
        return None
    try:
        target = driver.connect(str(copy), isolation_level=None)
        try:
            connection.backup(target)
            target.execute("PRAGMA journal_mode = DELETE")  # one file, without a log to go astray
        finally:
            target.close()
    except (driver.Error, OSError, MemoryError):
        copy.unlink(missing_ok=True)
        return None
    return copy


def _look(path: Path, beside: tuple[str, ...]) -> tuple[_Identity | None, ...]:
    """Identify a database, its log and the index of that."""
    return _identify(str(path)), *map(_identify, beside)


def _beside(path: Path) -> tuple[str, str]:
    """Name the log and its index, which SQLite keeps beside the file that a link leads to."""
    real = os.path.realpath(path)
    return f"{real}-wal", f"{real}-shm"


def _identify(path: str) -> _Identity | None:
    """Return device and inode; nothing where there is no such file."""
    try:
        facts = os.stat(path)  # noqa: PTH116 - done for every commit
    except (FileNotFoundError, NotADirectoryError):
        return None
    return facts.st_dev, facts.st_ino


def _watch(path: str) -> int | None:
    """Return a handle that shows whether a file still has a name, where the system has such handles."""
    if _NO_ACCESS is None:
        return None
    try:
        return os.open(path, _NO_ACCESS | os.O_CLOEXEC)
    except OSError:
        return None
