"""The database of a store: one connection that writes, some that read, and the rules for sharing the file."""

import os
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from midfold.errors import StoreCorrupt, StoreUnavailable
from midfold.files import Hold
from midfold.store.base import Area, Problem, StoreStatus
from midfold.store.sqlite import indexing
from midfold.store.sqlite.access import MEMORY, name_store, open_access, open_any_reader, read_key
from midfold.store.sqlite.driver import any_text, driver, is_bad_text, sqlite_version, translated
from midfold.store.sqlite.health import find_damage, find_index_problems, find_problems
from midfold.store.sqlite.marks import forget_loss
from midfold.store.sqlite.readers import Readers
from midfold.store.sqlite.search import maintain
from midfold.store.sqlite.searching import read_texts
from midfold.store.sqlite.writer import Work, Writer

T = TypeVar("T")

_SECONDS_BETWEEN_TRIES = 1.0
# Before this version only a connection that may write can ask the index whether it is whole.
_READERS_CHECK_THE_INDEX = (3, 44)


class Database:
    """Runs functions on the database: `write` in the writer's transactions, `read` on a snapshot."""

    def __init__(self, path: Path, *, synchronous: str = "FULL") -> None:
        self.path = path
        self._synchronous = synchronous
        self._process = os.getpid()
        self._lock = threading.RLock()
        self._is_closed = False
        self._mends = 0
        self._may_mend = True
        self._has_looked = False
        self._next_try = time.monotonic() + _SECONDS_BETWEEN_TRIES
        self._hold = None if path == MEMORY else Hold(path)
        try:
            self._access = open_access(path, synchronous)
        except BaseException:
            self._release()
            raise
        self._settle()
        self._readers = self._make_readers()
        try:
            self.redaction_key = self.read(read_key)
        except BaseException:
            self.close()
            raise

    def write(self, work: Work[T]) -> T:
        """Run `work` in a transaction; return when it is durable."""
        return self._mending(lambda: self._need_writer().do(work))

    def read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run `work` on a connection that only reads."""
        if self.path == MEMORY:
            return self.write(work)
        try:
            return self._mending(lambda: self._read(work))
        except StoreCorrupt as damage:
            if not isinstance(damage.__cause__, driver.Error) or not is_bad_text(damage.__cause__):
                raise
            return self._read_any_text(work)

    def read_damaged(self, work: Callable[[sqlite3.Connection], T], damage: StoreCorrupt) -> T:
        """Run `work`, which copes with damage, after `damage` was found."""
        if not damage.stops_writing:
            self._look_closer(damage)
        return self.write(work) if self.path == MEMORY else self._read_any_text(work)

    def index_all(self) -> bool:
        """Index the messages that wait for it; false when that is not possible for now."""
        try:
            while self.read(indexing.is_behind):
                self.write(indexing.catch_up)
        except (StoreUnavailable, StoreCorrupt):
            return False
        return True

    def delete(self, find: Callable[[sqlite3.Connection], Sequence[int]], work: Work[T]) -> T:
        """Run `work`, which deletes the messages that `find` finds; return when nothing of them is left.

        Their words are taken out before, and what that leaves behind after, in short transactions.
        """
        messages = self.read(find)
        for first in range(0, len(messages) - indexing.MAX_MESSAGES, indexing.MAX_MESSAGES):
            some = messages[first : first + indexing.MAX_MESSAGES]
            self.write(partial(indexing.remove_before, messages=some))
        result = self.write(work)
        while self.write(maintain.purge_some):
            pass
        return result

    def check(self, *, deep: bool) -> list[Problem]:
        """Look for damage; after damage to the pages of the file nothing is written any more."""
        problems = self._examine(partial(find_problems, deep=deep))
        if not _find_damage(problems) and sqlite_version() < _READERS_CHECK_THE_INDEX:
            problems += self._ask_writer_about_index()
        damage = _find_damage(problems)
        if damage is not None and self._access.writer is not None:
            self._may_mend = False
            self._access.writer.trouble.stop(damage.text)
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
        writer = self._access.writer
        problem = self._access.problem if writer is None else writer.trouble.reason
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
            if self._access.close():
                self._release()

    def _settle(self) -> None:
        if self._hold is not None and self._access.writer is not None:
            self._hold.settle()

    def _release(self) -> None:
        if self._hold is not None:
            self._hold.release()

    def _make_readers(self) -> Readers:
        return Readers(self.path, partial(self._open_reader, self._access.writer))

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

    def _read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        self._check_process()
        with self._readers.lend() as connection:
            return work(connection)

    def _read_any_text(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Read where texts may be damaged; a connection of its own, as that takes longer."""
        self._check_process()
        with translated(self.path):
            connection = open_any_reader(self.path, has_writer=self._access.writer is not None)
            try:
                connection.execute("BEGIN")
                with any_text(connection):
                    return work(connection)
            finally:
                connection.close()

    def _look_closer(self, damage: StoreCorrupt) -> None:
        """Find out, once, whether pages are damaged: no message goes missing by itself."""
        with self._lock:
            writer = self._access.writer
            if self._has_looked or writer is None or self.path == MEMORY:
                return
            self._has_looked = True
            if any(each.area is Area.FILE for each in self._examine(find_damage)):
                writer.trouble.stop(damage.reason)

    def _need_writer(self) -> Writer:
        """Return the writer; where there was none, what was in the way may be gone."""
        self._check_process()
        with self._lock:
            if self._access.writer is None and not self._is_closed and time.monotonic() >= self._next_try:
                self._next_try = time.monotonic() + _SECONDS_BETWEEN_TRIES
                self._try_again()
            if self._access.writer is None:
                raise StoreUnavailable(self._access.problem or "it is read-only")
            return self._access.writer

    def _try_again(self) -> None:
        self._access = open_access(self.path, self._synchronous)
        if self._access.writer is not None:
            self._settle()
            # A reader that was told that nobody writes never looks for changes.
            old, self._readers = self._readers, self._make_readers()
            old.close()

    def _check_process(self) -> None:
        if os.getpid() != self._process:
            raise StoreUnavailable("another process opened it; open the store again after a fork")

    def _mending(self, action: Callable[[], T]) -> T:
        """Do something; where only the index is in the way, make that anew and do it again."""
        mends = self._mends
        try:
            return action()
        except StoreCorrupt as damage:
            if not (damage.stops_writing and self._mend(mends, damage)):
                raise
        return action()

    def _mend(self, mends: int, damage: StoreCorrupt) -> bool:
        """Stop writing, find out what is damaged, and go on with a fresh index if that was all; once."""
        with self._lock:
            if self._mends != mends:
                return True
            writer = self._access.writer
            if writer is None or self._is_closed:
                return False
            writer.trouble.stop(damage.reason)
            if not (self._may_mend and self._is_only_the_index()):
                return False
            self._mends, self._may_mend = self._mends + 1, False
            writer.trouble.resume()
            writer.do(lambda connection: maintain.rebuild(connection, read_texts))
            return True

    def _is_only_the_index(self) -> bool:
        areas = {each.area for each in self._examine(find_damage)} - {Area.MESSAGES}
        return areas == {Area.INDEX} or (not areas and sqlite_version() < _READERS_CHECK_THE_INDEX)

    def _examine(self, look: Callable[[sqlite3.Connection], list[Problem]]) -> list[Problem]:
        """Look at what is on the disk, through a connection that has nothing of it in memory."""
        self._check_process()
        if self.path == MEMORY:
            return self._need_writer().do(look)
        with translated(self.path):
            connection = open_any_reader(self.path, has_writer=self._access.writer is not None)
            try:
                connection.execute("BEGIN")
                return look(connection)
            finally:
                connection.close()


def _find_damage(problems: Sequence[Problem]) -> Problem | None:
    """Return what writing could make worse; a row that is damaged in itself is not."""
    return next((each for each in problems if each.area is Area.FILE), None)
