"""The database of a store: one connection that writes, some that read, and the rules for sharing the file."""

import secrets
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

from midfold.errors import StoreUnavailable
from midfold.store.search import maintain
from midfold.store.sqlite.driver import (
    SAFE_VERSION,
    driver,
    open_memory,
    open_reader,
    open_writer,
    roll_back,
    sqlite_version,
    translated,
)
from midfold.store.sqlite.health import Area, Problem, find_problems
from midfold.store.sqlite.migrations import migrate
from midfold.store.sqlite.readers import Readers
from midfold.store.sqlite.searching import read_texts
from midfold.store.sqlite.single import SingleWriter
from midfold.store.sqlite.writer import Work, Writer

T = TypeVar("T")

MEMORY = Path(":memory:")
_KEY_BYTES = 32


@dataclass(frozen=True, slots=True)
class Status:
    """How a store is doing, in words for people; `problem` is `None` while all is well."""

    path: str
    sqlite: str
    may_write: bool
    problem: str | None


class Database:
    """Runs functions on the database: `write` in the writer's transactions, `read` on a snapshot."""

    def __init__(self, path: Path, *, synchronous: str = "FULL") -> None:
        self.path = path
        self._single: SingleWriter | None = None
        self._problem: str | None = None
        self._writer = self._open(synchronous)
        self._readers = None if path == MEMORY else Readers(path, self._open_reader)
        self.redaction_key = self.read(_read_key)

    def write(self, work: Work[T]) -> T:
        """Run `work` in a transaction; return when it is durable."""
        if self._writer is None:
            raise StoreUnavailable(self._problem or "it is read-only")
        return self._writer.do(work)

    def read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run `work` on a connection that only reads."""
        if self._readers is None:
            return self.write(work)
        with self._readers.lend() as connection:
            return work(connection)

    def check(self, *, deep: bool) -> list[Problem]:
        """Look for damage; after damage to the file itself nothing is written any more."""
        if self._writer is None:
            return self.read(partial(find_problems, deep=deep))
        problems = self._writer.do(partial(find_problems, deep=deep))
        damage = next((each.text for each in problems if each.area is Area.FILE), None)
        if damage is not None:
            self._writer.stop_writing(damage)
        return problems

    @property
    def status(self) -> Status:
        """Say how the store is doing."""
        writer = self._writer
        problem = self._problem or (writer.problem if writer else None)
        version = ".".join(map(str, sqlite_version()))
        return Status(
            str(self.path), version, may_write=writer is not None and problem is None, problem=problem
        )

    def close(self) -> None:
        """Finish what is waiting and let go of the file."""
        # The last connection to go folds the log into the file, and one that only reads cannot.
        if self._readers is not None:
            self._readers.close()
        if self._writer is not None:
            self._writer.close()
        if self._single is not None:
            self._single.release()

    def _open(self, synchronous: str) -> Writer | None:
        try:
            connection = self._open_connection(synchronous)
        except StoreUnavailable as error:
            if self.path == MEMORY or not self.path.exists():
                raise
            self._problem = str(error)
            return None
        try:
            with translated(self.path):
                migrate(connection)
                _make_key(connection)
                _renew_index(connection)
        except StoreUnavailable as error:
            connection.close()
            self._problem = str(error)
            return None
        except BaseException:
            connection.close()
            raise
        return Writer(connection, self.path)

    def _open_connection(self, synchronous: str) -> sqlite3.Connection:
        if self.path == MEMORY:
            return open_memory()
        if sqlite_version() < SAFE_VERSION:
            self._single = SingleWriter(self.path)
        return open_writer(self.path, synchronous=synchronous)

    def _open_reader(self) -> sqlite3.Connection:
        if self._writer is not None:
            return open_reader(self.path)
        try:
            connection = open_reader(self.path)
            connection.execute("SELECT 1 FROM sqlite_master").fetchone()
        except (StoreUnavailable, driver.Error):
            # In WAL mode even a reader wants to write beside the file, unless it is told that nobody does.
            return open_reader(self.path, immutable=True)
        return connection


def _make_key(connection: sqlite3.Connection) -> None:
    connection.execute(
        "INSERT INTO meta (name, value) VALUES ('redaction_key', ?) ON CONFLICT DO NOTHING",
        (secrets.token_bytes(_KEY_BYTES),),
    )


def _renew_index(connection: sqlite3.Connection) -> None:
    """Make the index anew where another version made it: old words could not be taken out of it."""
    if maintain.is_current(connection):
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        if not maintain.is_current(connection):
            maintain.rebuild(connection, read_texts)
        connection.execute("COMMIT")
    except BaseException:
        roll_back(connection)
        raise


def _read_key(connection: sqlite3.Connection) -> bytes:
    row = connection.execute("SELECT value FROM meta WHERE name = 'redaction_key'").fetchone()
    return bytes(row[0])
