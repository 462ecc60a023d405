"""Chooses the SQLite module, sets up its connections and reads its errors.

The file is opened through SQLite alone: one `open` and `close` of it beside a live connection drops the
locks of the whole process and can lose commits.
"""

import os
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

from midfold.errors import StoreCorrupt, StoreError, StoreUnavailable
from midfold.store.codec import DamagedRow
from midfold.store.values import EngineVersion


def _load() -> Any:
    """Return the newer SQLite where it is installed, else that of the standard library."""
    try:
        from pysqlite3 import dbapi2
    except ImportError:
        return sqlite3
    return dbapi2


driver = _load()

SAFE_VERSION = (3, 51, 3)
"""From here on several processes may write to one file in WAL mode; before, a race could damage it."""
BUSY_SECONDS = 5.0
APPLICATION_ID = 0x6D666C64
"""Reads `mfld` in the header of the file."""

_WAL_BYTES_KEPT = 16 << 20
# The same few pages are written by every append: the longer the log, the fewer of them go to the file.
_PAGES_PER_CHECKPOINT = 4_000
_PRIVATE_FILE = 0o600
_PRIVATE_FOLDER = 0o700
# SQLite's own numbers: not every driver has names for them.
_DEFENSIVE = 1010
_LENGTH, _SQL_LENGTH, _ATTACHED, _TRIGGER_DEPTH = 0, 1, 7, 10
_LIMITS = {
    _LENGTH: 1 << 28,
    _SQL_LENGTH: 1 << 17,
    _ATTACHED: 0,
    _TRIGGER_DEPTH: 32,
}
# SQLite's primary result codes.
_CORRUPT, _NOT_A_DATABASE = 11, 26
_BUSY, _LOCKED = 5, 6
_READ_ONLY, _IO_ERROR, _FULL, _CANNOT_OPEN, _PERMISSION = 8, 10, 13, 14, 3
_NO_MEMORY, _PROTOCOL = 7, 15
_REASONS = {
    _BUSY: "another process keeps it locked",
    _LOCKED: "another connection keeps it locked",
    _READ_ONLY: "it is read-only",
    _IO_ERROR: "reading or writing it failed",
    _FULL: "the disk is full",
    _CANNOT_OPEN: "it cannot be opened",
    _PERMISSION: "there is no permission",
    _NO_MEMORY: "memory ran out",
    _PROTOCOL: "its locks are in disorder",
}
_OUT_OF_SPACE = (_FULL, _IO_ERROR, _READ_ONLY)
_DAMAGED = (_CORRUPT, _NOT_A_DATABASE)
# The driver says this without a code; SQLite itself never looks at what is in a text.
_NOT_UTF8 = "Could not decode to UTF-8"


def sqlite_version() -> tuple[int, ...]:
    """Return the version of the SQLite in use."""
    return tuple(driver.sqlite_version_info)


def engine_version() -> EngineVersion:
    """Return the version of SQLite that stores run on here."""
    found = sqlite_version()
    return EngineVersion(
        ".".join(map(str, found)), ".".join(map(str, SAFE_VERSION)), is_safe=found >= SAFE_VERSION
    )


def open_writer(path: Path, *, synchronous: str = "FULL") -> sqlite3.Connection:
    """Open the one connection that writes; the file is its owner's alone.

    Raises `StoreError` for the database of another program, which is left as it is.
    """
    with translated(path):
        _claim(path)
        connection: sqlite3.Connection = driver.connect(
            str(path), timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        try:
            _set_up(connection)
            _refuse_foreign(connection, path)
            connection.execute("PRAGMA journal_mode = WAL")
            # The files beside it get the mode of the file itself.
            path.chmod(_PRIVATE_FILE)
            connection.execute(f"PRAGMA synchronous = {synchronous}")
            connection.execute(f"PRAGMA wal_autocheckpoint = {_PAGES_PER_CHECKPOINT}")
            connection.execute(f"PRAGMA journal_size_limit = {_WAL_BYTES_KEPT}")
        except BaseException:
            connection.close()
            raise
    return connection


def open_memory() -> sqlite3.Connection:
    """Open a database that ends with the process and was never on a disk."""
    connection: sqlite3.Connection = driver.connect(":memory:", isolation_level=None, check_same_thread=False)
    _set_up(connection)
    return connection


def open_reader(path: Path, *, immutable: bool = False) -> sqlite3.Connection:
    """Open a connection that only reads. An `immutable` one works on a read-only file system, too."""
    uri = f"file:{quote(str(path))}?{'immutable=1' if immutable else 'mode=ro'}"
    with translated(path):
        connection: sqlite3.Connection = driver.connect(
            uri, uri=True, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        try:
            _set_up(connection)
            connection.execute("PRAGMA query_only = ON")
        except BaseException:
            connection.close()
            raise
    return connection


def _set_up(connection: sqlite3.Connection) -> None:
    guard(connection)
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA cell_size_check = ON")
    connection.execute("PRAGMA mmap_size = 0")
    # Always, not only while something is deleted: pages that are parted leave old words behind otherwise.
    connection.execute("PRAGMA secure_delete = ON")


def guard(connection: sqlite3.Connection) -> None:
    """Forbid what a file that somebody else made could do, as far as the driver offers to.

    Statements and values are bounded, and the tables that the index is kept in are protected.
    """
    set_limit = getattr(connection, "setlimit", None)
    if set_limit is not None:
        for category, limit in _LIMITS.items():
            set_limit(category, limit)
    _set_defensive(connection, is_on=True)


@contextmanager
def unguarded(connection: sqlite3.Connection) -> Iterator[None]:
    """Let the tables of a damaged index be taken away."""
    _set_defensive(connection, is_on=False)
    try:
        yield
    finally:
        _set_defensive(connection, is_on=True)


def _set_defensive(connection: sqlite3.Connection, *, is_on: bool) -> None:
    configure = getattr(connection, "setconfig", None)
    if configure is not None:
        configure(_DEFENSIVE, is_on)


def _claim(path: Path) -> None:
    """Make the file, for its owner alone from its first moment, without opening it."""
    # Not every system lets everybody do this; there SQLite makes the file, and its mode is set after.
    with suppress(FileExistsError, PermissionError, AttributeError):
        os.mknod(path, stat.S_IFREG | _PRIVATE_FILE)


def _refuse_foreign(connection: sqlite3.Connection, path: Path) -> None:
    (owner,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if owner != APPLICATION_ID and (version or tables):
        raise StoreError(f"{path} is the database of another program")


def make_private_folder(folder: Path) -> None:
    """Make the folder of the file, for its owner alone, where it is missing."""
    with translated(folder):
        folder.mkdir(parents=True, exist_ok=True, mode=_PRIVATE_FOLDER)


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Turn the errors of SQLite and of the file system into ours."""
    try:
        yield
    except (driver.Error, OSError, MemoryError, OverflowError, UnicodeError, DamagedRow) as error:
        raise translate(error, path) from error


def translate(error: BaseException, path: Path) -> StoreError:
    """Return what an error means to a caller."""
    code = primary_code(error)
    if is_corrupt(error):
        return StoreCorrupt(str(path), name_damage(error))
    if is_bad_text(error) or isinstance(error, DamagedRow):
        return StoreCorrupt(str(path), name_damage(error), stops_writing=False)
    if isinstance(error, MemoryError):  # SQLite's own way to say so; a damaged index can ask for anything
        return StoreUnavailable(f"{path}: {_REASONS[_NO_MEMORY]}")
    if isinstance(error, OSError):
        return StoreUnavailable(f"{path}: {error.strerror or error}")
    if code in _REASONS:
        return StoreUnavailable(f"{path}: {_REASONS[code]}")
    return StoreError(f"the store refuses this: {error}")


def name_damage(error: BaseException) -> str:
    """Say what is damaged, without the words of somebody's message."""
    return "a text is not UTF-8" if is_bad_text(error) else str(error)


def primary_code(error: BaseException) -> int:
    """Return SQLite's result code without its details; 0 for what is not from SQLite."""
    code = getattr(error, "sqlite_errorcode", 0)
    return code & 0xFF if isinstance(code, int) else 0


def is_out_of_space(error: BaseException) -> bool:
    """Whether nothing can be written until there is room again."""
    return primary_code(error) in _OUT_OF_SPACE


def is_busy(error: BaseException) -> bool:
    """Whether trying again may help."""
    return primary_code(error) in (_BUSY, _LOCKED)


def is_corrupt(error: BaseException) -> bool:
    """Whether the pages of the file are damaged, so that writing could spread it."""
    # The driver reads SQLite's own words, too, and those may quote what is damaged.
    return primary_code(error) in _DAMAGED or isinstance(error, UnicodeDecodeError)


def is_bad_text(error: BaseException) -> bool:
    """Whether a text of one row is damaged; SQLite itself does not mind."""
    return isinstance(error, driver.Error) and str(error).startswith(_NOT_UTF8)


@contextmanager
def any_text(connection: sqlite3.Connection) -> Iterator[None]:
    """Let texts that are not UTF-8 be read, with signs for what is damaged; it takes a bit longer."""
    connection.text_factory = partial(str, encoding="utf-8", errors="replace")
    try:
        yield
    finally:
        connection.text_factory = str


def is_about_the_file(error: BaseException) -> bool:
    """Whether an error is about the database as a whole, and not about what was asked of it."""
    return primary_code(error) in _REASONS or is_corrupt(error) or isinstance(error, MemoryError)


def roll_back(connection: sqlite3.Connection) -> None:
    """End a transaction that failed; SQLite may have done so itself."""
    with suppress(driver.Error):
        if connection.in_transaction:
            connection.execute("ROLLBACK")
