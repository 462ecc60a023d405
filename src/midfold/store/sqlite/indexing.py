"""The index follows the messages: a batch of them costs a fraction of what each costs alone.

What is not in the index yet are the messages behind the last one that is. They are indexed when the writer
has nothing else to do, along with large appends, and before anybody searches: a search always finds all.
Words of messages that are deleted go first, a part at a time; where that was cut off, they are put back.
"""

import sqlite3
import time
from collections.abc import Iterable, Sequence

from midfold.faults import faultpoint
from midfold.store.codec import DamagedRow, read_body
from midfold.store.rows import words_of
from midfold.store.sqlite.driver import any_text
from midfold.store.sqlite.seals import LOST_SEAL, SEALED, is_sealed
from midfold.store.sqlite.search import maintain

# What is indexed in one transaction, since others wait for it: some ten milliseconds of work.
MAX_MESSAGES = 500
_MAX_CHARS = 1 << 18
# Whoever takes words out for longer than this without another part is gone.
_HOLE_SECONDS = 60.0

_INDEXED = f"SELECT {SEALED} FROM messages m JOIN message_words_docsize USING (id) WHERE m.id = ?"  # noqa: S608
_WAITING = "FROM messages WHERE id > (SELECT coalesce(max(id), 0) FROM message_words_docsize)"


def is_behind(connection: sqlite3.Connection) -> bool:
    """Whether there are messages that are not in the index yet."""
    (found,) = connection.execute(f"SELECT EXISTS (SELECT 1 {_WAITING})").fetchone()
    return bool(found)


def tidy(connection: sqlite3.Connection) -> bool:
    """Do a part of what can wait; return whether there may be more."""
    return bool(catch_up(connection)) or _fill_holes(connection) or maintain.purge_some(connection)


def catch_up(connection: sqlite3.Connection) -> int:
    """Index some of the oldest messages that wait, in the caller's transaction; return how many."""
    count = chars = 0
    with any_text(connection):
        rows = connection.execute(f"SELECT id, dialect, body {_WAITING} ORDER BY id LIMIT ?", (MAX_MESSAGES,))
        for rowid, dialect, body in rows:
            maintain.add(connection, rowid, _words(dialect, body))
            count, chars = count + 1, chars + len(body)
            if chars >= _MAX_CHARS:
                break
        rows.close()
    if count:
        faultpoint("store.index.after")
    return count


def find_indexed(connection: sqlite3.Connection, tenant: str, session: int) -> list[int]:
    """Return the messages of a session that are in the index, by their ids."""
    rows = connection.execute(
        "SELECT id FROM messages JOIN message_words_docsize USING (id) WHERE tenant = ? AND session = ?",
        (tenant, session),
    )
    return [rowid for (rowid,) in rows]


def remove(connection: sqlite3.Connection, messages: Iterable[int]) -> bool:
    """Take messages that are about to be deleted out of the index, as far as they are in it.

    Returns false where one is damaged: nobody knows its words any more, and once it is deleted the index has
    to be made anew. Nothing was taken out then.
    """
    words: list[tuple[int, str]] = []
    with any_text(connection):
        for rowid in messages:
            found = connection.execute(_INDEXED, (rowid,)).fetchone()
            if found is None:
                continue
            if found[-1] != LOST_SEAL and not is_sealed(found):
                return False
            words.append((rowid, _words(*found[-3:-1])))
    for rowid, indexed in words:
        maintain.remove(connection, rowid, indexed)
    maintain.want_purge(connection)
    return True


def remove_before(connection: sqlite3.Connection, messages: Sequence[int]) -> None:
    """Take messages out that another transaction deletes; should it never come, they are put back."""
    if remove(connection, messages):
        maintain.note_holes(connection, time.time())
    faultpoint("store.delete.unindexed")


def _words(dialect: object, body: object) -> str:
    """Return what a message is found by: nothing, where it is damaged."""
    try:
        return words_of(read_body(str(dialect), str(body)))
    except DamagedRow:
        return ""


def _fill_holes(connection: sqlite3.Connection) -> bool:
    """Put some of those back that were taken out and not deleted; return whether there may be more."""
    made_at = maintain.find_holes(connection)
    if made_at is None or abs(time.time() - made_at) < _HOLE_SECONDS:
        return False
    rows = connection.execute(
        "SELECT id, dialect, body FROM messages WHERE id <= (SELECT max(id) FROM message_words_docsize)"
        " AND id NOT IN (SELECT id FROM message_words_docsize) LIMIT ?",
        (MAX_MESSAGES,),
    ).fetchall()
    for rowid, dialect, body in rows:
        maintain.add(connection, rowid, _words(dialect, body))
    if not rows:
        maintain.close_holes(connection)
    return bool(rows)
