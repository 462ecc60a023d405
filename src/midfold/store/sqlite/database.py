"""The database of a store: one connection that writes, some that read, and the rules for sharing the file."""

import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

from midfold.errors import StoreCorrupt, StoreUnavailable
from midfold.files import Hold
from midfold.late_dataclasses import replace
from midfold.store.sqlite import index
from midfold.store.sqlite.access import MEMORY, name_store, open_access, open_any_reader, read_key
from midfold.store.sqlite.driver import any_text, driver, is_bad_text, sqlite_version, translated
from midfold.store.sqlite.health import find_damage, find_index_problems, find_problems
from midfold.store.sqlite.progress_mark import forget_loss
from midfold.store.sqlite.readers import Readers
from midfold.store.sqlite.writer import Work, Writer
from midfold.store.values import Area, Problem, StoreStatus

T = TypeVar("T")
P = ParamSpec("P")

_SECONDS_BETWEEN_TRIES = 1.0
# Before this version only a connection that may write can ask the index whether it is whole.
_READERS_CHECK_THE_INDEX = (3, 44)
# A search waits so long for messages that are not indexed yet, as all are once the index has another form.
_INDEXING_SECONDS = 3.0


class Database:
    """Runs functions on the database: `write` in the writer's transactions, `read` on a snapshot."""

    def __init__(self, path: Path, *, synchronous: str = "FULL") -> None:
        self.path = path
        self._synchronous = synchronous
        self._process = os.getpid()
        self._lock = threading.RLock()
        self._is_closed = False
        self._repairs = 0
        self._may_repair = True
        self._has_looked = False
        self._next_try = time.monotonic() + _SECONDS_BETWEEN_TRIES
        self._hold = None if path == MEMORY else Hold(path)
        try:
            self._open()
        except BaseException:
            self._release()
            raise
        self._readers = self._make_readers()
        try:
            self.redaction_key = self.read(read_key)
        except BaseException:
            self.close()
            raise

    def _open(self) -> None:
        """Open the file; where it can be written to, the writer has its connection."""
        access = self._access = open_access(self.path, self._synchronous)
        self._writer: Writer | None = None
        if access.connection is not None:
            self._writer = Writer(
                access.connection, self.path, index.tidy, files=access.files, mark=access.mark
            )
            if self._hold is not None:
                self._hold.settle()

    def write(
        self, work: Callable[Concatenate[sqlite3.Connection, P], T], *args: P.args, **options: P.kwargs
    ) -> T:
        """Run `work` in a transaction; return when it is durable."""
        return self._repairing(lambda: self._need_writer().do(work, *args, **options))

    def read(
        self, work: Callable[Concatenate[sqlite3.Connection, P], T], *args: P.args, **options: P.kwargs
    ) -> T:
        """Run `work` on a connection that only reads."""

        def bound(connection: sqlite3.Connection) -> T:
            return work(connection, *args, **options)

        if self.path == MEMORY:
            return self.write(bound)
        try:
            return self._repairing(lambda: self._read(bound))
        except StoreCorrupt as damage:
            if not isinstance(damage.__cause__, driver.Error) or not is_bad_text(damage.__cause__):
                raise
            return self._read_any_text(bound)

    def read_around_damage(self, work: Work[T], around_damage: Work[T]) -> T:
        """Run `work` on a connection that only reads; where that finds damage, run what copes with it."""
        try:
            return self.read(work)
        except StoreCorrupt as damage:
            if not damage.stops_writing:
                self._look_closer(damage)
        return self.write(around_damage) if self.path == MEMORY else self._read_any_text(around_damage)

    def index_all(self) -> bool:
        """Index the messages that wait for it; false when that is not possible for now, or takes long."""
        end = time.monotonic() + _INDEXING_SECONDS
        try:
            while self.read(index.is_behind):
                self.write(index.catch_up)
                if time.monotonic() > end:
                    return not self.read(index.is_behind)
        except (StoreUnavailable, StoreCorrupt):
            return False
        return True

    def delete(self, find: Work[Sequence[int]], work: Work[T]) -> T:
        """Run `work`, which deletes the messages that `find` finds; return when nothing of them is left.

        Their words are taken out before, and what that leaves behind after, in short transactions.
        """
        messages = self.read(find)
        for first in range(0, len(messages) - index.MAX_MESSAGES, index.MAX_MESSAGES):
            some = messages[first : first + index.MAX_MESSAGES]
            self.write(index.remove_before, some)
        result = self.write(work)
        while self.write(index.purge_some):
            pass
        return result

    def check(self, *, deep: bool) -> list[Problem]:
        """Look for damage; after damage to the pages of the file nothing is written any more."""
        problems = self._examine(partial(find_problems, deep=deep))
        if not _find_damage(problems) and sqlite_version() < _READERS_CHECK_THE_INDEX:
            problems += self._ask_writer_about_index()
        damage = _find_damage(problems)
        if damage is not None and self._writer is not None:
            self._may_repair = False
            self._writer.state.stop(damage.text)
        return problems

    def _ask_writer_about_index(self) -> list[Problem]:
        if not self.status.may_write:
            return []
        try:
            return self._need_writer().do(find_index_problems)
        except StoreCorrupt as error:
            return [Problem(Area.FILE, error.reason)]

    @property
    def status(self) -> StoreStatus:
        """Say how the store is doing."""
        problem = self._access.problem if self._writer is None else self._writer.state.reason
        version = ".".join(map(str, sqlite_version()))
        return StoreStatus(
            str(self.path),
            f"SQLite {version}",
            may_write=problem is None,
            problem=problem,
            warning=str(self._access.loss) if self._access.loss else None,
            store_id="" if self.path == MEMORY else name_store(self.redaction_key),
        )

    def forget_loss(self) -> None:
        """Put the warning away that commits are missing from the log."""
        self.write(forget_loss)
        self._access = replace(self._access, loss=None)

    def close(self) -> None:
        """Finish what is waiting and let go of the file; after a fork it is the parent's alone.

        Raises `StoreReplaced` where what was written is not in the file that people find.
        """
        if os.getpid() != self._process:
            return
        with self._lock:
            self._is_closed = True
            # The last connection to go folds the log into the file, and one that only reads cannot.
            self._readers.close()
            is_over = True
            try:
                is_over = self._writer is None or self._writer.close()
            finally:
                if self._access.lock is not None and is_over:
                    self._access.lock.release()
            if is_over:
                self._release()

    def _release(self) -> None:
        if self._hold is not None:
            self._hold.release()

    def _make_readers(self) -> Readers:
        return Readers(self.path, partial(self._open_reader, self._writer))

    def _open_reader(self, writer: Writer | None) -> sqlite3.Connection:
        """Open a connection that reads what the writer writes, and no other file of that name."""
        connection = open_any_reader(self.path, has_writer=writer is not None)
        try:
            if writer is not None:
                writer.check_files()
        except BaseException:
            connection.close()
            raise
        return connection

    def _read(self, work: Work[T]) -> T:
        self._check_process()
        with self._readers.lend() as connection:
            return work(connection)

    def _read_any_text(self, work: Work[T]) -> T:
        """Read where texts may be damaged, which takes longer."""
        with self._fresh_reader() as connection, any_text(connection):
            return work(connection)

    @contextmanager
    def _fresh_reader(self) -> Iterator[sqlite3.Connection]:
        """Open a connection for the block that has nothing of the file in memory."""
        self._check_process()
        with translated(self.path):
            connection = open_any_reader(self.path, has_writer=self._writer is not None)
            try:
                connection.execute("BEGIN")
                yield connection
            finally:
                connection.close()

    def _look_closer(self, damage: StoreCorrupt) -> None:
        """Find out, once, whether pages are damaged: no message goes missing by itself."""
        with self._lock:
            writer = self._writer
            if self._has_looked or writer is None or self.path == MEMORY:
                return
            self._has_looked = True
            if any(each.area is Area.FILE for each in self._examine(find_damage)):
                writer.state.stop(damage.reason)

    def _need_writer(self) -> Writer:
        """Return the writer; where there was none, what was in the way may be gone."""
        self._check_process()
        with self._lock:
            if self._writer is None and not self._is_closed and time.monotonic() >= self._next_try:
                self._next_try = time.monotonic() + _SECONDS_BETWEEN_TRIES
                self._try_again()
            if self._writer is None:
                raise StoreUnavailable(self._access.problem or "it is read-only")
            return self._writer

    def _try_again(self) -> None:
        self._open()
        if self._writer is not None:
            # A reader that was opened as if nobody writes never looks for changes.
            old, self._readers = self._readers, self._make_readers()
            old.close()

    def _check_process(self) -> None:
        if os.getpid() != self._process:
            raise StoreUnavailable("another process opened it; open the store again after a fork")

    def _repairing(self, action: Callable[[], T]) -> T:
        """Do something; where only the index is in the way, make that anew and do it again."""
        repairs = self._repairs
        try:
            return action()
        except StoreCorrupt as damage:
            if not (damage.stops_writing and self._repair(repairs, damage)):
                raise
        return action()

    def _repair(self, repairs: int, damage: StoreCorrupt) -> bool:
        """Stop writing, find out what is damaged, and go on with a fresh index if that was all; once."""
        with self._lock:
            if self._repairs != repairs:
                return True
            writer = self._writer
            if writer is None or self._is_closed:
                return False
            writer.state.stop(damage.reason)
            if not (self._may_repair and self._is_only_the_index()):
                return False
            self._repairs, self._may_repair = self._repairs + 1, False
            writer.state.resume()
            writer.do(index.rebuild)
            return True

    def _is_only_the_index(self) -> bool:
        areas = {each.area for each in self._examine(find_damage)} - {Area.MESSAGES}
        return areas == {Area.INDEX} or (not areas and sqlite_version() < _READERS_CHECK_THE_INDEX)

    def _examine(self, look: Work[list[Problem]]) -> list[Problem]:
        """Look at what is on the disk."""
        if self.path == MEMORY:
            return self._need_writer().do(look)
        with self._fresh_reader() as connection:
            return look(connection)


def _find_damage(problems: Sequence[Problem]) -> Problem | None:
    """Return what writing could make worse; a row that is damaged in itself is not."""
    return next((each for each in problems if each.area is Area.FILE), None)
