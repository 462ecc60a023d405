"""The messages of a store as the ranking sees them: asked of the index, and read some dozens at a time."""

import json
import sqlite3
from collections.abc import Collection, Mapping, Sequence

from midfold.documents import read_document
from midfold.late_dataclasses import replace
from midfold.search import Document, Key, Origin
from midfold.store.codec import DamagedRow, read_body
from midfold.store.rows import SUMMARY
from midfold.store.sqlite.search.conditions import LAST_ID, ROW_CONDITIONS, SearchConditions, match_keys
from midfold.store.sqlite.search.deadline import Deadline, time_limit
from midfold.store.sqlite.search.found import COLUMNS, FoundMessage

_FETCHED = 100
_TOTAL = "SELECT coalesce(max(id), 0) FROM message_words_docsize"
_IDS = """
    SELECT id FROM messages WHERE tenant = :tenant AND session IN (SELECT value FROM json_each(:sessions))
"""
_MOST_IDS = 20_000
"""Messages of a conversation that are known by their ids; of a longer one each match is looked at."""
_IN_ALL = """
    SELECT rowid FROM message_words WHERE message_words MATCH :match
    AND rowid BETWEEN :first AND :last ORDER BY rowid DESC LIMIT :limit
"""
_IN_SOME = f"""
    SELECT m.id FROM message_words CROSS JOIN messages m ON m.id = message_words.rowid
    WHERE message_words MATCH :match AND message_words.rowid BETWEEN :first AND :last AND {ROW_CONDITIONS}
    ORDER BY message_words.rowid DESC LIMIT :limit
"""  # noqa: S608 - constants only
_SIZES = "SELECT d.id, d.sz FROM json_each(:ids) e CROSS JOIN message_words_docsize d ON d.id = e.value"
_NEAR = """
    SELECT m.id,
        (SELECT p.id FROM messages p WHERE p.tenant = m.tenant AND p.session = m.session
            AND p.seq = m.seq - 1),
        (SELECT n.id FROM messages n WHERE n.tenant = m.tenant AND n.session = m.session
            AND n.seq = m.seq + 1)
    FROM json_each(:ids) e CROSS JOIN messages m ON m.id = e.value
"""
_READ = f"""
    SELECT {COLUMNS} FROM json_each(:ids) e CROSS JOIN messages m ON m.id = e.value
    CROSS JOIN sessions s ON s.key = m.session WHERE {ROW_CONDITIONS}
"""  # noqa: S608 - constants only


class StoredMessages:
    """See `midfold.search.Collected`; the deadline is for asking the index, reading is bounded anyway."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        conditions: SearchConditions,
        deadline: Deadline,
        *,
        shared: bool,
    ) -> None:
        self._connection = connection
        self._values = conditions.values
        self._deadline = deadline
        is_part = conditions.count is not None
        self.total = _count_all(connection) if conditions.count is None else conditions.count
        self._ids: frozenset[int] | None = None
        by_rows = conditions.are_narrow or (shared and not is_part)
        if is_part and not by_rows and not conditions.stand_alone:
            by_rows = self.total > _MOST_IDS
            if not by_rows:
                self._ids = frozenset(number for (number,) in connection.execute(_IDS, self._values))
        self._statement = _IN_SOME if by_rows else _IN_ALL

    def find(self, keys: Sequence[Key], most: int) -> Sequence[int]:
        """Return the messages that have all of these terms, the newest first."""
        return self.find_match(match_keys(keys), most)

    def find_match(self, match: str, most: int) -> list[int]:
        """Return the messages that the index gives for an expression, the newest first."""
        ids = self._ids
        values = self._values | {"match": match, "limit": most if ids is None else LAST_ID}
        found: list[int] = []
        with time_limit(self._connection, self._deadline):
            try:
                rows = self._connection.execute(self._statement, values)
                while len(found) < most and (some := rows.fetchmany(_FETCHED)):
                    found += [number for (number,) in some if ids is None or number in ids]
            except self._connection.OperationalError:
                if not self._deadline.is_over:
                    raise
        return found[:most]

    def lengths(self, numbers: Collection[int]) -> Mapping[int, int]:
        """Return of how many terms messages are made."""
        rows = self._connection.execute(_SIZES, {"ids": json.dumps(list(numbers))})
        return {number: _read_size(size) for number, size in rows}

    def neighbours(self, numbers: Collection[int]) -> Mapping[int, tuple[int | None, int | None]]:
        """Return what was said right before and right after messages of the same session."""
        rows = self._connection.execute(_NEAR, {"ids": json.dumps(list(numbers))})
        return {number: (before, after) for number, before, after in rows}

    def read(self, numbers: Collection[int]) -> Mapping[int, Document]:
        """Read messages; what the conditions leave out is not among them."""
        rows = self._connection.execute(_READ, self._values | {"ids": json.dumps(list(numbers))})
        return {row.id: _to_document(row) for row in (FoundMessage(*columns) for columns in rows)}


def _count_all(connection: sqlite3.Connection) -> int:
    (found,) = connection.execute(_TOTAL).fetchone()
    return int(found)


def _to_document(row: FoundMessage) -> Document:
    """Read a message for the ranking; one that is damaged has no texts."""
    try:
        message = read_body(row.dialect, row.body) if row.is_sound else None
    except DamagedRow:
        message = None
    if message is None:
        return Document((), row.role, row.kind)
    origin = Origin.SUMMARY if row.origin == SUMMARY else None
    read = read_document(message, row.tools.split(), origin=origin)
    known = read.identity or row.digest
    return replace(read, identity=(row.conversation_id, known) if known else None)


def _read_size(size: bytes) -> int:
    """Read the number that the index keeps for a message: seven bits in each byte, the highest first."""
    number = 0
    for byte in size:
        number = number << 7 | byte & 0x7F
        if byte < 0x80:
            break
    return number
