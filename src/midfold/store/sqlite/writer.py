"""The one thread that writes. Callers hand it functions; those that wait together share one commit.

A commit is what costs: it waits for the disk. So whatever is waiting goes into one transaction, each piece
behind a savepoint of its own, and everybody hears of it only once the commit is durable.
"""

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from midfold.errors import StoreUnavailable
from midfold.faults import faultpoint
from midfold.store.codec import DamagedRow
from midfold.store.sqlite.driver import BUSY_SECONDS, driver, is_about_the_file, roll_back, translate
from midfold.store.sqlite.trouble import Trouble

T = TypeVar("T")
Work = Callable[[sqlite3.Connection], T]
Chore = Callable[[sqlite3.Connection], int]
"""Work that can wait, a bounded piece of it; returns 0 when there is none left."""

MAX_WAITING = 1_000
"""Pieces of work that may wait; beyond that the caller is told, so that memory stays bounded."""
MAX_LOG_BYTES = 48 << 20
"""From here on the log is folded into the file even if that takes waiting for readers."""

_MAX_TOGETHER = 256
_IDLE_SECONDS = 0.25
# Whoever never pauses gets a chore in between, so that chores do not pile up.
_COMMITS_BETWEEN_CHORES = 512
_NO_WAIT_SECONDS = 0.5
_CHECKPOINT_WAIT_SECONDS = 0.2
_SECONDS_BETWEEN_CHECKPOINTS = 1.0


class Writer:
    """Owns the writing connection and the thread that uses it."""

    def __init__(self, connection: sqlite3.Connection, path: Path, chore: Chore = lambda _: 0) -> None:
        self._connection = connection
        self._path = path
        self._chore = chore
        self._log = _Log(connection, path)
        self._queue: SimpleQueue[_Piece | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._is_closed = False
        self.trouble = Trouble(path)
        self._thread = threading.Thread(target=self._run, name="midfold-store", daemon=True)
        self._thread.start()

    def do(self, work: Work[T]) -> T:
        """Run `work` in a transaction and return its result once that is durable."""
        self.trouble.check()
        piece = _Piece(work, self._path)
        with self._lock:
            if self._is_closed:
                raise StoreUnavailable("it is closed")
            if self._queue.qsize() >= MAX_WAITING:
                raise StoreUnavailable(f"{MAX_WAITING:,} writes are waiting")
            self._queue.put(piece)
        result: T = piece.wait()
        return result

    def close(self) -> None:
        """Finish what is waiting and close the connection."""
        with self._lock:
            is_first, self._is_closed = not self._is_closed, True
        if is_first:
            self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        commits, is_last, has_chores = 0, False, True
        while not is_last:
            pieces, is_last = self._gather(_IDLE_SECONDS if has_chores else None)
            if pieces:
                self._write(pieces)
                commits, has_chores = commits + 1, True
            if not pieces or commits >= _COMMITS_BETWEEN_CHORES:
                commits, has_chores = 0, self._do_chore()
        self._connection.close()

    def _gather(self, seconds: float | None) -> tuple[list["_Piece"], bool]:
        """Take what is waiting, or wait for it; and say whether nothing comes after it."""
        pieces: list[_Piece] = []
        try:
            while len(pieces) < _MAX_TOGETHER:
                piece = self._queue.get_nowait() if pieces else self._queue.get(timeout=seconds)
                if piece is None:
                    return pieces, True
                pieces.append(piece)
        except Empty:
            pass
        return pieces, False

    def _do_chore(self) -> bool:
        """Do a part of what can wait, and return whether there may be more; in trouble there is none."""
        piece = _Piece(self._chore, self._path)
        self._write([piece])
        return piece.error is None and bool(piece.result)

    def _write(self, pieces: list["_Piece"]) -> None:
        refusal = self.trouble.error  # what was found while these waited concerns them, too
        if refusal is not None:
            _fail(pieces, refusal)
            return
        try:
            self._write_together(pieces)
        except BaseException as error:  # noqa: BLE001 - whoever waits must hear of it
            roll_back(self._connection)
            self.trouble.note(error)
            _fail(pieces, _explain(error, self._path))

    def _write_together(self, pieces: list["_Piece"]) -> None:
        connection = self._connection
        faultpoint("store.begin.before")
        self._begin(waited=time.monotonic() - pieces[0].since)
        faultpoint("store.begin.after")
        for piece in pieces:
            piece.run(connection)
        faultpoint("store.commit.before")
        connection.execute("COMMIT")
        faultpoint("store.commit.after")
        for piece in pieces:
            piece.settle()
        self._log.keep_short()

    def _begin(self, waited: float) -> None:
        """Begin to write, never from a snapshot that was read before; nobody waits for a lock twice."""
        if waited < _NO_WAIT_SECONDS:
            self._connection.execute("BEGIN IMMEDIATE")
            return
        with _patience(self._connection, max(0.0, BUSY_SECONDS - waited)):
            self._connection.execute("BEGIN IMMEDIATE")


class _Piece:
    """A function that waits for the writer, and whoever waits for its result."""

    def __init__(self, work: Work[Any], path: Path) -> None:
        self.since = time.monotonic()
        self.result: Any = None
        self.error: BaseException | None = None
        self._work = work
        self._path = path
        self._is_settled = threading.Lock()  # a bare lock is the quickest thing to wait for
        self._is_settled.acquire()

    def wait(self) -> Any:
        """Return the result once it is durable, or raise what came instead."""
        self._is_settled.acquire()
        if self.error is not None:
            raise self.error
        return self.result

    def run(self, connection: sqlite3.Connection) -> None:
        """Run behind a savepoint: what fails for a reason of its own leaves the others alone."""
        self.result = self.error = None
        connection.execute("SAVEPOINT piece")
        try:
            self.result = self._work(connection)
        except Exception as error:
            if is_about_the_file(error) or not connection.in_transaction:
                raise
            connection.execute("ROLLBACK TO piece")
            self.error = _explain(error, self._path)
        connection.execute("RELEASE piece")

    def settle(self) -> None:
        """Let whoever waits go on."""
        if self._is_settled.locked():
            self._is_settled.release()

    def fail(self, error: BaseException) -> None:
        """Tell that nothing was written; an answer that would have been a refusal stays one."""
        self.error = self.error or error
        self.settle()


class _Log:
    """Keeps the write-ahead log short: readers that take turns could keep it growing for ever."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection = connection
        self._path = path.with_name(f"{path.name}-wal")
        self._next_look = 0.0

    def keep_short(self) -> None:
        """Fold a log that is too long into the file, waiting a moment for readers; every second at most."""
        now = time.monotonic()
        if now < self._next_look:
            return
        self._next_look = now + _SECONDS_BETWEEN_CHECKPOINTS
        try:
            if self._path.stat().st_size > MAX_LOG_BYTES:
                with _patience(self._connection, _CHECKPOINT_WAIT_SECONDS):
                    self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        except (OSError, driver.Error):
            # What is committed is committed; a real trouble shows again at the next write.
            return


def _fail(pieces: list[_Piece], error: BaseException) -> None:
    for piece in pieces:
        piece.fail(error)


def _explain(error: BaseException, path: Path) -> BaseException:
    """Return what a caller is told; what is wrong in the caller's own code comes back as it is."""
    if isinstance(error, DamagedRow | driver.Error | OSError | MemoryError | OverflowError | UnicodeError):
        return translate(error, path)
    return error


@contextmanager
def _patience(connection: sqlite3.Connection, seconds: float) -> Iterator[None]:
    """Wait for locks for another time than usual."""
    connection.execute(f"PRAGMA busy_timeout = {int(seconds * 1_000)}")
    try:
        yield
    finally:
        connection.execute(f"PRAGMA busy_timeout = {int(BUSY_SECONDS * 1_000)}")
