"""Reads the rows of a table one after the other, past those that cannot be read."""

import sqlite3
from collections.abc import Iterator
from typing import Any

from midfold.store.sqlite.driver import driver, primary_code

UNREADABLE = (driver.Error, UnicodeDecodeError)
"""The errors of reading a damaged file; the words of SQLite's own errors may be damaged, too."""

# Every number is tried behind a damaged page, since a sound page may lie between two damaged ones. Behind so
# many that fail, whole branches of the tree are gone, and steps get longer.
_TRIED_SINGLY = 20_000
_LAST_KEY = 1 << 62
# SQLite's primary result codes for: there is no such table, and this is no database.
_HOPELESS = (1, 26)


def each_row(connection: sqlite3.Connection, table: str, key: str, columns: str) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a table with a number as its key, in order; the key comes first in each row."""
    # Without an index: one that is damaged must not decide what there is.
    statement = f"SELECT {key}, {columns} FROM {table} NOT INDEXED WHERE {key} >= ? ORDER BY {key}"  # noqa: S608
    following = -_LAST_KEY
    while True:
        try:
            for row in connection.execute(statement, (following,)):
                yield row
                following = int(row[0]) + 1
        except UNREADABLE as error:
            if primary_code(error) in _HOPELESS:
                return
            found = _find_sound(connection, statement, max(0, following))
            if found is None:
                return
            following = found
        else:
            return


def _find_sound(connection: sqlite3.Connection, statement: str, damaged: int) -> int | None:
    """Return the first key behind a damaged one from which on a row can be read; `None` if there is none."""
    for key in range(damaged + 1, damaged + 1 + _TRIED_SINGLY):
        if _can_read(connection, statement, key):
            return key
    step, bad = 1, damaged + _TRIED_SINGLY
    while not _can_read(connection, statement, bad + step):
        bad, step = bad + step, step * 2
        if bad > _LAST_KEY // 2:
            return None
    good = bad + step
    while good - bad > 1:
        middle = (good + bad) // 2
        good, bad = (middle, bad) if _can_read(connection, statement, middle) else (good, middle)
    return good


def _can_read(connection: sqlite3.Connection, statement: str, key: int) -> bool:
    try:
        connection.execute(f"{statement} LIMIT 1", (key,)).fetchone()
    except UNREADABLE:
        return False
    return True
