"""Taking conversations out of SQLite: rows, index and everything that hangs on them, in one transaction.

Most of the work is in the index. A large part of it is done before, see `Database.delete`.
"""

import sqlite3
from collections.abc import Callable, Iterable, Iterator

from midfold.errors import StoreError
from midfold.faults import faultpoint
from midfold.store.base import Deleted
from midfold.store.sqlite import indexing, states
from midfold.store.sqlite.database import Database
from midfold.store.sqlite.marks import count_deletion
from midfold.store.sqlite.messages import add_bytes
from midfold.store.sqlite.search import maintain
from midfold.store.sqlite.searching import read_texts
from midfold.store.sqlite.sessions import find_place


def delete(database: Database, tenant: str, session_id: str, *, branches: bool) -> Deleted:
    """Delete the conversation of a session, with its sub-agents; with `branches`, those too.

    A branch begins with the messages of its parent, so without `branches` one that is left is an error.
    """

    def find_doomed(connection: sqlite3.Connection) -> set[int]:
        conversation = find_place(connection, tenant, session_id).conversation
        return _collect(connection, tenant, conversation, branches=branches)

    return delete_found(database, tenant, find_doomed)


def delete_found(
    database: Database, tenant: str, find: Callable[[sqlite3.Connection], Iterable[int]]
) -> Deleted:
    """Delete the sessions that `find` finds. It is asked twice: what counts is what it finds at last."""
    return database.delete(
        lambda connection: [
            rowid for key in find(connection) for rowid in indexing.find_indexed(connection, tenant, key)
        ],
        lambda connection: _delete_sessions(connection, tenant, find(connection)),
    )


def _delete_sessions(connection: sqlite3.Connection, tenant: str, keys: Iterable[int]) -> Deleted:
    """Delete these sessions; nothing else may read from them. What they said is overwritten."""
    doomed = sorted(keys)
    ids: list[str] = []
    conversations: set[str] = set()
    count = 0
    is_index_known = True
    for key in doomed:
        session_id, conversation = connection.execute(
            "SELECT id, conversation FROM sessions WHERE key = ?", (key,)
        ).fetchone()
        ids.append(session_id)
        conversations.add(conversation)
        is_index_known &= indexing.remove(connection, indexing.find_indexed(connection, tenant, key))
        size, messages = connection.execute(
            "SELECT coalesce(sum(length(body)), 0), count(*) FROM messages WHERE tenant = ? AND session = ?",
            (tenant, key),
        ).fetchone()
        add_bytes(connection, tenant, -size)
        count += messages
        faultpoint("store.delete.unindexed")
    # Newest first: a session may be read from by those that came after it.
    for key in reversed(doomed):
        connection.execute("DELETE FROM sessions WHERE tenant = ? AND key = ?", (tenant, key))
    states.delete_orphans(connection, tenant, conversations)
    maintain.close_holes(connection)
    count_deletion(connection)
    if not is_index_known:
        maintain.rebuild(connection, read_texts)
    faultpoint("store.delete.after")
    return Deleted(tuple(ids), count)


def _collect(connection: sqlite3.Connection, tenant: str, conversation: str, *, branches: bool) -> set[int]:
    doomed: set[int] = set()
    waiting = [conversation]
    while waiting:
        current = waiting.pop()
        keys = connection.execute(
            "SELECT key FROM sessions WHERE tenant = ? AND conversation = ?", (tenant, current)
        ).fetchall()
        doomed.update(key for (key,) in keys)
        for child, kind in _children(connection, tenant, current):
            if kind == "branch" and not branches:
                raise StoreError(
                    f"the session {child} branches from this one; delete it first, or delete branches too"
                )
            waiting.append(child)
    return doomed


def _children(connection: sqlite3.Connection, tenant: str, conversation: str) -> Iterator[tuple[str, str]]:
    yield from connection.execute(
        "SELECT DISTINCT c.conversation, c.kind FROM sessions p JOIN sessions c ON c.parent = p.key"
        " WHERE p.tenant = ?1 AND p.conversation = ?2 AND c.conversation <> ?2 AND c.kind <> 'continuation'",
        (tenant, conversation),
    ).fetchall()
