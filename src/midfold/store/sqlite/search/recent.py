"""Answers a query from the newest messages alone, where these are enough.

For a prefix the database gathers every message with any word that begins so before it gives the first one.
The shorter the prefix, the longer that takes, and the more of the newest messages match. So these are asked
first, in an index of their own that lives as long as the question.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from typing import NamedTuple

from midfold.store.codec import DamagedRow, stored_texts
from midfold.store.search.query import Query
from midfold.store.search.words import index_words
from midfold.store.sqlite.search.conditions import ROW_CONDITIONS, SearchConditions, to_match
from midfold.store.sqlite.search.deadline import Deadline, rows_in_time
from midfold.store.values import Order

# To index a thousand characters takes a tenth of a millisecond. It is tried twice, for words that are not in
# every other message; after that the database is as quick.
_TRIED_CHARS = (20_000, 40_000)
_RANKED_CHARS = 150_000
_LONGEST_CHARS = 150_000
# A filter may leave out most messages: so many are looked at. The index is quick where there are no more.
_LOOKED_AT = 500
# How long a prefix is that begins so many words that comparing all messages with one is not worth its time.
_SHORT_CHARS = 2
_ROWS = f"""
    SELECT m.id, m.dialect, m.body FROM messages m NOT INDEXED
    WHERE m.id > :above AND m.id <= :last AND {ROW_CONDITIONS} ORDER BY m.id DESC
"""  # noqa: S608 - constants only
_NEWEST_ID = "SELECT max(id) FROM messages WHERE id <= ?"
_ADD = "INSERT INTO message_words (rowid, words) VALUES (?, ?)"
_NEWEST = "SELECT rowid FROM message_words WHERE message_words MATCH ? ORDER BY rowid DESC"
_BEST = "SELECT rowid FROM message_words WHERE message_words MATCH ? ORDER BY bm25(message_words), rowid DESC"


class _StoredMessage(NamedTuple):
    """A message as it is stored."""

    id: int
    dialect: str
    body: str


def find_recent(
    connection: sqlite3.Connection,
    deadline: Deadline,
    query: Query,
    conditions: SearchConditions,
    *,
    order: Order,
    enough: int,
) -> list[int] | None:
    """Return the ids of those of the newest messages that match, in this order.

    `None` where that are fewer than `enough`, where not all can be read, and where the index does better.
    """
    (newest,) = connection.execute(_NEWEST_ID, (conditions.last,)).fetchone()
    above = (newest or 0) - _LOOKED_AT
    if not _is_slow(query, order) or above <= conditions.first:
        return None
    match = to_match(query.tree)
    said = rows_in_time(connection, deadline, _StoredMessage, _ROWS, conditions.values | {"above": above})
    with closing(_make_index(connection)) as index:
        for chars in _TRIED_CHARS:
            if not _fill(index, said, chars):
                return None
            ids = [rowid for (rowid,) in index.execute(_NEWEST, (match,))]
            if len(ids) >= enough:
                break
        else:
            return None
        if order is Order.NEWEST:
            return ids
        if not _fill(index, said, _RANKED_CHARS):
            return None
        return [rowid for (rowid,) in index.execute(_BEST, (match,))]


def _is_slow(query: Query, order: Order) -> bool:
    """Whether the index takes long: for a prefix, and to compare what matches, for a short one."""
    prefixes = [len(term.words[-1]) for term in query.terms if term.is_prefix]
    return bool(prefixes) and (order is Order.NEWEST or min(prefixes) <= _SHORT_CHARS)


def _make_index(connection: sqlite3.Connection) -> sqlite3.Connection:
    """Make an empty index that parts words as that of the database does."""
    [(definition,)] = connection.execute("SELECT sql FROM sqlite_schema WHERE name = 'message_words'")
    index = type(connection)(":memory:", isolation_level=None)
    index.execute(definition)
    index.execute("BEGIN")
    return index


def _fill(index: sqlite3.Connection, said: Iterator[_StoredMessage], chars: int) -> bool:
    """Index messages until there are so many characters of them; say whether that was possible."""
    for each in said:
        if len(each.body) > _LONGEST_CHARS:
            return False
        try:
            texts = list(stored_texts(each.dialect, each.body))
        except DamagedRow:
            return False
        index.execute(_ADD, (each.id, index_words(texts)))
        chars -= len(each.body)
        if chars <= 0:
            break
    return True
