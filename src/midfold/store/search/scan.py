"""Finds a text letter by letter in one session, for what no index of words can find."""

import sqlite3
from collections.abc import Callable, Iterable
from typing import TypeAlias

from midfold.store.codec import clean_text
from midfold.store.search.find import COLUMNS, MAX_ROWS, SEARCH_SECONDS, Coverage, Row, Rows
from midfold.store.search.limits import rows_in_time, time_limit

ReadTexts: TypeAlias = Callable[[str, str], Iterable[str]]
"""Returns what a message says, from its dialect and its stored body."""

SCANNED_CHARS = 64 << 20

_NEWEST = f"""
    SELECT {COLUMNS} FROM sessions s CROSS JOIN messages m ON m.tenant = s.tenant AND m.session = s.key
    WHERE s.tenant = :tenant AND s.id = :session AND m.origin IN ('said', 'summary') ORDER BY m.seq DESC
"""  # noqa: S608 - constants only


def scan(
    connection: sqlite3.Connection,
    tenant: str,
    session_id: str,
    substring: str,
    *,
    read_texts: ReadTexts,
    limit: int = 20,
    seconds: float = SEARCH_SECONDS,
) -> Rows:
    """Find a text, whatever its case, in the messages that were written in one session, newest first.

    It reads message after message, so it ends after `seconds` or 64 M characters, and then says so.
    """
    wanted = substring.casefold()
    limit = min(limit, MAX_ROWS)
    if not wanted or limit <= 0:
        return Rows(())
    found: list[Row] = []
    chars_left = SCANNED_CHARS
    parameters: dict[str, object] = {"tenant": clean_text(tenant), "session": clean_text(session_id)}
    with time_limit(connection, seconds) as clock:
        for row in rows_in_time(connection, clock, Row, _NEWEST, parameters):
            chars_left -= len(row.body)
            if chars_left < 0 or clock.look():
                return Rows(tuple(found), Coverage.CUT)
            if any(wanted in text.casefold() for text in read_texts(row.dialect, row.body)):
                found.append(row)
                if len(found) == limit:
                    return Rows(tuple(found))
    return Rows(tuple(found), Coverage.CUT if clock.is_over else Coverage.WHOLE)
