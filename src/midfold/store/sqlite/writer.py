"""The one connection that writes, lent to one thread at a time.

A commit is what costs: it waits for the disk. So a thread puts all waiting work into one transaction, each
piece behind a savepoint of its own, and callers get their results once the commit is durable. A caller that
finds the connection free and nobody waiting commits in the calling thread: handing work to another thread
costs more than a commit.
"""

import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from queue import Empty, SimpleQueue
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from midfold.errors import StoreReplaced, StoreUnavailable
from midfold.faults import faultpoint
from midfold.store.codec import DamagedRow
from midfold.store.sqlite.driver import (
    BUSY_SECONDS,
    driver,
    is_about_the_file,
    is_busy,
    roll_back,
    translate,
)
from midfold.store.sqlite.file_identity import DatabaseFiles, keep_copy, leave_open
from midfold.store.sqlite.wal import WriteAheadLog, patience
from midfold.store.sqlite.writer_state import WriterState

if TYPE_CHECKING:
    from midfold.store.sqlite.progress_mark import ProgressMark

T = TypeVar("T")
P = ParamSpec("P")
Work = Callable[[sqlite3.Connection], T]
Chore = Callable[[sqlite3.Connection], int]
"""Work that can wait, a short piece of it; returns 0 when there is none left."""

MAX_WAITING = 1_000
"""Pieces of work that may wait; beyond that the caller gets an error, so that memory stays bounded."""

_MAX_TOGETHER = 256
_IDLE_SECONDS = 0.25
# A wake-up that an interrupt prevented is made up for after this time.
_REST_SECONDS = 1.0
# A caller that never pauses gets chores in between, so that they do not pile up.
_COMMITS_BETWEEN_CHORES = 1_000


class Writer:
    """Owns the writing connection, and lends it to one at a time.

    A caller never writes for others, so an error or an interrupt in it stops nobody else: its own work is
    rolled back and the connection is free again. No caller overtakes waiting ones, so none waits for ever.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        path: Path,
        chore: Chore = lambda _: 0,
        files: DatabaseFiles | None = None,
        mark: "ProgressMark | None" = None,
    ) -> None:
        connection.execute("PRAGMA busy_timeout = 0")  # from here on, see `patience`
        self._connection = connection
        self._path = path
        self._chore = chore
        self._files = files
        self._log = WriteAheadLog(connection, path, mark)
        self._waiting: deque[_Piece] = deque()
        # It guards the choice of the next holder. A signal may come to a thread that has it already.
        self._lock = threading.RLock()
        self._holder: object = None  # who has the connection: a piece that its caller writes, or the thread
        self._holding_thread = 0
        self._wake_ups: SimpleQueue[None] = SimpleQueue()
        self._is_closed = False
        self._commits = 0
        self._commits_at_chore = 0
        self._commits_in_file = 0
        self._has_chores = True
        self._are_chores_due = False
        self.state = WriterState(path)
        self._thread = threading.Thread(target=self._run, name="midfold-store", daemon=True)
        self._thread.start()

    def do(
        self, work: Callable[Concatenate[sqlite3.Connection, P], T], *args: P.args, **options: P.kwargs
    ) -> T:
        """Run `work` in a transaction and return its result once that is durable."""
        self.state.check()
        piece = _Piece(work, self._path, args, options)
        try:
            if self._begin_or_wait(piece) and not self._write_now(piece):
                self._leave_to_thread(piece)  # it can wait for a lock, and meanwhile interrupts come through
        finally:
            # Interrupts come with calls, and there is none before the connection is given back.
            if self._holder is piece:
                self._holder = None
            self._wake_thread_if_needed()
        result: T = piece.wait()
        return result

    def close(self) -> bool:
        """Finish what is waiting and close the connection.

        Returns false when that is left to the thread, since a signal called in the middle of a write. Raises
        `StoreReplaced` where what was written is not in the file that people find.
        """
        self._is_closed = True
        self._wake_ups.put(None)
        if self._is_inside():
            return False
        self._thread.join()
        if isinstance(replaced := self.state.error, StoreReplaced):
            raise replaced
        return True

    def check_files(self) -> None:
        """Raise `StoreReplaced` where other files, or none, have the names of those that are open."""
        if self._files is not None:
            self._files.check()

    def _are_files_ours(self) -> bool:
        try:
            self.check_files()
        except StoreReplaced:
            return False
        return True

    def _begin_or_wait(self, piece: "_Piece") -> bool:
        """Take the connection where it is free and nobody waits; else leave the piece to the thread."""
        with self._lock:
            if self._is_closed:
                raise StoreUnavailable("it is closed")
            if self._is_inside():
                raise StoreUnavailable("this thread is in the middle of a write already")
            if self._holder is None and not self._waiting and not self._are_chores_due:
                self._hold(piece)
                return True
            self._leave_to_thread(piece)
            return False

    def _leave_to_thread(self, piece: "_Piece") -> None:
        if len(self._waiting) >= MAX_WAITING:
            raise StoreUnavailable(f"{MAX_WAITING:,} writes are waiting")
        self._waiting.append(piece)

    def _hold(self, holder: object) -> None:
        self._holding_thread = threading.get_ident()
        self._holder = holder

    def _is_inside(self) -> bool:
        """Whether this very thread writes: a signal, or the end of some object, called from there."""
        thread = threading.get_ident()
        is_holding = self._holder is not None and self._holding_thread == thread
        return is_holding or thread == self._thread.ident

    def _wake_thread_if_needed(self) -> None:
        """Wake the thread where it has work; while a caller writes it waits, until the caller wakes it."""
        if self._holder is None and (self._is_thread_needed() or self._do_chores_pile_up()):
            self._wake_ups.put(None)

    def _is_thread_needed(self) -> bool:
        return bool(self._waiting) or self._are_chores_due or self._is_closed

    def _run(self) -> None:
        is_last = False
        while not is_last:
            is_last = self._await_work()
            while pieces := self._take_waiting():
                self._write(pieces)
                if not is_last:
                    break
            if self._are_chores_due or is_last:
                self._do_chore()
            if is_last:
                self._close()
            self._holder = None

    def _close(self) -> None:
        """Close the connection, unless its files are another's by now."""
        try:
            self.check_files()
        except StoreReplaced as replaced:
            self._stop(replaced)
        else:
            self._log.close()
            self._connection.close()
        finally:
            if self._files is not None:
                self._files.close()

    def _stop(self, replaced: StoreReplaced) -> None:
        """Write nothing any more, and save what may be nowhere else; once."""
        if not isinstance(self.state.error, StoreReplaced):
            copy = keep_copy(self._connection, self._path)
            self.state.end(StoreReplaced(replaced.path, replaced.reason, str(copy) if copy else None))
            leave_open(self._connection, self._files)

    def _await_work(self) -> bool:
        """Take the connection once there is something to do; return whether it is for the last time."""
        while True:
            with self._lock:
                if self._holder is None and self._is_thread_needed():
                    self._hold(self._thread)
                    return self._is_closed
            self._listen()

    def _listen(self) -> None:
        """Wait to be woken. After a quiet while it is time for chores, and then for the log."""
        before, has_chores = self._commits, self._has_chores or self._commits != self._commits_at_chore
        is_log_due = self._commits != self._commits_in_file and self.state.reason is None
        try:
            self._wake_ups.get(timeout=_IDLE_SECONDS if has_chores or is_log_due else _REST_SECONDS)
            is_quiet = False
        except Empty:
            is_quiet = self._commits == before
        if (has_chores and is_quiet) or self._do_chores_pile_up():
            self._are_chores_due = True
        elif is_log_due and is_quiet:
            self._commits_in_file = before
            self._log.fold_when_idle(self._are_files_ours)

    def _take_waiting(self) -> list["_Piece"]:
        return [self._waiting.popleft() for _ in range(min(_MAX_TOGETHER, len(self._waiting)))]

    def _do_chores_pile_up(self) -> bool:
        return self._commits - self._commits_at_chore >= _COMMITS_BETWEEN_CHORES

    def _do_chore(self) -> None:
        """Do a part of what can wait; the next part follows, with those between that wait by then."""
        piece = _Piece(self._chore, self._path)
        is_done = self._write_now(piece)
        # In trouble there are none, until something is written again.
        self._are_chores_due = is_done and piece.error is None and bool(piece.result)
        self._has_chores = self._are_chores_due or not is_done
        self._commits_at_chore = self._commits

    def _write_now(self, piece: "_Piece") -> bool:
        """Write one piece, unless another process is at the file; return whether it was not."""
        try:
            self._write_together([piece])
        except BaseException as error:  # noqa: BLE001 - it is raised again where the result is asked for
            if is_busy(error):
                roll_back(self._connection)
                return False
            self._give_up([piece], error)
        return True

    def _write(self, pieces: list["_Piece"]) -> None:
        """Write what callers wait for. Nobody waits for a lock twice."""
        waited = time.monotonic() - pieces[0].since
        try:
            with patience(self._connection, max(0.0, BUSY_SECONDS - waited)):
                self._write_together(pieces)
        except BaseException as error:  # noqa: BLE001 - the callers that wait must get it
            self._give_up(pieces, error)

    def _give_up(self, pieces: list["_Piece"], error: BaseException) -> None:
        roll_back(self._connection)
        self.state.note(error)
        if isinstance(error, StoreReplaced):
            self._stop(error)
            error = self.state.error or error
        for piece in pieces:
            piece.fail(_explain(error, self._path))

    def _write_together(self, pieces: list["_Piece"]) -> None:
        connection = self._connection
        if refusal := self.state.error:  # trouble found while these waited concerns them, too
            raise refusal
        roll_back(connection)  # the last caller may have been stopped in the middle
        if self._files is not None:
            self._files.check_before_writing()
        faultpoint("store.begin.before")
        connection.execute("BEGIN IMMEDIATE")  # never from a snapshot that was read before
        faultpoint("store.begin.after")
        if len(pieces) == 1:
            pieces[0].run_alone(connection)
        else:
            for piece in pieces:
                piece.run(connection)
        faultpoint("store.commit.before")
        if connection.in_transaction:
            self._log.note_end()
            connection.execute("COMMIT")
        faultpoint("store.commit.after")
        if self._files is not None:
            self._files.check_before_answering()
        self._commits += 1
        for piece in pieces:
            piece.settle()
        self._log.note_commit()


class _Piece:
    """A function that waits for the writer, and the result that its caller waits for."""

    def __init__(
        self,
        work: Callable[..., Any],
        path: Path,
        args: Sequence[object] = (),
        options: Mapping[str, object] = MappingProxyType({}),
    ) -> None:
        self.since = time.monotonic()
        self.result: Any = None
        self.error: BaseException | None = None
        self._work = work
        self._args = args
        self._options = options
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
        connection.execute("SAVEPOINT piece")
        if not self._try(connection):
            connection.execute("ROLLBACK TO piece")
        connection.execute("RELEASE piece")

    def run_alone(self, connection: sqlite3.Connection) -> None:
        """Run in a transaction that nobody shares; where it fails, that is taken back."""
        if not self._try(connection):
            connection.execute("ROLLBACK")

    def _try(self, connection: sqlite3.Connection) -> bool:
        try:
            self.result = self._work(connection, *self._args, **self._options)
        except Exception as error:
            if is_about_the_file(error) or not connection.in_transaction:
                raise
            self.error = _explain(error, self._path)
        return self.error is None

    def settle(self) -> None:
        """Let the caller go on."""
        if self._is_settled.locked():
            self._is_settled.release()

    def fail(self, error: BaseException) -> None:
        """Give the caller an error, as nothing was written; a refusal of its own work stays its error."""
        is_interrupt = not isinstance(error, Exception)
        self.error = error if is_interrupt else self.error or error
        self.settle()


def _explain(error: BaseException, path: Path) -> BaseException:
    """Return the error that a caller gets; one of the caller's own code comes back as it is."""
    if isinstance(error, DamagedRow | driver.Error | OSError | MemoryError | OverflowError | UnicodeError):
        return translate(error, path)
    return error
