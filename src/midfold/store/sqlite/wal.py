"""The write-ahead log of a store, kept short so that it is rarely the only copy of anything."""

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from midfold.store.sqlite.driver import driver

if TYPE_CHECKING:
    from midfold.store.sqlite.progress_mark import ProgressMark

MAX_LOG_BYTES = 48 << 20
"""From here on the log is checkpointed into the file even if that takes waiting for readers."""

_CHECKPOINT_WAIT_SECONDS = 0.2
_SECONDS_BETWEEN_CHECKPOINTS = 1.0


class WriteAheadLog:
    """The log of a store: checkpointed when nobody writes, and when it is too long."""

    def __init__(self, connection: sqlite3.Connection, path: Path, mark: "ProgressMark | None") -> None:
        self._connection = connection
        self._file = path
        self._path = path.with_name(f"{path.name}-wal")
        self._mark = mark
        self._next_look = 0.0
        self._changes = 0
        self._is_counted = False
        self._checkpointing: threading.Thread | None = None

    def note_end(self) -> None:
        """Do what belongs to the end of a transaction, before it is committed."""
        mark = self._mark
        self._is_counted = mark is not None and mark.is_due() and self._has_changed()
        if mark is not None and self._is_counted:
            mark.count(self._connection)
            self._changes = self._connection.total_changes

    def note_commit(self) -> None:
        """Do what follows a commit, before the next transaction begins."""
        if self._mark is not None and self._is_counted:
            self._mark.note(self._connection)
        self._keep_short()

    def fold_when_idle(self, is_ours: Callable[[], bool]) -> None:
        """Fold the log into the file beside writers and readers; nobody waits for it.

        It takes a connection of its own, and a thread that ends with it. Where a reader holds on to what is
        in the log, a part stays there until next time. Another file of the same name, for which `is_ours` is
        false, is left alone.
        """
        if self._mark is not None and (self._checkpointing is None or not self._checkpointing.is_alive()):
            self._checkpointing = threading.Thread(
                target=self._fold, args=(is_ours,), name="midfold-log", daemon=True
            )
            self._checkpointing.start()

    def close(self) -> None:
        """Finish; SQLite folds the log into the file when the last connection goes."""
        if self._checkpointing is not None:
            self._checkpointing.join()
        if self._mark is not None:
            self._mark.note(self._connection)
            self._mark.close()

    def _has_changed(self) -> bool:
        """Whether anything was written since the last commit that was counted."""
        return self._connection.total_changes != self._changes

    def _fold(self, is_ours: Callable[[], bool]) -> None:
        if not is_ours():
            return  # the writer notices, and says so
        # What is committed is committed; a real trouble shows again at the next write.
        with suppress(OSError, MemoryError, driver.Error):
            connection = driver.connect(str(self._file), isolation_level=None, timeout=0)
            with closing(connection):
                if self._mark is not None:
                    self._mark.note(connection)
                connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
                # Nothing is left to copy, so this takes no time, and without patience it waits for nobody. A
                # log that stays could, once damaged, put old pages before newer ones of the file.
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()

    def _keep_short(self) -> None:
        """Fold a log that is too long into the file, waiting a moment for readers; every second at most.

        Readers that take turns could keep it growing for ever.
        """
        now = time.monotonic()
        if now < self._next_look:
            return
        self._next_look = now + _SECONDS_BETWEEN_CHECKPOINTS
        with suppress(OSError, MemoryError, driver.Error):
            if self._path.stat().st_size > MAX_LOG_BYTES:
                with patience(self._connection, _CHECKPOINT_WAIT_SECONDS):
                    self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


@contextmanager
def patience(connection: sqlite3.Connection, seconds: float) -> Iterator[None]:
    """Wait for the locks of others, which is not done otherwise."""
    connection.execute(f"PRAGMA busy_timeout = {int(seconds * 1_000)}")
    try:
        yield
    finally:
        connection.execute("PRAGMA busy_timeout = 0")
