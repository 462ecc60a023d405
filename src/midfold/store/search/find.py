"""Looks messages up in the index, newest first or best first, within a bounded time.

Whoever asks sees their own messages only: the tenant is a condition on the rows, not a word of the query. The
statements are fixed; what a caller says reaches them as parameters.
"""

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from midfold.store.base import Order
from midfold.store.codec import clean_text
from midfold.store.search.limits import rows_in_time, time_limit
from midfold.store.search.query import Query

SEARCH_SECONDS = 1.0
MAX_ROWS = 1_000
RANKED_MATCHES = 5_000
"""How many of the newest matches are compared for the best: a word that is everywhere ranks nothing."""

_LAST_ID = (1 << 63) - 1
COLUMNS = "m.id, s.id, s.conversation, s.title, m.seq, m.role, m.tools, m.created_at, m.dialect, m.body"
"""What a `Row` is made from."""
# The index leads: its matches come in the order of their ids, so a newest-first search ends at its limit.
# A shortened copy and a stub say nothing that the message they stand for does not say.
_MATCHES = """
    FROM message_words
    CROSS JOIN messages m ON m.id = message_words.rowid
    WHERE message_words MATCH :match AND message_words.rowid BETWEEN :first AND :last
    AND m.tenant = :tenant AND m.origin IN ('said', 'summary')
    AND (:sessions IS NULL OR m.session IN (SELECT value FROM json_each(:sessions)))
    AND (:role IS NULL OR m.role = :role)
    AND (:tool IS NULL OR instr(' ' || m.tools || ' ', ' ' || :tool || ' ') > 0)
    AND (:since IS NULL OR m.created_at >= :since) AND (:until IS NULL OR m.created_at < :until)
    ORDER BY message_words.rowid DESC LIMIT :limit OFFSET :offset
"""
_NEWEST = f"SELECT m.id {_MATCHES}"
_RANKED = f"SELECT bm25(message_words), -m.id {_MATCHES}"
_BY_IDS = f"""
    SELECT {COLUMNS} FROM json_each(:ids) CROSS JOIN messages m ON m.id = value
    CROSS JOIN sessions s ON s.key = m.session WHERE m.tenant = :tenant
"""  # noqa: S608 - constants only
_SESSIONS_BY_ID = """
    SELECT key FROM sessions WHERE tenant = :tenant AND id IN (SELECT value FROM json_each(:ids))
    AND (:conversation IS NULL OR conversation = :conversation)
"""
_SESSIONS_OF_CONVERSATION = "SELECT key FROM sessions WHERE tenant = :tenant AND conversation = :conversation"
_ENDS = """
    SELECT min(id), max(id) FROM messages
    WHERE tenant = :tenant AND session IN (SELECT value FROM json_each(:sessions))
"""


@dataclass(frozen=True, slots=True)
class Filters:
    """Which messages are looked at; what is empty or `None` leaves nothing out."""

    tenant: str
    sessions: Sequence[str] = ()
    conversation: str | None = None
    role: str | None = None
    tool: str | None = None
    since: float | None = None
    until: float | None = None
    before: int | None = None
    """the id of a message: only older ones, to go on behind a page"""


@dataclass(frozen=True, slots=True)
class Row:
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


class Coverage(StrEnum):
    """How much of what could match was looked at."""

    WHOLE = "all that matches"
    NEWEST = "the newest of what matches"
    CUT = "what the time allowed"


@dataclass(frozen=True, slots=True)
class Rows:
    """What a search gave."""

    rows: tuple[Row, ...]
    coverage: Coverage = Coverage.WHOLE

    @property
    def is_incomplete(self) -> bool:
        """Whether there may be more, or better, than what was looked at."""
        return self.coverage is not Coverage.WHOLE


def find(
    connection: sqlite3.Connection,
    query: Query,
    filters: Filters,
    *,
    order: Order = Order.NEWEST,
    limit: int = 20,
    offset: int = 0,
    seconds: float = SEARCH_SECONDS,
) -> Rows:
    """Return the messages that match; a search that takes longer than `seconds` gives what it has by then."""
    limit, offset = max(0, min(limit, MAX_ROWS)), max(0, min(offset, _LAST_ID))
    scope = _read_scope(connection, filters)
    if not query.match or not limit or scope.first > scope.last:
        return Rows(())
    conditions = _conditions(query, filters, scope)
    with time_limit(connection, seconds) as clock:
        if order is Order.NEWEST:
            page = conditions | {"limit": limit, "offset": offset}
            ids, coverage = list(rows_in_time(connection, clock, int, _NEWEST, page)), Coverage.WHOLE
        else:
            newest = conditions | {"limit": RANKED_MATCHES, "offset": 0}
            ranked = list(rows_in_time(connection, clock, _Match, _RANKED, newest))
            coverage = Coverage.NEWEST if len(ranked) == RANKED_MATCHES else Coverage.WHOLE
            ids = [-match.negative_id for match in sorted(ranked)[offset : offset + limit]]
    rows = _read_rows(connection, filters.tenant, ids)
    return Rows(rows, Coverage.CUT if clock.is_over else coverage)


class _Match(NamedTuple):
    """A match. The best is the smallest, and of equals the newest; sorting them here and not in the database
    leaves something to give when time is over."""

    rank: float
    negative_id: int


def _read_rows(connection: sqlite3.Connection, tenant: str, ids: Sequence[int]) -> tuple[Row, ...]:
    found = connection.execute(_BY_IDS, {"tenant": clean_text(tenant), "ids": json.dumps(ids)})
    rows = {row.id: row for row in (Row(*columns) for columns in found)}
    return tuple(rows[each] for each in ids if each in rows)


@dataclass(frozen=True, slots=True)
class _Scope:
    """The sessions that are looked at, as a JSON list, and between which ids their messages are."""

    sessions: str | None
    first: int
    last: int


def _read_scope(connection: sqlite3.Connection, filters: Filters) -> _Scope:
    """Find the keys of the sessions: ids between bounds are skipped by the index, not row by row."""
    last = _LAST_ID if filters.before is None else max(0, min(filters.before - 1, _LAST_ID))
    if not filters.sessions and filters.conversation is None:
        return _Scope(None, 0, last)
    parameters = {
        "tenant": clean_text(filters.tenant),
        "conversation": _clean(filters.conversation),
        "ids": json.dumps([clean_text(each) for each in filters.sessions]),
    }
    statement = _SESSIONS_BY_ID if filters.sessions else _SESSIONS_OF_CONVERSATION
    keys = json.dumps([key for (key,) in connection.execute(statement, parameters)])
    first, newest = connection.execute(_ENDS, {"tenant": parameters["tenant"], "sessions": keys}).fetchone()
    return _Scope(keys, first or 0, min(last, newest or -1))


def _conditions(query: Query, filters: Filters, scope: _Scope) -> dict[str, object]:
    return {
        "match": query.match,
        "first": scope.first,
        "last": scope.last,
        "tenant": clean_text(filters.tenant),
        "sessions": scope.sessions,
        "role": _clean(filters.role),
        "tool": _clean(filters.tool),
        "since": filters.since,
        "until": filters.until,
    }


def _clean(text: str | None) -> str | None:
    return None if text is None else clean_text(text)
