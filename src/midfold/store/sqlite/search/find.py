"""Finds messages within a bounded time: by the index, or letter by letter in what one session says."""

import json
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from itertools import islice
from typing import NamedTuple

from midfold.late_dataclasses import dataclass
from midfold.search import Query, matches, rank, words_in
from midfold.store.codec import DamagedRow, clean_text, stored_texts
from midfold.store.sqlite.search.collected import StoredMessages
from midfold.store.sqlite.search.conditions import (
    LAST_ID,
    ROW_CONDITIONS,
    MessageFilters,
    SearchConditions,
    needs_reading,
    read_conditions,
    to_match,
)
from midfold.store.sqlite.search.deadline import Deadline, rows_in_time, time_limit
from midfold.store.sqlite.search.found import COLUMNS, FoundMessage
from midfold.store.sqlite.search.recent import find_recent, rank_recent
from midfold.store.values import Order

SEARCH_SECONDS = 1.0
MAX_ROWS = 1_000
OPERATOR_MATCHES = 20_000
"""The newest matches of a query with operators that are compared for the best."""

# The index leads: its matches come in the order of their ids, so a newest-first search ends at its limit.
_NEWEST = f"""
    SELECT m.id, CASE WHEN :reads THEN m.dialect END, CASE WHEN :reads THEN m.body END
    FROM message_words
    CROSS JOIN messages m ON m.id = message_words.rowid
    WHERE message_words MATCH :match AND message_words.rowid BETWEEN :first AND :last AND {ROW_CONDITIONS}
    ORDER BY message_words.rowid DESC
"""  # noqa: S608 - constants only
_BY_IDS = f"""
    SELECT {COLUMNS} FROM json_each(:ids) e CROSS JOIN messages m ON m.id = e.value
    CROSS JOIN sessions s ON s.key = m.session WHERE m.tenant = :tenant
"""  # noqa: S608 - constants only
_IS_SHARED = "SELECT EXISTS (SELECT 1 FROM sessions WHERE tenant < :tenant OR tenant > :tenant)"
SCANNED_CHARS = 64 << 20

# What a session took over, the end of it first, before which come its own messages.
_RANGES = """
    SELECT source, start, stop FROM (
        SELECT r.source, r.start, r.stop, r.position
        FROM sessions s JOIN ranges r ON r.tenant = s.tenant AND r.session = s.key
        WHERE s.tenant = :tenant AND s.id = :session
        UNION ALL
        SELECT key, own_from, 1 << 60, 1 << 60 FROM sessions WHERE tenant = :tenant AND id = :session
    ) ORDER BY position DESC
"""
_NEWEST_OF_RANGE = f"""
    SELECT {COLUMNS} FROM sessions s CROSS JOIN messages m ON m.tenant = s.tenant AND m.session = s.key
    WHERE s.tenant = :tenant AND s.key = :source AND m.seq >= :start AND m.seq < :stop ORDER BY m.seq DESC
"""  # noqa: S608 - constants only
_ESCAPES = ("\\u", "\\/")


class Coverage(StrEnum):
    """The share of possible matches that was looked at."""

    WHOLE = "all that matches"
    NEWEST = "the newest of what matches"
    CUT = "what the time allowed"


@dataclass(frozen=True, slots=True)
class FoundMessages:
    """The messages that a search found."""

    rows: tuple[FoundMessage, ...]
    coverage: Coverage = Coverage.WHOLE

    @property
    def is_incomplete(self) -> bool:
        """Whether there may be more, or better, than what was looked at."""
        return self.coverage is not Coverage.WHOLE


def find(
    connection: sqlite3.Connection,
    query: Query,
    filters: MessageFilters,
    *,
    order: Order = Order.NEWEST,
    limit: int = 20,
    offset: int = 0,
    seconds: float = SEARCH_SECONDS,
) -> FoundMessages:
    """Return the messages that match; a search that takes longer than `seconds` gives what it has by then.

    Newest first, a message has every word; by relevance, the best come first, whichever words they have. A
    prefix is looked for among the newest messages first, see `recent`.
    """
    page = _Page(order, max(0, min(limit, MAX_ROWS)), max(0, min(offset, LAST_ID)))
    conditions = read_conditions(connection, filters)
    if query.tree is None or not page.limit or conditions.hold_for_none:
        return FoundMessages(())
    deadline = Deadline(seconds)
    look = _find_newest if order is Order.NEWEST else _find_best
    found = look(connection, deadline, query, conditions, page)
    rows = _read_rows(connection, filters.tenant, found.ids)
    return FoundMessages(rows, Coverage.CUT if deadline.is_over else found.coverage)


@dataclass(frozen=True, slots=True)
class _Page:
    order: Order
    limit: int
    offset: int

    @property
    def stop(self) -> int:
        return min(self.offset + self.limit, LAST_ID)

    def cut(self, ids: Sequence[int]) -> list[int]:
        return list(ids[self.offset : self.stop])


@dataclass(frozen=True, slots=True)
class _Found:
    """The ids of a page."""

    ids: list[int]
    coverage: Coverage = Coverage.WHOLE


def _find_newest(
    connection: sqlite3.Connection,
    deadline: Deadline,
    query: Query,
    conditions: SearchConditions,
    page: _Page,
) -> _Found:
    with time_limit(connection, deadline):
        ids = find_recent(connection, deadline, query, conditions, enough=page.stop)
        if ids is None:
            ids = list(islice(_newest_matches(connection, deadline, query, conditions), page.stop))
    return _Found(page.cut(ids))


def _newest_matches(
    connection: sqlite3.Connection, deadline: Deadline, query: Query, conditions: SearchConditions
) -> Iterator[int]:
    tree = query.tree
    if tree is None:
        return
    reads = needs_reading(tree)
    values = conditions.values | {"match": to_match(tree), "reads": reads}
    for each in rows_in_time(connection, deadline, _Match, _NEWEST, values):
        if not reads or each.is_like(lambda words: matches(tree, words)):
            yield each.id


class _Match(NamedTuple):
    """An index row, with the message where it has to be read."""

    id: int
    dialect: str | None
    body: str | None

    def is_like(self, fits: Callable[[Sequence[str]], bool]) -> bool:
        try:
            return fits(words_in(stored_texts(self.dialect or "", self.body or "")))
        except DamagedRow:
            return False


def _find_best(
    connection: sqlite3.Connection,
    deadline: Deadline,
    query: Query,
    conditions: SearchConditions,
    page: _Page,
) -> _Found:
    with time_limit(connection, deadline):
        recent = rank_recent(connection, deadline, query, conditions, enough=page.stop)
    if recent is not None:
        return _Found(page.cut(recent), Coverage.NEWEST)
    (is_shared,) = connection.execute(_IS_SHARED, conditions.values).fetchone()
    stored = StoredMessages(connection, conditions, deadline, shared=bool(is_shared))
    within = None if query.is_plain else stored.find_match(to_match(query.loose), OPERATOR_MATCHES)
    ranked = rank(query, stored, min(page.stop, MAX_ROWS), within=within)
    return _Found(page.cut([each.number for each in ranked]))


def _read_rows(connection: sqlite3.Connection, tenant: str, ids: Sequence[int]) -> tuple[FoundMessage, ...]:
    found = connection.execute(_BY_IDS, {"tenant": clean_text(tenant), "ids": json.dumps(ids)})
    rows = {row.id: row for row in (FoundMessage(*columns) for columns in found)}
    return tuple(rows[each] for each in ids if each in rows)


def scan(
    connection: sqlite3.Connection,
    tenant: str,
    session_id: str,
    substring: str,
    *,
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
    with time_limit(connection, seconds) as deadline:
        for row in _read_view(connection, deadline, clean_text(tenant), clean_text(session_id)):
            chars_left -= len(row.body)
            if chars_left < 0 or deadline.has_passed():
                return FoundMessages(tuple(found), Coverage.CUT)
            if _may_say(row.body, wanted) and _says(row, wanted):
                found.append(row)
                if len(found) == limit:
                    return FoundMessages(tuple(found))
    return FoundMessages(tuple(found), Coverage.CUT if deadline.is_over else Coverage.WHOLE)


def _says(row: FoundMessage, wanted: str) -> bool:
    try:
        return any(wanted in text.casefold() for text in stored_texts(row.dialect, row.body))
    except DamagedRow:
        return True  # as far as anybody knows


class _Range(NamedTuple):
    """messages[start:stop] of the session `source`"""

    source: int
    start: int
    stop: int


def _read_view(
    connection: sqlite3.Connection, deadline: Deadline, tenant: str, session_id: str
) -> Iterator[FoundMessage]:
    named: dict[str, object] = {"tenant": tenant, "session": session_id}
    for each in list(rows_in_time(connection, deadline, _Range, _RANGES, named)):
        values = {"tenant": tenant, **each._asdict()}
        yield from rows_in_time(connection, deadline, FoundMessage, _NEWEST_OF_RANGE, values)


def _may_say(body: str, wanted: str) -> bool:
    """Sort out most messages that do not say it without reading their JSON.

    That escapes quotation marks, backslashes and unprintable characters, and may escape any letter.
    Where it has blanks is up to the encoder.
    """
    if '"' in wanted or "\\" in wanted or not wanted.isprintable():
        return True
    if wanted.replace(" ", "") in body.casefold().replace(" ", ""):
        return True
    return any(escape in body for escape in _ESCAPES)
