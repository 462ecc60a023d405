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
        lock = path.with_name(f"{path.name}.writer")
        self._handle: int | None = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, _PRIVATE_FILE)
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


def _lock(handle: int) -> None:
    try:
        import fcntl
    except ImportError:  # Windows refuses to share the file by other means
        return
    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
