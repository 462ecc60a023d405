"""The conditions of a search: which messages it looks at, and which words the index is asked for.

A caller sees the messages of its own tenant only: the tenant is a condition on the rows, not a word of the
query. The statements are fixed; what a caller says reaches them as parameters, and no text of a query
reaches the database but inside quotation marks.
"""

import json
import sqlite3
from collections.abc import Sequence
from typing import assert_never

from midfold.late_dataclasses import dataclass
from midfold.search import AllOf, AnyOf, Key, Node, Phrase, Without, prefix_terms, word_terms
from midfold.store.codec import clean_text
from midfold.wire import RESULT_BLOCK

LAST_ID = (1 << 63) - 1
ROW_CONDITIONS = """
    m.tenant = :tenant AND (m.origin = 'said' OR (m.origin = 'summary' AND :role IS NULL AND NOT EXISTS (
        SELECT 1 FROM sessions c
        WHERE c.parent = m.session AND c.kind = 'continuation' AND c.undone_at IS NULL
    )))
    AND (:sessions IS NULL OR m.session IN (SELECT value FROM json_each(:sessions)))
    AND (:bounds IS NULL OR
        NOT EXISTS (SELECT 1 FROM json_each(:bounds) WHERE key = m.session AND m.seq >= value))
    AND (:role IS NULL OR :role = CASE
        WHEN m.role = 'user' AND instr(m.body, :result_block) AND json_valid(m.body) AND NOT EXISTS (
            SELECT 1 FROM json_each(m.body, '$.content') part
            WHERE part.type <> 'object' OR json_extract(part.value, '$.type') <> :result_block
        ) THEN 'tool' ELSE m.role END)
    AND (:tool IS NULL OR instr(' ' || m.tools || ' ', ' ' || :tool || ' ') > 0)
    AND (:since IS NULL OR m.created_at >= :since) AND (:until IS NULL OR m.created_at < :until)
"""
"""The conditions whose values `read_conditions` gives. A shortened copy and a stub say nothing that the
message they stand for does not say, nor does a summary that a later one took up; nobody said a summary.
Anthropic sends results in messages of the user; one that holds nothing else is output of a tool."""

_SESSIONS_BY_ID = """
    SELECT key, NULL FROM sessions WHERE tenant = :tenant AND id IN (SELECT value FROM json_each(:ids))
    AND (:conversation IS NULL OR conversation = :conversation)
"""
# A branch begins with what its parent said, up to the newest message that it took over, and so on upwards.
_SESSIONS_OF_CONVERSATION = """
    WITH RECURSIVE line (conversation, stop) AS (
        SELECT :conversation, NULL
        UNION
        SELECT parent.conversation, coalesce((
            SELECT max(source.first_position + r.stop) FROM ranges r
            JOIN sessions source ON source.key = r.source
            WHERE r.tenant = :tenant AND r.session = branch.key
            AND source.conversation = parent.conversation
        ), 0)
        FROM line
        JOIN sessions branch ON branch.tenant = :tenant AND branch.conversation = line.conversation
        JOIN sessions parent ON parent.key = branch.parent
        WHERE branch.kind = 'branch'
    )
    SELECT s.key, line.stop - s.first_position FROM line
    JOIN sessions s ON s.tenant = :tenant AND s.conversation = line.conversation
"""
_ENDS = """
    SELECT min(id), max(id), count(*) FROM messages
    WHERE tenant = :tenant AND session IN (SELECT value FROM json_each(:sessions))
"""


@dataclass(frozen=True, slots=True)
class MessageFilters:
    """The messages to look at; a filter that is empty or `None` leaves nothing out."""

    tenant: str
    sessions: Sequence[str] = ()
    """only what was written in these"""
    conversation: str | None = None
    """all that was said there, folded or not, and for a branch before it"""
    role: str | None = None
    tool: str | None = None
    since: float | None = None
    until: float | None = None
    before: int | None = None
    """the id of a message: only older ones, to go on behind a page"""


@dataclass(frozen=True, slots=True)
class SearchConditions:
    """The values for `ROW_CONDITIONS`, and the ids between which all such messages are."""

    first: int
    last: int
    values: dict[str, object]
    count: int | None
    """of how many messages the sessions are; `None` where these are all"""
    are_narrow: bool
    """whether they leave out messages of the sessions"""

    @property
    def stand_alone(self) -> bool:
        """Whether nobody else wrote between these ids: then these are the conditions."""
        return self.count is not None and self.count == self.last - self.first + 1

    @property
    def hold_for_none(self) -> bool:
        """Whether no message can be among them."""
        return self.first > self.last


@dataclass(frozen=True, slots=True)
class _Scope:
    """The sessions that are looked at, as a JSON list, and between which ids their messages are.

    `bounds` is a JSON object: of these sessions only messages before a number count.
    """

    sessions: str | None
    bounds: str | None
    first: int
    last: int
    count: int | None = None


def read_conditions(connection: sqlite3.Connection, filters: MessageFilters) -> SearchConditions:
    """Say by which rows the messages are known that a search looks at."""
    scope = _read_scope(connection, filters)
    values = {
        "first": scope.first,
        "last": scope.last,
        "tenant": clean_text(filters.tenant),
        "sessions": scope.sessions,
        "bounds": scope.bounds,
        "role": _clean(filters.role),
        "result_block": RESULT_BLOCK,
        "tool": _clean(filters.tool),
        "since": filters.since,
        "until": filters.until,
    }
    asked = (filters.role, filters.tool, filters.since, filters.until, scope.bounds)
    are_narrow = any(each is not None for each in asked)
    return SearchConditions(scope.first, scope.last, values, scope.count, are_narrow)


def _read_scope(connection: sqlite3.Connection, filters: MessageFilters) -> _Scope:
    """Find the keys of the sessions: ids between bounds are skipped by the index, not row by row."""
    last = LAST_ID if filters.before is None else max(0, min(filters.before - 1, LAST_ID))
    if not filters.sessions and filters.conversation is None:
        return _Scope(None, None, 0, last)
    parameters = {
        "tenant": clean_text(filters.tenant),
        "conversation": _clean(filters.conversation),
        "ids": json.dumps([clean_text(each) for each in filters.sessions]),
    }
    statement = _SESSIONS_BY_ID if filters.sessions else _SESSIONS_OF_CONVERSATION
    found = dict(connection.execute(statement, parameters).fetchall())
    keys = json.dumps(list(found))
    bounds = {key: stop for key, stop in found.items() if stop is not None}
    ends = {"tenant": parameters["tenant"], "sessions": keys}
    first, newest, count = connection.execute(_ENDS, ends).fetchone()
    return _Scope(keys, json.dumps(bounds) if bounds else None, first or 0, min(last, newest or -1), count)


def _clean(text: str | None) -> str | None:
    return None if text is None else clean_text(text)


def to_match(tree: Node | None) -> str:
    """Return the expression for `MATCH`; empty where nothing is asked for.

    The index knows no order, so it may give more than what is asked for: see `needs_reading`.
    """
    match tree:
        case None:
            return ""
        case Phrase():
            return _phrase_match(tree)
        case AllOf(parts):
            return f"({' AND '.join(map(to_match, parts))})"
        case AnyOf(parts):
            return f"({' OR '.join(map(to_match, parts))})"
        case Without(wanted, unwanted):
            if needs_reading(unwanted):
                return to_match(wanted)
            return f"({to_match(wanted)} NOT {to_match(unwanted)})"
        case _:
            assert_never(tree)


def needs_reading(tree: Node) -> bool:
    """Whether a message has to be read to know if it is asked for."""
    match tree:
        case Phrase():
            return tree.has_order
        case AllOf(parts) | AnyOf(parts):
            return any(map(needs_reading, parts))
        case Without(wanted, unwanted):
            return needs_reading(wanted) or needs_reading(unwanted)
        case _:
            assert_never(tree)


def match_keys(keys: Sequence[Key]) -> str:
    """Return the expression for `MATCH` that asks for all of these terms."""
    return " AND ".join(_key_match(key.term, key.is_prefix) for key in keys)


def _phrase_match(phrase: Phrase) -> str:
    terms = word_terms(phrase.text)
    if phrase.is_prefix:
        terms[-1:] = []
        whole = [_quote(term) for term in terms]
        return f"({' AND '.join([*whole, _key_match(phrase.words[-1], is_prefix=True)])})"
    asked = [_key_match(term, is_prefix=len(term) == 1 and not term.isascii()) for term in terms]
    return asked[0] if len(asked) == 1 else f"({' AND '.join(asked)})"


def _key_match(term: str, is_prefix: bool) -> str:
    if not is_prefix:
        return _quote(term)
    shorter = [_quote(each) for each in prefix_terms(term)]
    return f"({' OR '.join([f'{_quote(term)} *', *shorter])})"


def _quote(term: str) -> str:
    return f'"{term.replace(chr(34), chr(34) * 2)}"'
