"""Finds a text letter by letter in what one session says, for what no index of words can find."""

import sqlite3
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, TypeAlias

from midfold.store.codec import DamagedRow, clean_text
from midfold.store.sqlite.search.find import (
    COLUMNS,
    MAX_ROWS,
    SEARCH_SECONDS,
    Coverage,
    FoundMessage,
    FoundMessages,
)
from midfold.store.sqlite.search.limits import Clock, rows_in_time, time_limit

ReadTexts: TypeAlias = Callable[[str, str], Iterable[str]]
"""Returns what a message says, from its dialect and its stored body."""

SCANNED_CHARS = 64 << 20

# What a session took over, the end of it first, before which come its own messages.
_PIECES = """
    SELECT source, start, stop FROM (
        SELECT r.source, r.start, r.stop, r.position
        FROM sessions s JOIN ranges r ON r.tenant = s.tenant AND r.session = s.key
        WHERE s.tenant = :tenant AND s.id = :session
        UNION ALL
        SELECT key, own_from, 1 << 60, 1 << 60 FROM sessions WHERE tenant = :tenant AND id = :session
    ) ORDER BY position DESC
"""
_NEWEST = f"""
    SELECT {COLUMNS} FROM sessions s CROSS JOIN messages m ON m.tenant = s.tenant AND m.session = s.key
    WHERE s.tenant = :tenant AND s.key = :source AND m.seq >= :start AND m.seq < :stop ORDER BY m.seq DESC
"""  # noqa: S608 - constants only
_ESCAPES = ("\\u", "\\/")


def scan(
    connection: sqlite3.Connection,
    tenant: str,
    session_id: str,
    substring: str,
    *,
    read_texts: ReadTexts,
    limit: int = 20,
    seconds: float = SEARCH_SECONDS,
) -> FoundMessages:
    """Find a text, whatever its case, in the messages that one session says, newest first.

    It reads message after message, so it ends after `seconds` or 64 M characters, and then says so.
    """
    wanted = substring.casefold()
    limit = min(limit, MAX_ROWS)
    if not wanted or limit <= 0:
        return FoundMessages(())
    found: list[FoundMessage] = []
    chars_left = SCANNED_CHARS
    with time_limit(connection, seconds) as clock:
        for row in _read_view(connection, clock, clean_text(tenant), clean_text(session_id)):
            chars_left -= len(row.body)
            if chars_left < 0 or clock.look():
                return FoundMessages(tuple(found), Coverage.CUT)
            if _may_say(row.body, wanted) and _says(row, wanted, read_texts):
                found.append(row)
                if len(found) == limit:
                    return FoundMessages(tuple(found))
    return FoundMessages(tuple(found), Coverage.CUT if clock.is_over else Coverage.WHOLE)


def _says(row: FoundMessage, wanted: str, read_texts: ReadTexts) -> bool:
    try:
        return any(wanted in text.casefold() for text in read_texts(row.dialect, row.body))
    except DamagedRow:
        return True  # as far as anybody can tell


class _Piece(NamedTuple):
    """messages[start:stop] of the session `source`"""

    source: int
    start: int
    stop: int


def _read_view(
    connection: sqlite3.Connection, clock: Clock, tenant: str, session_id: str
) -> Iterator[FoundMessage]:
    named: dict[str, object] = {"tenant": tenant, "session": session_id}
    for piece in list(rows_in_time(connection, clock, _Piece, _PIECES, named)):
        values = {"tenant": tenant, **piece._asdict()}
        yield from rows_in_time(connection, clock, FoundMessage, _NEWEST, values)


def _may_say(body: str, wanted: str) -> bool:
    """Tell most messages that do not say it without reading their JSON.

    That spells quotation marks, backslashes and what is unprintable otherwise, and may so spell any letter.
    Where it has blanks is up to whoever spells it.
    """
    if '"' in wanted or "\\" in wanted or not wanted.isprintable():
        return True
    if wanted.replace(" ", "") in body.casefold().replace(" ", ""):
        return True
    return any(escape in body for escape in _ESCAPES)
