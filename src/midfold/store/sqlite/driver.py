"""Which SQLite is used, how a connection is set up, and what its errors mean.

The file is opened through SQLite alone: one `open` and `close` of it beside a live connection drops the
locks of the whole process and can lose commits.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

from midfold.errors import StoreCorrupt, StoreError, StoreUnavailable


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

_WAL_BYTES_KEPT = 64 << 20
_PRIVATE_FILE = 0o600
_PRIVATE_FOLDER = 0o700
# SQLite's primary result codes.
_CORRUPT, _NOT_A_DATABASE = 11, 26
_BUSY, _LOCKED = 5, 6
_READ_ONLY, _IO_ERROR, _FULL, _CANNOT_OPEN, _PERMISSION = 8, 10, 13, 14, 3
_REASONS = {
    _BUSY: "another process keeps it locked",
    _LOCKED: "another connection keeps it locked",
    _READ_ONLY: "it is read-only",
    _IO_ERROR: "reading or writing it failed",
    _FULL: "the disk is full",
    _CANNOT_OPEN: "it cannot be opened",
    _PERMISSION: "there is no permission",
}


def sqlite_version() -> tuple[int, ...]:
    """Return the version of the SQLite in use."""
    return tuple(driver.sqlite_version_info)


def open_writer(path: Path, *, synchronous: str = "FULL") -> sqlite3.Connection:
    """Open the one connection that writes; the file is its owner's alone."""
    make_private_folder(path.parent)
    with translated(path):
        connection: sqlite3.Connection = driver.connect(
            str(path), timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        try:
            _set_up(connection)
            connection.execute("PRAGMA journal_mode = WAL")
            # The files beside it get the mode of the file itself.
            path.chmod(_PRIVATE_FILE)
            connection.execute(f"PRAGMA synchronous = {synchronous}")
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
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA cell_size_check = ON")
    connection.execute("PRAGMA mmap_size = 0")


def make_private_folder(folder: Path) -> None:
    """Make the folder of the file, for its owner alone, where it is missing."""
    with translated(folder):
        folder.mkdir(parents=True, exist_ok=True, mode=_PRIVATE_FOLDER)


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Turn the errors of SQLite and of the file system into ours."""
    try:
        yield
    except driver.Error as error:
        raise translate(error, path) from error
    except OSError as error:
        raise StoreUnavailable(f"{path}: {error.strerror or error}") from error


def translate(error: Exception, path: Path) -> StoreError:
    """Return what an error of SQLite means to a caller."""
    code = primary_code(error)
    if code in (_CORRUPT, _NOT_A_DATABASE):
        return StoreCorrupt(str(path), str(error))
    if code in _REASONS:
        return StoreUnavailable(f"{path}: {_REASONS[code]}")
    return StoreError(f"{path}: {error}")


def primary_code(error: BaseException) -> int:
    """Return SQLite's result code without its details; 0 for what is not from SQLite."""
    code = getattr(error, "sqlite_errorcode", 0)
    return code & 0xFF if isinstance(code, int) else 0


def is_out_of_space(error: BaseException) -> bool:
    """Whether nothing can be written until there is room again."""
    return primary_code(error) in (_FULL, _IO_ERROR, _READ_ONLY)


def is_busy(error: BaseException) -> bool:
    """Whether trying again may help."""
    return primary_code(error) in (_BUSY, _LOCKED)


def is_corrupt(error: BaseException) -> bool:
    """Whether the file is damaged."""
    return primary_code(error) in (_CORRUPT, _NOT_A_DATABASE)


def roll_back(connection: sqlite3.Connection) -> None:
    """End a transaction that failed; SQLite may have done so itself."""
    with suppress(driver.Error):
        if connection.in_transaction:
            connection.execute("ROLLBACK")
