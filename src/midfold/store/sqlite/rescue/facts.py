"""The facts a store file holds about itself, read while other processes use it."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from sqlite3 import Connection

from midfold.store.sqlite.access import name_store, open_any_reader, read_key
from midfold.store.sqlite.checksums import LOST_CHECKSUM
from midfold.store.sqlite.driver import translated
from midfold.store.values import StoreFacts


def read_facts(path: Path, now: float) -> StoreFacts:
    """Read what is in a store file; raises `StoreError`s for one that cannot be read."""
    with _reading(path) as connection:
        store_id = name_store(read_key(connection))
        (schema,) = connection.execute("PRAGMA user_version").fetchone()
        (messages,) = connection.execute("SELECT count(*) FROM messages").fetchone()
        (lost,) = connection.execute(
            "SELECT count(*) FROM messages WHERE seal = ?", (LOST_CHECKSUM,)
        ).fetchone()
        (leases,) = connection.execute(
            "SELECT count(*) FROM leases WHERE holder IS NOT NULL AND expires_at < ?", (now,)
        ).fetchone()
        sessions = frozenset(connection.execute("SELECT tenant, id FROM sessions").fetchall())
    return StoreFacts(store_id, schema, sessions, messages, lost, leases)


def find_in_bodies(path: Path, words: str, pattern: re.Pattern[str]) -> set[str]:
    """Return what `pattern` finds in the stored messages that hold `words`."""
    with _reading(path) as connection:
        rows = connection.execute("SELECT body FROM messages WHERE instr(body, ?) > 0", (words,))
        return {found for (body,) in rows for found in pattern.findall(body)}


@contextmanager
def _reading(path: Path) -> Iterator[Connection]:
    connection = open_any_reader(path, has_writer=False)
    try:
        with translated(path):
            yield connection
    finally:
        connection.close()
