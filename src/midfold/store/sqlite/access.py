"""Access to a database file: for writing where that is possible, else for reading, with the reason.

A file that lost all it held is refused, and so is a second process where this SQLite must not have two.
"""

import os
import secrets
import sqlite3
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from midfold.errors import StoreCorrupt, StoreError, StoreUnavailable
from midfold.files import refuse_planted
from midfold.late_dataclasses import dataclass, replace
from midfold.store.codec import DamagedRow
from midfold.store.sqlite import index
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
from midfold.store.sqlite.file_identity import DatabaseFiles, refuse_left_open
from midfold.store.sqlite.migrations import check_version, migrate
from midfold.store.sqlite.progress_mark import SUFFIX, LogLoss, ProgressMark, read_loss, was_used, write_loss
from midfold.store.sqlite.replacement import finish_replacing

MEMORY = Path(":memory:")
EMPTY_BYTES = 1
"""SQLite takes a file of so many bytes for an empty one, too."""
_KEY_BYTES = 32
_ID_CHARS = 32
_PRIVATE_FILE = 0o600
_NEW_LOCK = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)


@dataclass(frozen=True, slots=True)
class FileAccess:
    """The rights of this process to a file: write, or only read because of a `problem`."""

    connection: sqlite3.Connection | None
    """the one that writes"""
    files: DatabaseFiles | None = None
    mark: ProgressMark | None = None
    lock: "WriterLock | None" = None
    problem: str | None = None
    loss: LogLoss | None = None
    """what is missing from the log, as far as that was noticed"""


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
        return FileAccess(None, problem=error.reason)


def open_any_reader(path: Path, *, has_writer: bool) -> sqlite3.Connection:
    """Open a connection that only reads, also where the file system does not let anybody write."""
    if has_writer:
        return open_reader(path)
    try:
        connection = open_reader(path)
        connection.execute("SELECT 1 FROM sqlite_master").fetchone()
    except (StoreUnavailable, driver.Error):
        # In WAL mode even a reader wants to write beside the file, unless it knows that nobody does.
        return open_reader(path, immutable=True)
    return connection


def name_store(key: bytes) -> str:
    """Return the id of a store. Every store has a key of its own, which nobody must learn."""
    return sha256(b"store\0" + key).hexdigest()[:_ID_CHARS]


def read_key(connection: sqlite3.Connection) -> bytes:
    """Return what placeholders for credentials are made with."""
    row = connection.execute("SELECT value FROM meta WHERE name = 'redaction_key'").fetchone()
    if row is None:
        raise StoreUnavailable("it was not made to the end; open it for writing once")
    if not isinstance(row[0], bytes):
        raise DamagedRow("the key of placeholders cannot be read")
    return row[0]


def _refuse_planted(path: Path) -> None:
    """Refuse a file that others chose, or could exchange; it is not read either."""
    try:
        refuse_planted(path)
    except PermissionError as error:
        raise StoreError(f"{error.filename}: {error.strerror}") from error


def _open_for_writing(path: Path, synchronous: str) -> FileAccess:
    _refuse_planted(path)
    make_private_folder(path.parent)
    with translated(path):
        finish_replacing(path)
    _refuse_emptied(path)
    refuse_left_open(path)
    lock = WriterLock(path) if sqlite_version() < SAFE_VERSION else None
    try:
        return replace(_start(open_writer(path, synchronous=synchronous), path), lock=lock)
    except BaseException:
        if lock is not None:
            lock.release()
        raise


def _start(connection: sqlite3.Connection, path: Path) -> FileAccess:
    """Bring schema, key and index of a fresh connection up to date."""
    try:
        with translated(path):
            migrate(connection)
            if _make_key(connection):
                # Tables and key are in the file itself from the beginning: by the key the store is known.
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            _renew_index(connection)
            mark = None if path == MEMORY else ProgressMark(path, read_key(connection))
            loss = _compare_with_mark(connection, mark)
    except BaseException:
        connection.close()
        raise
    return FileAccess(connection, None if path == MEMORY else DatabaseFiles(path), mark, loss=loss)


def _compare_with_mark(connection: sqlite3.Connection, mark: ProgressMark | None) -> LogLoss | None:
    """Return what is missing since the last time; the store keeps that until the person knows."""
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
    if index.is_current(connection) and index.is_readable(connection):
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        if not (index.is_current(connection) and index.is_readable(connection)):
            index.rebuild(connection)
        connection.execute("COMMIT")
    except BaseException:
        roll_back(connection)
        raise


def _refuse_emptied(path: Path) -> None:
    """Raise `StoreCorrupt` for an empty file whose log or mark says that it was in use; nothing is opened.

    A power cut, or a copy that was cut off, leaves such a file. SQLite would take it for a new database and
    throw away the log beside it, which may be the only copy of what was said. A file that is missing was
    taken away by somebody, who wants a new one; the mark of the old one goes, too, so that nobody takes the
    new one for emptied before anything is in it.
    """
    real = Path(os.path.realpath(path))
    if not real.exists():
        with suppress(OSError):
            real.with_name(real.name + SUFFIX).unlink()
        return
    # In this order: a process that makes a store this moment writes to the file first, then beside it.
    is_used = _size(Path(f"{real}-wal")) > 0 or was_used(real)
    if is_used and _size(real) <= EMPTY_BYTES:
        raise StoreCorrupt(str(path), "the file is empty, although something was stored in it")


def _size(path: Path) -> int:
    with suppress(OSError):
        return path.stat().st_size
    return 0


class WriterLock:
    """Keeps other processes from writing; given back by `release`, or by the end of the process.

    The lock is on a file of its own: a lock on the database file itself would break SQLite's.
    """

    def __init__(self, path: Path) -> None:
        lock = path.with_name(f"{path.name}.writer")
        try:
            self._handle: int | None = os.open(lock, _NEW_LOCK, _PRIVATE_FILE)
        except OSError as error:
            raise StoreUnavailable(f"{lock}: {error.strerror or error}") from error
        try:
            _lock(self._handle)
        except OSError as error:
            self.release()
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
