"""What appending and reading a session come down to, once the session is found."""

import sqlite3
from dataclasses import replace
from functools import partial

from midfold.errors import MessagesDamaged, StoreCorrupt
from midfold.store.base import Condition, Item, SearchResults, StoredMessage, check_sound
from midfold.store.preparing import Prepared
from midfold.store.sqlite import indexing, lineage, reading, searching
from midfold.store.sqlite.database import Database
from midfold.store.sqlite.messages import Ref, insert_rows, read_refs
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


def check_end(connection: sqlite3.Connection, tenant: str, session_id: str) -> None:
    """Raise `MessagesDamaged` where a session cannot go on, since its newest message is damaged or missing.

    What comes next is chained to it. Damage further up is in nobody's way.
    """
    place = find_place(connection, tenant, session_id)
    if place.next_seq == place.own_from:
        return
    last = reading.read_last(connection, tenant, place)
    if last is None or last.condition is Condition.DAMAGED:
        raise MessagesDamaged(session_id, [place.next_seq - 1])


def read_items(database: Database, tenant: str, session_id: str) -> list[Item]:
    """Return what a session says. Raises `MessagesDamaged`."""
    records = read_view(database, tenant, session_id)
    check_sound(session_id, records)
    return [record.item for record in records]


def read_view(
    database: Database, tenant: str, session_id: str, start: int = 0, stop: int | None = None
) -> list[StoredMessage]:
    """Return what a session says, with marks for what is damaged."""
    try:
        return database.read(lambda each: reading.read_records(each, tenant, session_id, start, stop))
    except StoreCorrupt as damage:
        return database.read_damaged(
            lambda each: reading.read_damaged_records(each, tenant, session_id, start, stop), damage
        )


def read_history(database: Database, tenant: str, session_id: str) -> list[StoredMessage]:
    """Return all that was said in the conversation of a session, with marks for what is damaged."""
    history = partial(lineage.read_history, tenant=tenant, session_id=session_id)
    try:
        return database.read(partial(history, read=reading.read_history))
    except StoreCorrupt as damage:
        return database.read_damaged(partial(history, read=reading.read_damaged_history), damage)


def count_history(database: Database, tenant: str, session_id: str) -> int:
    """Return how many messages `read_history` has."""
    try:
        return database.read(lambda each: lineage.count_history(each, tenant, session_id))
    except StoreCorrupt:
        return len(read_history(database, tenant, session_id))


def search(database: Database, tenant: str, wanted: searching.SearchRequest) -> SearchResults:
    """Search all sessions, or the chain of one; where pages are damaged, in what can still be read."""
    is_whole = database.index_all()
    try:
        found = database.read(lambda each: searching.search(each, tenant, wanted))
    except StoreCorrupt as damage:
        return database.read_damaged(lambda each: searching.search_damaged(each, tenant, wanted), damage)
    return found if is_whole else replace(found, is_incomplete=True)


def read_places(connection: sqlite3.Connection, tenant: str, session_id: str) -> list[Ref]:
    """Return where the messages of a session are, and their digests."""
    return read_refs(connection, tenant, find_place(connection, tenant, session_id))
