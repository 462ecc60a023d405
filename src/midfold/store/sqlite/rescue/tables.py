"""Every row of a damaged store that can still be read, table by table, by whatever leads to it."""

import sqlite3
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, TypeAlias

from midfold.store.codec import DamagedRow, read_value
from midfold.store.fold_json import fold_from_json
from midfold.store.sqlite.checksums import LOST_CHECKSUM, is_fold_intact, is_intact
from midfold.store.sqlite.migrations import read_old_fold
from midfold.store.sqlite.rescue.pages import read_leaves
from midfold.store.sqlite.row_scan import UNREADABLE, each_row

TableRow: TypeAlias = tuple[Any, ...]

MESSAGE_COLUMNS = (
    "id, tenant, session, seq, origin, role, tools, dialect, body, seal, tokens, finish_reason, is_redacted,"
    " is_exact, digest, chain, created_at"
)
SESSION_COLUMNS = (
    "key, tenant, id, conversation, parent, kind, source, model, title, dialect, system, started_at,"
    " ended_at, end_reason, undone_at, own_from, next_seq, last_chain, base_digest"
)
_SESSION_COUNT = SESSION_COLUMNS.count(",") + 1
# Where a session begins in its conversation is worked out again; rows of earlier schemas do not have it.
_STORED_SESSION_COUNTS = (_SESSION_COUNT, _SESSION_COUNT + 1)
FOLD_COLUMNS = "key, tenant, session, child, prefix_digest, body, facts, created_at, announced_at"
CALL_COLUMNS = (
    "key, tenant, session, id, model, purpose, input_tokens, output_tokens, cache_read_tokens,"
    " cache_write_tokens, cache_write_1h_tokens, reasoning_tokens, cost, cost_kind, facts, raw, created_at"
)
_KINDS = ("root", "continuation", "branch", "subagent")
_ORIGINS = ("said", "summary", "copy", "stub")
# No conversation is so long: such a number is damaged.
_MOST_MESSAGES = 1 << 40


class Tables:
    """The tables of a damaged store."""

    def __init__(self, connection: sqlite3.Connection | None, data: bytes) -> None:
        self._connection = connection
        self._data = data

    def messages(self) -> Iterator[TableRow]:
        """Yield the messages of which at least the position is known, some of them twice; see `is_sound`."""
        yield from self._scan("messages", "id", MESSAGE_COLUMNS)
        # A sum is proof enough for a row that no tree leads to; one without would prove nothing.
        yield from (row for row in self._leaves if is_sound(row) and row[9] is not None)

    def sessions(self) -> dict[int, TableRow]:
        """Return the sessions by their keys."""
        found = {row[0]: row for row in self._scan("sessions", "key", SESSION_COLUMNS)}
        leaves = (row[:_SESSION_COUNT] for row in self._leaves if len(row) in _STORED_SESSION_COUNTS)
        return {row[0]: row for row in leaves if _is_session(row)} | found

    def folds(self) -> dict[int, TableRow]:
        """Return the folds by their keys."""
        found = [*self._leaves, *self._scan("folds", "key", FOLD_COLUMNS)]
        return {row[0]: row for row in found if _is_fold(row)}

    def calls(self) -> dict[int, TableRow]:
        """Return the recorded calls by their keys."""
        found = [*self._leaves, *self._scan("calls", "key", CALL_COLUMNS)]
        return {row[0]: row for row in found if _is_call(row)}

    def ranges(self, sessions: dict[int, TableRow]) -> dict[int, list[TableRow]]:
        """Return what each session took over: position, source, start and stop, in order."""
        return {key: self._read_ranges(row[1], key) for key, row in sessions.items()}

    def plain(self, statement: str) -> list[TableRow]:
        """Return what can be read at once, or nothing."""
        try:
            return self._connection.execute(statement).fetchall() if self._connection else []
        except UNREADABLE:
            return []

    def count(self, table: str) -> int:
        """Return how many rows the index of a table knows of; 0 where that cannot be read."""
        rows = self.plain(f"SELECT count(*) FROM {table} INDEXED BY sqlite_autoindex_{table}_1")  # noqa: S608
        return int(rows[0][0]) if rows else 0

    def longest(self) -> dict[int, int]:
        """Return how many messages each session has at least, by what the index knows."""
        rows = self.plain(
            "SELECT session, max(seq) FROM messages INDEXED BY sqlite_autoindex_messages_1 GROUP BY session"
        )
        return {key: seq + 1 for key, seq in rows if _is_count(key) and _is_count(seq)}

    @cached_property
    def _leaves(self) -> list[TableRow]:
        """Rows of any table with a number as its key, which stands where the table has nothing."""
        return [(rowid, *values[1:]) for rowid, values in read_leaves(self._data) if values[:1] == (None,)]

    def _scan(self, table: str, key: str, columns: str) -> Iterator[TableRow]:
        if self._connection is not None:
            yield from each_row(self._connection, table, key, columns.removeprefix(f"{key}, "))

    def _read_ranges(self, tenant: str, key: int) -> list[TableRow]:
        if self._connection is None:
            return []
        try:
            return self._connection.execute(
                "SELECT position, source, start, stop FROM ranges WHERE tenant = ? AND session = ?"
                " ORDER BY position",
                (tenant, key),
            ).fetchall()
        except UNREADABLE:
            return []


def is_sound(row: TableRow) -> bool:
    """Whether a message is what was stored, in all that counts."""
    return (
        is_placed(row)
        and row[4] in _ORIGINS
        and row[9] != LOST_CHECKSUM
        and all(isinstance(each, str) for each in row[5:9])
        and is_intact(row[2:10])
        and _reads(read_value, row[8])
    )


def is_placed(row: TableRow) -> bool:
    """Whether a message says where it belongs."""
    return len(row) == MESSAGE_COLUMNS.count(",") + 1 and _is_count(row[2]) and _is_count(row[3])


def _is_session(row: TableRow) -> bool:
    return (
        len(row) == _SESSION_COUNT
        and row[5] in _KINDS
        and all(isinstance(each, str) for each in (row[1], row[2], row[3], row[6]))
        and _is_count(row[16])
    )


def _is_fold(row: TableRow) -> bool:
    return (
        len(row) == FOLD_COLUMNS.count(",") + 1
        and isinstance(row[1], str)
        and isinstance(row[4], bytes)
        and (_reads(fold_from_json, row[5]) or _reads(read_old_fold, row[5]))
        and _reads(read_value, row[6])
        and is_fold_intact(row[5], row[6])
    )


def _is_call(row: TableRow) -> bool:
    return (
        len(row) == CALL_COLUMNS.count(",") + 1
        and all(isinstance(each, str) for each in (row[1], row[3], row[4], row[5], row[13]))
        and all(isinstance(each, int) for each in row[6:12])
        and isinstance(row[16], float)
        and (row[12] is None or _reads(read_value, row[12]))
        and _reads(read_value, row[14])
        and _reads(read_value, row[15])
    )


def _is_count(value: object) -> bool:
    return type(value) is int and 0 <= value < _MOST_MESSAGES


def _reads(read: Callable[[str], object], value: object) -> bool:
    if not isinstance(value, str):
        return False
    try:
        read(value)
    except DamagedRow:
        return False
    return True


def insert(connection: sqlite3.Connection, table: str, columns: str, row: TableRow) -> None:
    """Write a row as it is."""
    marks = ", ".join("?" * len(row))
    connection.execute(f"INSERT INTO {table} ({columns}) VALUES ({marks})", row)  # noqa: S608 - our own names
