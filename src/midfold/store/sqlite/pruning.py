"""Keeping a store from growing for ever: by age, by size, and by a quota that says no."""

import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from midfold.errors import StoreFull
from midfold.store.base import Deleted
from midfold.store.sqlite.database import Database
from midfold.store.sqlite.deleting import delete_found


@dataclass(frozen=True, slots=True)
class _Family:
    """A conversation with its branches and sub-agents: they go together or not at all."""

    keys: tuple[int, ...]
    ids: tuple[str, ...]
    last_used: float
    size: int
    messages: int


def prune(
    database: Database, tenant: str, *, older_than: float | None, keep_bytes: int | None, dry_run: bool
) -> Deleted:
    """Delete what nobody touched since `older_than`, then the oldest until at most `keep_bytes` are left."""

    def choose(connection: sqlite3.Connection) -> list[_Family]:
        return _choose(list(_families(connection, tenant)), older_than, keep_bytes)

    if dry_run:
        doomed = database.read(choose)
        ids = tuple(each for family in doomed for each in family.ids)
        return Deleted(ids, sum(family.messages for family in doomed))
    return delete_found(
        database, tenant, lambda connection: [key for family in choose(connection) for key in family.keys]
    )


def _choose(families: Sequence[_Family], older_than: float | None, keep_bytes: int | None) -> list[_Family]:
    """Return the conversations that have to go, the oldest first."""
    left = sorted(families, key=lambda family: family.last_used)
    doomed = [family for family in left if older_than is not None and family.last_used < older_than]
    left = left[len(doomed) :]
    size = sum(family.size for family in left)
    while keep_bytes is not None and left and size > keep_bytes:
        size -= left[0].size
        doomed.append(left.pop(0))
    return doomed


def check_quota(connection: sqlite3.Connection, tenant: str, quota: int | None) -> None:
    """Raise `StoreFull` when a tenant keeps more than its quota."""
    if quota is None:
        return
    row = connection.execute("SELECT bytes FROM tenants WHERE tenant = ?", (tenant,)).fetchone()
    if row is not None and row[0] > quota:
        raise StoreFull("the session store", quota)


def _families(connection: sqlite3.Connection, tenant: str) -> Iterator[_Family]:
    rows = connection.execute(
        "SELECT s.key, s.id, s.parent, s.started_at, coalesce(sum(length(m.body)), 0), max(m.created_at),"
        " count(m.id) FROM sessions s LEFT JOIN messages m ON m.tenant = s.tenant AND m.session = s.key"
        " WHERE s.tenant = ? GROUP BY s.key ORDER BY s.key",
        (tenant,),
    ).fetchall()
    heads: dict[int, int] = {}
    members: dict[int, list[tuple[int, str, float, int, int]]] = {}
    for key, session_id, parent, started_at, size, newest, count in rows:
        head = heads[key] = heads.get(parent, key)
        member = (key, session_id, max(started_at, newest or 0.0), size, count)
        members.setdefault(head, []).append(member)
    for found in members.values():
        keys, ids, used, sizes, counts = zip(*found, strict=True)
        yield _Family(keys, ids, max(used), sum(sizes), sum(counts))
