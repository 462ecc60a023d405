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
_LEFT_OPEN: list[sqlite3.Connection] = []

_Identity = tuple[int, int]


class Files:
    """The database and its log, as they were when the connection that writes had just opened them."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._database = str(path)
        # SQLite keeps the log beside the file that a link leads to.
        self._log = f"{os.path.realpath(path)}-wal"
        self._expected = _identify(self._database), _identify(self._log)
        self._handle = _watch(self._log)
        self._next_look = 0.0

    def close(self) -> None:
        """Let go of what is watched; nothing is checked any more."""
        handle, self._handle = self._handle, None
        if handle is not None:
            os.close(handle)

    def check(self) -> None:
        """Raise `StoreReplaced` where other files, or none, have the names by now."""
        try:
            database, log = _identify(self._database), _identify(self._log)
        except OSError:  # whoever may not look cannot tell, and what is open stays open
            return
        if database != self._expected[0]:
            raise self._replaced()
        if log != self._expected[1]:
            raise self._without_log()

    def check_before_writing(self) -> None:
        """Look, unless somebody did a moment ago: whoever writes without a pause looks after each write."""
        now = time.monotonic()
        if now >= self._next_look:
            self._next_look = now + _SECONDS_BETWEEN_LOOKS
            self.check()

    def check_before_answering(self) -> None:
        """Look at what costs least: who has the name of the database, and whether the log has a name."""
        if self._handle is None:
            self.check()
            return
        try:
            database = _identify(self._database)
        except OSError:
            return
        if database != self._expected[0]:
            raise self._replaced()
        if not os.fstat(self._handle).st_nlink:
            raise self._without_log()

    def _replaced(self) -> StoreReplaced:
        return StoreReplaced(str(self._path), "it was replaced, moved or removed while it was open")

    def _without_log(self) -> StoreReplaced:
        return StoreReplaced(str(self._path), "its log was replaced or removed while it was open")


def leave_open(connection: sqlite3.Connection) -> None:
    """Never close a connection whose files were replaced, not even when Python ends.

    SQLite's last act would be to remove the log by its name, which is by now that of somebody else's log.
    """
    _LEFT_OPEN.append(connection)
    if sys.implementation.name == "cpython":
        import ctypes  # here, because it is hardly ever needed

        ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))


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


def _identify(path: str) -> _Identity | None:
    """Return device and inode; nothing where there is no such file."""
    try:
        facts = os.stat(path)  # noqa: PTH116 - done for every commit
    except (FileNotFoundError, NotADirectoryError):
        return None
    return facts.st_dev, facts.st_ino


def _watch(path: str) -> int | None:
    """Return a handle that tells whether a file still has a name, where the system has such handles."""
    if _NO_ACCESS is None:
        return None
    try:
        return os.open(path, _NO_ACCESS | os.O_CLOEXEC)
    except OSError:
        return None
