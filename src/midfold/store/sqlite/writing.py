"""What appending and reading a session come down to, once the session is found."""

import sqlite3

from midfold.store.base import StoredMessage
from midfold.store.preparing import Prepared
from midfold.store.sqlite import indexing
from midfold.store.sqlite.messages import Ref, insert_rows, read_records, read_refs
from midfold.store.sqlite.pruning import check_quota
from midfold.store.sqlite.sessions import check_count, find_open, find_place

# Enough for the index to be written with them; what comes in small pieces is indexed later, together.
_MANY = 64


def append(
    connection: sqlite3.Connection,
    tenant: str,
    session_id: str,
    prepared: Prepared,
    quota: int | None,
    now: float,
    expected_count: int | None = None,
) -> int:
    """Add rows to a session that is open, or raise `SessionEnded` with the one that goes on.

    Raises `SessionGrew` where it has not as many messages as are expected.
    """
    place = find_open(connection, tenant, session_id)
    check_count(place, expected_count)
    if prepared.dialect and place.dialect is None:
        connection.execute("UPDATE sessions SET dialect = ? WHERE key = ?", (prepared.dialect, place.key))
    first = insert_rows(connection, tenant, place, prepared.rows, now)
    if len(prepared.rows) >= _MANY:
        indexing.catch_up(connection)
    check_quota(connection, tenant, quota)
    return first


def read_view(
    connection: sqlite3.Connection, tenant: str, session_id: str, start: int, stop: int | None
) -> list[StoredMessage]:
    """Return what a session says."""
    place = find_place(connection, tenant, session_id)
    return list(read_records(connection, tenant, place, start, stop))


def read_places(connection: sqlite3.Connection, tenant: str, session_id: str) -> list[Ref]:
    """Return where the messages of a session are, and their digests."""
    return read_refs(connection, tenant, find_place(connection, tenant, session_id))
