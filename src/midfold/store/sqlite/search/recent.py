"""Answers a query from the newest messages alone, where these are enough.

For a prefix the database gathers every message with any word that begins so before it gives the first one.
The shorter the prefix, the longer that takes, and the more of the newest messages match. So these are read
first, and compared without an index.
"""

import sqlite3
from collections.abc import Iterator
from typing import NamedTuple

from midfold.search import Document, Query, SearchIndex, matches, words_in
from midfold.store.codec import DamagedRow, stored_texts
from midfold.store.sqlite.search.conditions import ROW_CONDITIONS, SearchConditions
from midfold.store.sqlite.search.deadline import Deadline, rows_in_time

# To read a thousand characters takes a tenth of a millisecond. After so many the database is as quick.
_TRIED_CHARS = 60_000
_RANKED_CHARS = 150_000
_LONGEST_CHARS = 150_000
# A filter may leave out most messages: so many are looked at. The index is quick where there are no more.
_LOOKED_AT = 500
# How long a prefix is that begins so many words that comparing all messages with one is not worth its time.
_SHORT_CHARS = 2
_ROWS = f"""
    SELECT m.id, m.role, m.dialect, m.body FROM messages m NOT INDEXED
    WHERE m.id > :above AND m.id <= :last AND {ROW_CONDITIONS} ORDER BY m.id DESC
"""  # noqa: S608 - constants only
_NEWEST_ID = "SELECT max(id) FROM messages WHERE id <= ?"


class _StoredMessage(NamedTuple):
    """A message as it is stored."""

    id: int
    role: str
    dialect: str
    body: str

    def read(self) -> Document | None:
        """Return it for the ranking; nothing where it is too long, or damaged."""
        if len(self.body) > _LONGEST_CHARS:
            return None
        try:
            return Document(tuple(stored_texts(self.dialect, self.body)), self.role)
        except DamagedRow:
            return None


def find_recent(
    connection: sqlite3.Connection,
    deadline: Deadline,
    query: Query,
    conditions: SearchConditions,
    *,
    enough: int,
) -> list[int] | None:
    """Return the ids of those of the newest messages that have every word, the newest first.

    `None` where that are fewer than `enough`, where not all can be read, and where the index does better.
    """
    if query.tree is None or not _has_prefix(query):
        return None
    ids: list[int] = []
    chars = _TRIED_CHARS
    for each in _newest(connection, deadline, conditions):
        document = each.read()
        chars -= len(each.body)
        if document is None or chars < 0:
            return None
        if matches(query.tree, words_in(document.texts)):
            ids.append(each.id)
            if len(ids) >= enough:
                return ids
    return None


def rank_recent(
    connection: sqlite3.Connection,
    deadline: Deadline,
    query: Query,
    conditions: SearchConditions,
    *,
    enough: int,
) -> list[int] | None:
    """Return the ids of the best of the newest messages, for a prefix that begins too many words."""
    if not _has_prefix(query, _SHORT_CHARS):
        return None
    read: list[tuple[int, Document]] = []
    chars = _RANKED_CHARS
    for each in _newest(connection, deadline, conditions):
        document = each.read()
        chars -= len(each.body)
        if document is None:
            return None
        read.append((each.id, document))
        if chars < 0:
            break
    read.reverse()
    index = SearchIndex(document for _, document in read)
    ids = [read[found.number][0] for found in index.search(query, enough)]
    return ids if len(ids) >= enough else None


def _newest(
    connection: sqlite3.Connection, deadline: Deadline, conditions: SearchConditions
) -> Iterator[_StoredMessage]:
    """Yield the newest messages; none where there are not many more than that."""
    (newest,) = connection.execute(_NEWEST_ID, (conditions.last,)).fetchone()
    above = (newest or 0) - _LOOKED_AT
    if above > conditions.first:
        values = conditions.values | {"above": above}
        yield from rows_in_time(connection, deadline, _StoredMessage, _ROWS, values)


def _has_prefix(query: Query, longest: int = 1 << 30) -> bool:
    """Whether the index takes long: for a prefix, and to compare what matches, for a short one."""
    return any(key.is_prefix and len(key.term) <= longest for key in query.keys)
