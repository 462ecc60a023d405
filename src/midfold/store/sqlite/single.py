"""Keeps a second process from writing where the SQLite in use must not have two.

The lock is on a file of its own: a lock on the database file itself would break SQLite's.
"""

import os
from pathlib import Path

from midfold.errors import StoreUnavailable

_PRIVATE_FILE = 0o600


class SingleWriter:
    """Held while this process may write; given back by `release`, or by the end of the process."""

    def __init__(self, path: Path) -> None:
        self._handle: int | None = _open(path.with_name(f"{path.name}.writer"))
        try:
            _lock(self._handle)
        except OSError as error:
            os.close(self._handle)
            raise StoreUnavailable(
                f"{path}: another process writes to it, and this SQLite is too old for two writers; "
                "install pysqlite3 or use a SQLite of 3.51.3 or later"
            ) from error

    def release(self) -> None:
        """Let the next process write."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None


def _open(lock: Path) -> int:
    no_link = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
    try:
        return os.open(lock, os.O_RDWR | os.O_CREAT | no_link, _PRIVATE_FILE)
    except OSError as error:
        raise StoreUnavailable(f"{lock}: {error.strerror or error}") from error


def _lock(handle: int) -> None:
    try:
        import fcntl
    except ImportError:  # Windows refuses to share the file by other means
        return
    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
