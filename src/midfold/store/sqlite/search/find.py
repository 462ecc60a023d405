"""Looks messages up in the index, newest first or best first, within a bounded time."""

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from midfold.store.base import Order
from midfold.store.codec import clean_text
from midfold.store.search.query import Query
from midfold.store.sqlite.seals import is_sealed
from midfold.store.sqlite.search.limits import Clock, rows_in_time, time_limit
from midfold.store.sqlite.search.match import to_match
from midfold.store.sqlite.search.recent import find_recent
from midfold.store.sqlite.search.scope import (
    LAST_ID,
    ROW_CONDITIONS,
    SearchConditions,
    SearchFilters,
    read_conditions,
)

if TYPE_CHECKING:
    from midfold.store.sqlite.search.scan import ReadTexts

SEARCH_SECONDS = 1.0
MAX_ROWS = 1_000
RANKED_MATCHES = 5_000
"""How many of the newest matches are compared for the best: a word that is everywhere ranks nothing."""

COLUMNS = (
    "m.id, s.id, s.conversation, s.title, m.seq, m.role, m.tools, m.created_at, m.dialect, m.body,"
    " m.session, m.origin, m.seal"
)
"""What a `FoundMessage` is made from."""
# The index leads: its matches come in the order of their ids, so a newest-first search ends at its limit.
_MATCHES = f"""
    FROM message_words
    CROSS JOIN messages m ON m.id = message_words.rowid
    WHERE message_words MATCH :match AND message_words.rowid BETWEEN :first AND :last AND {ROW_CONDITIONS}
    ORDER BY message_words.rowid DESC LIMIT :limit OFFSET :offset
"""
_NEWEST = f"SELECT m.id {_MATCHES}"
_RANKED = f"SELECT bm25(message_words), -m.id {_MATCHES}"
_BY_IDS = f"""
    SELECT {COLUMNS} FROM json_each(:ids) CROSS JOIN messages m ON m.id = value
    CROSS JOIN sessions s ON s.key = m.session WHERE m.tenant = :tenant
"""  # noqa: S608 - constants only


@dataclass(frozen=True, slots=True)
class FoundMessage:
    """A message that was found, as it is stored; `tools` are names with spaces between."""

    id: int
    session_id: str
    conversation_id: str
    title: str | None
    seq: int
    role: str
    tools: str
    created_at: float
    dialect: str
    body: str
    session: int
    origin: str
    seal: int | None

    @property
    def is_sound(self) -> bool:
        """Whether it is what was stored."""
        columns = (self.session, self.seq, self.origin, self.role, self.tools, self.dialect, self.body)
        return is_sealed((*columns, self.seal))


class Coverage(StrEnum):
    """How much of what could match was looked at."""

    WHOLE = "all that matches"
    NEWEST = "the newest of what matches"
    CUT = "what the time allowed"


@dataclass(frozen=True, slots=True)
class FoundMessages:
    """What a search gave."""

    rows: tuple[FoundMessage, ...]
    coverage: Coverage = Coverage.WHOLE

    @property
    def is_incomplete(self) -> bool:
        """Whether there may be more, or better, than what was looked at."""
        return self.coverage is not Coverage.WHOLE


def find(
    connection: sqlite3.Connection,
    query: Query,
    filters: SearchFilters,
    *,
    order: Order = Order.NEWEST,
    limit: int = 20,
    offset: int = 0,
    seconds: float = SEARCH_SECONDS,
    read_texts: "ReadTexts | None" = None,
) -> FoundMessages:
    """Return the messages that match; a search that takes longer than `seconds` gives what it has by then.

    With `read_texts`, a prefix is looked for among the newest messages first, see `recent`.
    """
    page = _Page(order, max(0, min(limit, MAX_ROWS)), max(0, min(offset, LAST_ID)))
    conditions = read_conditions(connection, filters)
    if query.tree is None or not page.limit or conditions.hold_for_none:
        return FoundMessages(())
    with time_limit(connection, seconds) as clock:
        found = read_texts and _find_recent(connection, clock, query, conditions, page, read_texts)
        found = found or _find_indexed(connection, clock, query, conditions, page)
    rows = _read_rows(connection, filters.tenant, found.ids)
    return FoundMessages(rows, Coverage.CUT if clock.is_over else found.coverage)


@dataclass(frozen=True, slots=True)
class _Page:
    order: Order
    limit: int
    offset: int

    def cut(self, ids: Sequence[int]) -> list[int]:
        return list(ids[self.offset : self.offset + self.limit])


@dataclass(frozen=True, slots=True)
class _Found:
    """The ids of a page."""

    ids: list[int]
    coverage: Coverage = Coverage.WHOLE


def _find_recent(
    connection: sqlite3.Connection,
    clock: Clock,
    query: Query,
    conditions: SearchConditions,
    page: _Page,
    read_texts: "ReadTexts",
) -> _Found | None:
    enough = page.offset + page.limit
    ids = find_recent(
        connection, clock, query, conditions, read_texts=read_texts, order=page.order, enough=enough
    )
    if ids is None:
        return None
    return _Found(page.cut(ids), Coverage.WHOLE if page.order is Order.NEWEST else Coverage.NEWEST)


def _find_indexed(
    connection: sqlite3.Connection, clock: Clock, query: Query, conditions: SearchConditions, page: _Page
) -> _Found:
    values = conditions.values | {"match": to_match(query.tree)}
    if page.order is Order.NEWEST:
        values |= {"limit": page.limit, "offset": page.offset}
        return _Found(list(rows_in_time(connection, clock, int, _NEWEST, values)))
    values |= {"limit": RANKED_MATCHES, "offset": 0}
    ranked = sorted(rows_in_time(connection, clock, _Match, _RANKED, values))
    coverage = Coverage.NEWEST if len(ranked) == RANKED_MATCHES else Coverage.WHOLE
    return _Found(page.cut([-match.negative_id for match in ranked]), coverage)


class _Match(NamedTuple):
    """A match. The best is the smallest, and of equals the newest; sorting them here and not in the database
    leaves something to give when time is over."""

    rank: float
    negative_id: int


def _read_rows(connection: sqlite3.Connection, tenant: str, ids: Sequence[int]) -> tuple[FoundMessage, ...]:
    found = connection.execute(_BY_IDS, {"tenant": clean_text(tenant), "ids": json.dumps(ids)})
    rows = {row.id: row for row in (FoundMessage(*columns) for columns in found)}
    return tuple(rows[each] for each in ids if each in rows)
