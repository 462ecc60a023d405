"""What a store file says about itself, read beside whoever else uses it."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from sqlite3 import Connection

from midfold.store.seals import LOST_SEAL
from midfold.store.sqlite.access import read_key
from midfold.store.sqlite.driver import open_reader, translated

_ID_CHARS = 32


@dataclass(frozen=True, slots=True)
class StoreFacts:
    """`sessions` are all sessions of all tenants, each as tenant and id."""

    store_id: str
    """what tells this store from others, wherever its file is moved"""
    schema: int
    sessions: frozenset[tuple[str, str]]
    messages: int
    lost: int
    """messages in whose places a rescue put marks"""
    stale_leases: int
    """leases that ran out without being given back"""


def read_facts(path: Path, now: float) -> StoreFacts:
    """Read what is in a store file; raises `StoreError`s for one that cannot be read."""
    with _reading(path) as connection:
        store_id = _store_id(connection)
        (schema,) = connection.execute("PRAGMA user_version").fetchone()
        (messages,) = connection.execute("SELECT count(*) FROM messages").fetchone()
        (lost,) = connection.execute("SELECT count(*) FROM messages WHERE seal = ?", (LOST_SEAL,)).fetchone()
        (leases,) = connection.execute(
            "SELECT count(*) FROM leases WHERE holder IS NOT NULL AND expires_at < ?", (now,)
        ).fetchone()
        sessions = frozenset(connection.execute("SELECT tenant, id FROM sessions").fetchall())
    return StoreFacts(store_id, schema, sessions, messages, lost, leases)


def read_store_id(path: Path) -> str:
    """Return what tells a store from others; raises `StoreError`s for a file that cannot be read."""
    with _reading(path) as connection:
        return _store_id(connection)


def find_in_bodies(path: Path, words: str, pattern: re.Pattern[str]) -> set[str]:
    """Return what `pattern` finds in the stored messages that hold `words`."""
    with _reading(path) as connection:
        rows = connection.execute("SELECT body FROM messages WHERE instr(body, ?) > 0", (words,))
        return {found for (body,) in rows for found in pattern.findall(body)}


def _store_id(connection: Connection) -> str:
    # Every store has a key of its own, which must not be told to anybody.
    return sha256(b"store\0" + read_key(connection)).hexdigest()[:_ID_CHARS]


@contextmanager
def _reading(path: Path) -> Iterator[Connection]:
    connection = open_reader(path)
    try:
        with translated(path):
            yield connection
    finally:
        connection.close()
