"""The index follows the messages: a batch of them costs a fraction of what each costs alone.

What is not in the index yet are the messages behind the last one that is. They are indexed when the writer
has nothing else to do, with every large append, and before anybody searches: a search always finds all.
"""

import sqlite3

from midfold.faults import faultpoint
from midfold.store.codec import read_body
from midfold.store.rows import words_of
from midfold.store.search import maintain

MAX_TOGETHER = 500
"""Messages indexed in one transaction: others wait for it."""

_WAITING = "FROM messages WHERE id > (SELECT coalesce(max(id), 0) FROM message_words_docsize)"


def is_behind(connection: sqlite3.Connection) -> bool:
    """Whether there are messages that are not in the index yet."""
    (found,) = connection.execute(f"SELECT EXISTS (SELECT 1 {_WAITING})").fetchone()
    return bool(found)


def catch_up(connection: sqlite3.Connection, limit: int = MAX_TOGETHER) -> int:
    """Index the oldest messages that wait, in the caller's transaction; return how many these were."""
    rows = connection.execute(
        f"SELECT id, dialect, body {_WAITING} ORDER BY id LIMIT ?",
        (limit,),
    ).fetchall()
    for rowid, dialect, body in rows:
        maintain.add(connection, rowid, words_of(read_body(dialect, body)))
    if rows:
        faultpoint("store.index.after")
    return len(rows)


def remove(connection: sqlite3.Connection, tenant: str, session: int) -> int:
    """Take the messages of a session out of the index; return how many messages it has."""
    (last,) = connection.execute("SELECT coalesce(max(id), 0) FROM message_words_docsize").fetchone()
    rows = connection.execute(
        "SELECT id, dialect, body FROM messages WHERE tenant = ? AND session = ?", (tenant, session)
    ).fetchall()
    for rowid, dialect, body in rows:
        if rowid <= last:
            maintain.remove(connection, rowid, words_of(read_body(dialect, body)))
    return len(rows)
