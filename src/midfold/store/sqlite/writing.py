"""What appending and reading a session come down to, once the session is found."""

import sqlite3

from midfold.errors import SessionGrew
from midfold.store.base import Lease, StoredMessage
from midfold.store.continuing import Continuation
from midfold.store.preparing import Prepared
from midfold.store.sqlite import indexing, lineage
from midfold.store.sqlite.messages import Ref, insert_rows, read_history, read_records, read_refs
from midfold.store.sqlite.pruning import check_quota
from midfold.store.sqlite.sessions import Place, find_open, find_place

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
    _check_count(place, expected_count)
    if prepared.dialect and place.dialect is None:
        connection.execute("UPDATE sessions SET dialect = ? WHERE key = ?", (prepared.dialect, place.key))
    first = insert_rows(connection, tenant, place, prepared.rows, now)
    if len(prepared.rows) >= _MANY:
        indexing.catch_up(connection)
    check_quota(connection, tenant, quota)
    return first


def continue_session(
    connection: sqlite3.Connection,
    tenant: str,
    session_id: str,
    plan: Continuation,
    lease: Lease | None,
    now: float,
    expected_count: int | None = None,
) -> None:
    """End a session with a fold and open its continuation; raises `SessionGrew` as `append` does."""
    _check_count(find_place(connection, tenant, session_id), expected_count)
    lineage.continue_session(connection, tenant, session_id, plan, lease, now)


def read_view(
    connection: sqlite3.Connection, tenant: str, session_id: str, start: int, stop: int | None
) -> list[StoredMessage]:
    """Return what a session says."""
    place = find_place(connection, tenant, session_id)
    return list(read_records(connection, tenant, place, start, stop))


def read_said(connection: sqlite3.Connection, tenant: str, session_id: str) -> list[StoredMessage]:
    """Return all that was said in the conversation of a session."""
    return read_history(connection, tenant, find_place(connection, tenant, session_id).conversation)


def read_places(connection: sqlite3.Connection, tenant: str, session_id: str) -> list[Ref]:
    """Return where the messages of a session are, and their digests."""
    return read_refs(connection, tenant, find_place(connection, tenant, session_id))


def _check_count(place: Place, expected_count: int | None) -> None:
    count = place.next_seq - place.own_from
    if expected_count is not None and count != expected_count:
        raise SessionGrew(place.id, count)
