"""Keeping a store in order: deleting conversations, pruning by age and size, checking and closing it.

Rows, index and everything that hangs on a conversation are deleted in one transaction.
"""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence

from midfold.errors import StoreError
from midfold.faults import faultpoint
from midfold.late_dataclasses import dataclass
from midfold.store.sqlite import index
from midfold.store.sqlite.figures import delete_orphaned_figures
from midfold.store.sqlite.message_rows import add_bytes
from midfold.store.sqlite.progress_mark import count_deletion
from midfold.store.sqlite.session_rows import find_session
from midfold.store.sqlite.states import delete_orphaned_states
from midfold.store.sqlite.tenant import TenantStore
from midfold.store.values import Deleted, Problem, StoreStatus


class SqliteUpkeep(TenantStore):
    """See `midfold.store.base.Upkeep`."""

    @property
    def status(self) -> StoreStatus:
        """Say how the store is doing."""
        return self._database.status

    def delete(self, session_id: str, *, branches: bool = False) -> Deleted:
        """Delete a conversation: every session of its chain, their index and their sub-agents."""
        self._cache = {}

        def find(connection: sqlite3.Connection) -> set[int]:
            conversation = find_session(connection, self._tenant, session_id).conversation
            return _collect(connection, self._tenant, conversation, branches=branches)

        return self._delete_found(find)

    def prune(
        self, *, older_than: float | None = None, keep_bytes: int | None = None, dry_run: bool = False
    ) -> Deleted:
        """Delete conversations untouched since `older_than`, then the oldest down to `keep_bytes`."""
        self._cache = {}

        def choose(connection: sqlite3.Connection) -> list[_Family]:
            return _choose(list(_families(connection, self._tenant)), older_than, keep_bytes)

        if dry_run:
            doomed = self._database.read(choose)
            ids = tuple(each for family in doomed for each in family.ids)
            return Deleted(ids, sum(family.messages for family in doomed))
        return self._delete_found(lambda each: [key for family in choose(each) for key in family.keys])

    def _delete_found(self, find: Callable[[sqlite3.Connection], Iterable[int]]) -> Deleted:
        """Delete the sessions that `find` finds. It is asked twice: what counts is what it finds at last.

        Most of the work is in the index. A large part of it is done before, see `Database.delete`.
        """
        tenant = self._tenant
        return self._database.delete(
            lambda connection: [
                rowid for key in find(connection) for rowid in index.find_indexed(connection, tenant, key)
            ],
            lambda connection: _delete_sessions(connection, tenant, find(connection)),
        )

    def check(self, *, deep: bool = True) -> list[Problem]:
        """Look for damage, in the file of all tenants. Damage that writing could spread ends all writing."""
        return self._database.check(deep=deep)

    def rebuild_index(self) -> int:
        """Make the search index anew from the messages; return how many there are."""
        return self._database.write(index.rebuild)

    def forget_loss(self) -> None:
        """Put away the warning that commits are missing from the log."""
        self._database.forget_loss()

    def close(self) -> None:
        """Finish what is waiting and let go of the file; for every tenant."""
        self._database.close()


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
        is_index_known &= index.remove_messages(connection, index.find_indexed(connection, tenant, key))
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
    delete_orphaned_states(connection, tenant, conversations)
    delete_orphaned_figures(connection, tenant, conversations)
    index.close_holes(connection)
    count_deletion(connection)
    if not is_index_known:
        index.rebuild(connection)
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


@dataclass(frozen=True, slots=True)
class _Family:
    """A conversation with its branches and sub-agents: they go together or not at all."""

    keys: tuple[int, ...]
    ids: tuple[str, ...]
    last_used: float
    size: int
    messages: int


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


def _families(connection: sqlite3.Connection, tenant: str) -> Iterator[_Family]:
    rows = connection.execute(
        # What was imported, or remembered about a conversation, was in somebody's hands then.
        "SELECT s.key, s.id, s.parent, s.started_at, coalesce(sum(length(m.body)), 0),"
        " max(coalesce(max(m.created_at), 0.0), coalesce((SELECT max(t.updated_at) FROM states t"
        " WHERE t.tenant = s.tenant AND t.conversation = s.conversation), 0.0)),"
        " count(m.id) FROM sessions s LEFT JOIN messages m ON m.tenant = s.tenant AND m.session = s.key"
        " WHERE s.tenant = ? GROUP BY s.key ORDER BY s.key",
        (tenant,),
    ).fetchall()
    heads: dict[int, int] = {}
    members: dict[int, list[tuple[int, str, float, int, int]]] = {}
    for key, session_id, parent, started_at, size, newest, count in rows:
        head = heads[key] = heads.get(parent, key)
        member = (key, session_id, max(started_at, newest), size, count)
        members.setdefault(head, []).append(member)
    for found in members.values():
        keys, ids, used, sizes, counts = zip(*found, strict=True)
        yield _Family(keys, ids, max(used), sum(sizes), sum(counts))
