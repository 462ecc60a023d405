"""How a database file is opened: for writing where that is possible, else for reading, saying why."""

import secrets
import sqlite3
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

from midfold.errors import StoreUnavailable
from midfold.store.codec import DamagedRow
from midfold.store.sqlite import indexing
from midfold.store.sqlite.driver import (
    SAFE_VERSION,
    driver,
    make_private_folder,
    open_memory,
    open_reader,
    open_writer,
    roll_back,
    sqlite_version,
    translated,
)
from midfold.store.sqlite.emptied import refuse_emptied
from midfold.store.sqlite.identity import Files, refuse_left_open
from midfold.store.sqlite.marks import LogLoss, ProgressMark, read_loss, write_loss
from midfold.store.sqlite.migrations import check_version, migrate
from midfold.store.sqlite.replacing import finish_replacing
from midfold.store.sqlite.search import maintain
from midfold.store.sqlite.searching import read_texts
from midfold.store.sqlite.single import SingleWriter
from midfold.store.sqlite.writer import Writer

MEMORY = Path(":memory:")
_KEY_BYTES = 32
_ID_CHARS = 32


@dataclass(frozen=True, slots=True)
class FileAccess:
    """What this process may do with a file: write, or only read because of a `problem`."""

    writer: Writer | None
    single: SingleWriter | None = None
    problem: str | None = None
    loss: LogLoss | None = None
    """what is missing from the log, as far as that was noticed"""

    def close(self) -> bool:
        """Finish what is waiting, then let the next process write; false where a thread is still at it."""
        is_over = True
        try:
            is_over = self.writer is None or self.writer.close()
        finally:
            if self.single is not None and is_over:
                self.single.release()
        return is_over


def open_access(path: Path, synchronous: str) -> FileAccess:
    """Open the file for writing; one that is there and cannot be written to is read.

    Raises `StoreUnavailable` when neither is possible.
    """
    if path == MEMORY:
        return _start(open_memory(), path)
    try:
        return _open_for_writing(path, synchronous)
    except StoreUnavailable as error:
        if not path.exists():
            raise
        _check_readable(path, error)
        return FileAccess(None, problem=str(error))


def open_any_reader(path: Path, *, has_writer: bool) -> sqlite3.Connection:
    """Open a connection that only reads, also where the file system does not let anybody write."""
    if has_writer:
        return open_reader(path)
    try:
        connection = open_reader(path)
        connection.execute("SELECT 1 FROM sqlite_master").fetchone()
    except (StoreUnavailable, driver.Error):
        # In WAL mode even a reader wants to write beside the file, unless it is told that nobody does.
        return open_reader(path, immutable=True)
    return connection


def name_store(key: bytes) -> str:
    """Return what tells a store from others. Every store has a key of its own, which nobody must learn."""
    return sha256(b"store\0" + key).hexdigest()[:_ID_CHARS]


def read_key(connection: sqlite3.Connection) -> bytes:
    """Return what placeholders for credentials are made with."""
    row = connection.execute("SELECT value FROM meta WHERE name = 'redaction_key'").fetchone()
    if row is None:
        raise StoreUnavailable("it was not made to the end; open it for writing once")
    if not isinstance(row[0], bytes):
        raise DamagedRow("the key of placeholders cannot be read")
    return row[0]


def _open_for_writing(path: Path, synchronous: str) -> FileAccess:
    make_private_folder(path.parent)
    with translated(path):
        finish_replacing(path)
    refuse_emptied(path)
    refuse_left_open(path)
    single = SingleWriter(path) if sqlite_version() < SAFE_VERSION else None
    try:
        return replace(_start(open_writer(path, synchronous=synchronous), path), single=single)
    except BaseException:
        if single is not None:
            single.release()
        raise


def _start(connection: sqlite3.Connection, path: Path) -> FileAccess:
    """Bring schema, key and index of a fresh connection up to date, and let it write."""
    try:
        with translated(path):
            migrate(connection)
            if _make_key(connection):
                # Tables and key are in the file itself from the beginning: by the key the store is known.
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            _renew_index(connection)
            mark = None if path == MEMORY else ProgressMark(path, read_key(connection))
            loss = _look_at_mark(connection, mark)
    except BaseException:
        connection.close()
        raise
    files = None if path == MEMORY else Files(path)
    return FileAccess(Writer(connection, path, indexing.tidy, files=files, mark=mark), loss=loss)


def _look_at_mark(connection: sqlite3.Connection, mark: ProgressMark | None) -> LogLoss | None:
    """Say what is missing since the last time, and keep that in the store until the person was told."""
    loss = mark.find_loss(connection) if mark else None
    if mark and loss:
        write_loss(connection, loss)
        mark.note(connection)
    return read_loss(connection)


def _check_readable(path: Path, reason: StoreUnavailable) -> None:
    """Raise the reason why a file cannot be written to when reading it is no use, either."""
    with translated(path):
        connection = open_any_reader(path, has_writer=False)
        try:
            check_version(connection)
        except StoreUnavailable:
            raise reason from None
        finally:
            connection.close()


def _make_key(connection: sqlite3.Connection) -> bool:
    """Make the key of a new store; say whether it is one."""
    made = connection.execute(
        "INSERT INTO meta (name, value) VALUES ('redaction_key', ?) ON CONFLICT DO NOTHING",
        (secrets.token_bytes(_KEY_BYTES),),
    )
    return made.rowcount == 1


def _renew_index(connection: sqlite3.Connection) -> None:
    """Make the index anew where another version made it: old words could not be taken out of it."""
    if maintain.is_current(connection) and maintain.is_readable(connection):
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        if not (maintain.is_current(connection) and maintain.is_readable(connection)):
            maintain.rebuild(connection, read_texts)
        connection.execute("COMMIT")
    except BaseException:
        roll_back(connection)
        raise
