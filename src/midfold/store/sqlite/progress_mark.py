"""Notices that commits are missing from the log: a small file beside the store says how far it had got.

SQLite reads a log up to where it is damaged, and one that was removed not at all; both look like a store that
was never written to. The mark is written after a commit, so it may be behind the store and never ahead of it:
no alarm is false, and what was committed in the last moments before a crash may be missing unnoticed.
"""

import json
import os
import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any
from zlib import crc32

from midfold.late_dataclasses import dataclass, fields
from midfold.store.sqlite.driver import driver

SUFFIX = ".mark"
"""The ending of the file's name, after the name of the store."""
SECONDS_BETWEEN = 0.02
"""A mark costs a fifth of a commit, so not every commit has one; when it is quiet the last one has."""

_BYTES = 384
_NEW_FILE = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_OLD_FILE = (
    os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)
)
_PRIVATE = 0o600
_DELETIONS, _TICKS, _LOSS = "deletions", "ticks", "log_loss"
_PROGRESS = """
    SELECT (SELECT coalesce(max(id), 0) FROM messages), (SELECT coalesce(max(key), 0) FROM sessions),
        (SELECT coalesce(max(key), 0) FROM folds), (SELECT coalesce(max(key), 0) FROM calls),
        (SELECT coalesce(max(value), 0) FROM meta WHERE name = 'deletions'),
        (SELECT coalesce(max(value), 0) FROM meta WHERE name = 'ticks')
"""
_COUNT = """
    INSERT INTO meta (name, value) VALUES (?, 1) ON CONFLICT (name) DO UPDATE SET value = value + 1
"""


@dataclass(frozen=True, slots=True)
class StoreProgress:
    """The progress of a store: its newest rows, which are numbered upwards until something is deleted, and
    how many of its commits were counted, whatever they were about."""

    messages: int
    sessions: int
    folds: int
    calls: int
    deletions: int
    ticks: int


@dataclass(frozen=True, slots=True)
class LogLoss(StoreProgress):
    """The least that was stored and is missing, since the log was damaged or removed."""

    noticed_at: float

    def __str__(self) -> str:
        counts = [(getattr(self, name), name) for name in ("messages", "sessions", "folds", "calls")]
        parts = [f"{count:,} {name[:-1] if count == 1 else name}" for count, name in counts if count > 0]
        what = ", ".join(parts) or "commits"
        back = "; what was deleted last may be back" if self.deletions else ""
        at = datetime.fromtimestamp(self.noticed_at, UTC).strftime("%Y-%m-%d %H:%M UTC")
        return f"the log was damaged or removed: at least {what} are missing{back} (noticed {at})"


def read_progress(connection: sqlite3.Connection) -> StoreProgress:
    """Return how far a store has got."""
    return StoreProgress(*connection.execute(_PROGRESS).fetchone())


def count_deletion(connection: sqlite3.Connection) -> None:
    """Note, in the transaction of a deletion, that numbers may be used again."""
    connection.execute(_COUNT, (_DELETIONS,))


def read_loss(connection: sqlite3.Connection) -> LogLoss | None:
    """Return what was noticed to be missing, until `forget_loss`."""
    row = connection.execute("SELECT value FROM meta WHERE name = ?", (_LOSS,)).fetchone()
    try:
        return LogLoss(**json.loads(row[0])) if row else None
    except (TypeError, ValueError):
        return None


def write_loss(connection: sqlite3.Connection, loss: LogLoss) -> None:
    """Keep in the store what is missing; what was missing before is added."""
    before = read_loss(connection)
    if before is not None:
        counts = {
            each.name: getattr(loss, each.name) + getattr(before, each.name) for each in fields(StoreProgress)
        }
        loss = LogLoss(**counts, noticed_at=before.noticed_at)
    connection.execute(
        "INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)", (_LOSS, json.dumps(asdict(loss)))
    )


def forget_loss(connection: sqlite3.Connection) -> None:
    """Put away what was missing: the person knows."""
    connection.execute("DELETE FROM meta WHERE name = ?", (_LOSS,))


def was_used(path: Path) -> bool:
    """Whether the mark beside a file, whichever store's it is, says that something was stored."""
    try:
        handle = os.open(path.with_name(path.name + SUFFIX), _OLD_FILE)
    except OSError:
        return False
    try:
        known = _parse(os.read(handle, _BYTES))
        return any(known.get(name, 0) > 0 for name in ("messages", "sessions"))
    except (OSError, ValueError, TypeError, AttributeError):
        return False
    finally:
        os.close(handle)


class ProgressMark:
    """The file beside a store. `key` is the store's own: a file that came from elsewhere says nothing."""

    def __init__(self, path: Path, key: bytes, clock: Callable[[], float] = time.monotonic) -> None:
        self._path = path.with_name(path.name + SUFFIX)
        self._store = sha256(b"mark\0" + key).hexdigest()[:32]
        self._clock = clock
        self._next = 0.0
        self._last: StoreProgress | None = None
        self._lock = threading.Lock()
        self._handle: int | None = None
        with suppress(OSError):  # without it everything works but this
            self._handle = os.open(self._path, _NEW_FILE, _PRIVATE)

    def find_loss(self, connection: sqlite3.Connection) -> LogLoss | None:
        """Compare a store that was just opened with what the mark says of it."""
        marked = self._read()
        if marked is None:
            return None
        progress = read_progress(connection)
        marks, found = asdict(marked), asdict(progress)
        behind = {name: max(0, marks[name] - found[name]) for name in marks}
        if progress.deletions > marked.deletions and not behind["ticks"]:
            return None  # numbers may have been used again
        return LogLoss(**behind, noticed_at=time.time()) if any(behind.values()) else None

    def is_due(self) -> bool:
        """Whether the last commit that was counted is more than a moment ago."""
        return self._clock() >= self._next

    def count(self, connection: sqlite3.Connection) -> None:
        """Count the commit that a transaction is about to be; it has to be marked once it is made."""
        self._next = self._clock() + SECONDS_BETWEEN
        connection.execute(_COUNT, (_TICKS,))

    def note(self, connection: sqlite3.Connection) -> None:
        """Mark what is committed; `connection` is in no transaction."""
        if self._handle is None:
            return
        with suppress(OSError, MemoryError, driver.Error), self._lock:
            progress = read_progress(connection)
            if progress != self._last:
                self._write(progress)
                self._last = progress

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            if self._handle is not None:
                os.close(self._handle)
                self._handle = None

    def _write(self, progress: StoreProgress) -> None:
        text = json.dumps({"store": self._store, **asdict(progress)})
        line = f"{text} {crc32(text.encode()):08x}".ljust(_BYTES - 1) + "\n"
        if self._handle is not None:
            os.lseek(self._handle, 0, os.SEEK_SET)
            os.write(self._handle, line.encode())

    def _read(self) -> StoreProgress | None:
        """Return what the file says; nothing where it is damaged, or of another store."""
        if self._handle is None:
            return None
        try:
            os.lseek(self._handle, 0, os.SEEK_SET)
            known = _parse(os.read(self._handle, _BYTES))
            is_ours = known.pop("store") == self._store
            return StoreProgress(**known) if is_ours else None
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            return None


def _parse(data: bytes) -> dict[str, Any]:
    """Read the line of a mark; raises `ValueError` where it is damaged."""
    text, _, checked = data.decode().strip().rpartition(" ")
    if int(checked, 16) != crc32(text.encode()):
        raise ValueError(checked)
    known: dict[str, Any] = json.loads(text)
    return known
