"""A copy of a damaged store to read from, so that the damaged file itself is never touched.

Where the beginning of the file is damaged, the copy gets that of an empty store: the same version makes the
same tables at the same positions.
"""

import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from midfold.late_dataclasses import dataclass
from midfold.store.sqlite.access import EMPTY_BYTES, open_access
from midfold.store.sqlite.driver import any_text, driver, guard
from midfold.store.sqlite.rescue.pages import PAGE_BYTES
from midfold.store.sqlite.row_scan import UNREADABLE

_SIDE_FILES = ("-wal", "-shm", ".mark", ".writer")
_HEADER_BYTES = 100


@dataclass(frozen=True, slots=True)
class DamagedCopy:
    """A damaged store that can be read in any way; `connection` is `None` where SQLite sees no tables."""

    connection: sqlite3.Connection | None
    data: bytes


@contextmanager
def copied(damaged: Path, beside: Path) -> Iterator[DamagedCopy]:
    """Copy a damaged store for the block; nobody may have it open."""
    path = beside.with_name(f"{beside.name}-copy")
    empty = beside.with_name(f"{beside.name}-empty")
    connection = None
    try:
        _remove(path)
        _remove(empty)
        for suffix in ("", "-wal"):
            with suppress(FileNotFoundError):
                shutil.copyfile(f"{damaged}{suffix}", f"{path}{suffix}")
                Path(f"{path}{suffix}").chmod(0o600)
        _keep_log(path)
        connection = (
            _open(path) or _open_with(path, empty, _HEADER_BYTES) or _open_with(path, empty, PAGE_BYTES)
        )
        if connection is None:
            yield DamagedCopy(None, path.read_bytes())
            return
        with any_text(connection):
            yield DamagedCopy(connection, path.read_bytes())
    finally:
        if connection is not None:
            connection.close()
        _remove(path)
        _remove(empty)


def _keep_log(path: Path) -> None:
    """Give an empty copy a page of zeros: SQLite would throw the log of an empty file away."""
    if path.exists() and path.stat().st_size <= EMPTY_BYTES and Path(f"{path}-wal").exists():
        os.truncate(path, PAGE_BYTES)


def _open(path: Path) -> sqlite3.Connection | None:
    """Open a copy with its log folded into it; `None` where SQLite sees no messages."""
    connection: sqlite3.Connection = driver.connect(str(path), isolation_level=None)
    try:
        guard(connection)
        connection.execute("PRAGMA cell_size_check = ON")
        with suppress(*UNREADABLE):
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        connection.execute("SELECT 1 FROM sessions, messages LIMIT 0").fetchone()
    except UNREADABLE:
        connection.close()
        return None
    return connection


def _open_with(path: Path, empty: Path, count: int) -> sqlite3.Connection | None:
    """Open a copy whose first `count` bytes are those of an empty store."""
    if path.stat().st_size < PAGE_BYTES:
        return None
    if not empty.exists():
        _make_empty(empty)
    with path.open("r+b") as file:
        pages = path.stat().st_size // PAGE_BYTES
        beginning = bytearray(empty.read_bytes()[:count])
        beginning[28:32] = pages.to_bytes(4, "big")
        beginning[32:40] = bytes(8)  # no free pages: none of them is written to
        file.write(beginning)
    return _open(path)


def _remove(path: Path) -> None:
    for suffix in ("", *_SIDE_FILES):
        Path(f"{path}{suffix}").unlink(missing_ok=True)


def _make_empty(path: Path) -> None:
    """Make the file of a store that nothing was written to."""
    access = open_access(path, "NORMAL")
    if access.connection is not None:
        access.connection.close()
    if access.lock is not None:
        access.lock.release()
