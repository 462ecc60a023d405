"""The one thread that writes. Callers hand it functions; those that wait together share one commit.

A commit is what costs: it waits for the disk. So whatever is waiting goes into one transaction, each piece
behind a savepoint of its own, and everybody hears of it only once the commit is durable.
"""

import os
import queue
import sqlite3
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any, TypeVar

from midfold.errors import StoreCorrupt, StoreError, StoreUnavailable
from midfold.faults import faultpoint
from midfold.store.sqlite.driver import driver, is_busy, is_corrupt, is_out_of_space, roll_back, translate

T = TypeVar("T")
Work = Callable[[sqlite3.Connection], T]

MAX_WAITING = 1_000
"""Pieces of work that may wait; beyond that the caller is told, so that memory stays bounded."""

_MAX_TOGETHER = 256
_PROBE_BYTES = 1 << 20
_PROBE_SECONDS = 1.0
_CLOSE_SECONDS = 30.0
_BUSY_TRIES = 3


class Writer:
    """Owns the writing connection and the thread that uses it."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection = connection
        self._path = path
        self._queue: queue.Queue[_Piece | None] = queue.Queue(MAX_WAITING)
        self._lock = threading.Lock()
        self._is_closed = False
        self._trouble = _Trouble(path)
        self._thread = threading.Thread(target=self._run, name="midfold-store", daemon=True)
        self._thread.start()

    @property
    def problem(self) -> str | None:
        """Why writing is off for now: there is no room, or the file is damaged."""
        return self._trouble.reason

    def do(self, work: Work[T]) -> T:
        """Run `work` in a transaction and return its result once that is durable."""
        self._trouble.check()
        piece = _Piece(work)
        with self._lock:
            if self._is_closed:
                raise StoreUnavailable("it is closed")
            try:
                self._queue.put_nowait(piece)
            except queue.Full:
                raise StoreUnavailable(f"{MAX_WAITING:,} writes are waiting") from None
        result: T = piece.future.result()
        return result

    def stop_writing(self, reason: str) -> None:
        """Write nothing any more: the file is damaged."""
        self._trouble.stop(reason)

    def close(self) -> None:
        """Finish what is waiting and close the connection."""
        with self._lock:
            if self._is_closed:
                return
            self._is_closed = True
        self._queue.put(None)
        self._thread.join(_CLOSE_SECONDS)

    def _run(self) -> None:
        while (first := self._queue.get()) is not None:
            pieces, is_last = self._gather(first)
            self._write(pieces)
            if is_last:
                break
        self._connection.close()

    def _gather(self, first: "_Piece") -> tuple[list["_Piece"], bool]:
        pieces = [first]
        while len(pieces) < _MAX_TOGETHER:
            try:
                piece = self._queue.get_nowait()
            except queue.Empty:
                return pieces, False
            if piece is None:
                return pieces, True
            pieces.append(piece)
        return pieces, False

    def _write(self, pieces: list["_Piece"]) -> None:
        for attempt in range(_BUSY_TRIES):
            try:
                self._write_once(pieces)
            except (driver.Error, OSError) as error:
                roll_back(self._connection)
                # SQLite has waited its time-out for a lock; a snapshot that went stale it refuses at once.
                if is_busy(error) and attempt + 1 < _BUSY_TRIES and _is_stale_snapshot(error):
                    continue
                self._fail(pieces, error)
            except BaseException as error:  # noqa: BLE001 - whoever waits must hear of it
                roll_back(self._connection)
                self._fail(pieces, error)
            return

    def _write_once(self, pieces: list["_Piece"]) -> None:
        connection = self._connection
        faultpoint("store.begin.before")
        connection.execute("BEGIN IMMEDIATE")
        faultpoint("store.begin.after")
        for piece in pieces:
            piece.run(connection)
        faultpoint("store.commit.before")
        connection.execute("COMMIT")
        faultpoint("store.commit.after")
        for piece in pieces:
            piece.settle()

    def _fail(self, pieces: list["_Piece"], error: BaseException) -> None:
        if isinstance(error, driver.Error):
            self._trouble.note(error)
            failure: BaseException = translate(error, self._path)
        elif isinstance(error, OSError):
            failure = StoreUnavailable(f"{self._path}: {error.strerror or error}")
        else:
            failure = error
        for piece in pieces:
            piece.fail(failure)


class _Piece:
    """A function that waits for the writer, and whoever waits for its result."""

    def __init__(self, work: Work[Any]) -> None:
        self.future: Future[Any] = Future()
        self._work = work
        self._result: object = None
        self._error: Exception | None = None

    def run(self, connection: sqlite3.Connection) -> None:
        """Run behind a savepoint: what fails for a reason of its own leaves the others alone."""
        self._result = self._error = None
        connection.execute("SAVEPOINT piece")
        try:
            self._result = self._work(connection)
        except driver.IntegrityError as error:
            connection.execute("ROLLBACK TO piece")
            self._error = StoreError(f"the store refuses this: {error}")
        except (StoreError, ValueError, TypeError, LookupError) as error:
            connection.execute("ROLLBACK TO piece")
            self._error = error
        connection.execute("RELEASE piece")

    def settle(self) -> None:
        if self._error is not None:
            self.future.set_exception(self._error)
        else:
            self.future.set_result(self._result)

    def fail(self, error: BaseException) -> None:
        # Whoever has an answer of their own keeps it; nothing of it was written.
        self.future.set_exception(self._error if isinstance(self._error, StoreError) else error)


class _Trouble:
    """Why nothing is written for now. A small write that works is no proof that there is room again."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._next_probe = 0.0
        self._is_for_good = False
        self.reason: str | None = None

    def note(self, error: Exception) -> None:
        if is_corrupt(error):
            self.stop(str(error))
        elif is_out_of_space(error):
            self.reason = str(error)
            self._next_probe = time.monotonic() + _PROBE_SECONDS

    def stop(self, reason: str) -> None:
        self._is_for_good, self.reason = True, reason

    def check(self) -> None:
        """Raise while writing is off; look for room again now and then."""
        if self.reason is None:
            return
        if self._is_for_good:
            raise StoreCorrupt(str(self._path), self.reason)
        if time.monotonic() < self._next_probe or not self._has_room():
            raise StoreUnavailable(f"{self._path}: {self.reason}")
        self.reason = None

    def _has_room(self) -> bool:
        self._next_probe = time.monotonic() + _PROBE_SECONDS
        probe = self._path.with_name(f".{self._path.name}.probe-{os.getpid()}")
        try:
            with probe.open("wb") as file:
                file.write(bytes(_PROBE_BYTES))
                file.flush()
                os.fsync(file.fileno())
        except OSError:
            return False
        finally:
            probe.unlink(missing_ok=True)
        return True


def _is_stale_snapshot(error: BaseException) -> bool:
    return getattr(error, "sqlite_errorname", "") == "SQLITE_BUSY_SNAPSHOT"
