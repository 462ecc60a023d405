"""A small store to search in, on each SQLite that may be the one in use."""

import json
import sqlite3

import pytest

from midfold.search import index_terms, read_query
from midfold.store.sqlite import index
from midfold.store.sqlite.driver import driver
from midfold.store.sqlite.migrations import load_migrations
from midfold.store.sqlite.search.find import MessageFilters, find, scan
from midfold.store.values import Order

DRIVERS = {module.sqlite_version: module for module in (sqlite3, driver)}


class Shelf:
    """Messages that can be searched for, each with some texts."""

    def __init__(self, connection):
        self.connection = connection
        for migration in load_migrations():
            for statement in migration.statements:
                connection.execute(statement)
        index.mark_current(connection)

    def say(self, *texts, tenant="", session="one", conversation=None, **columns):
        """Write a message, and return its id."""
        key = self._session(tenant, session, conversation or session)
        (seq,) = self.connection.execute(
            "SELECT coalesce(max(seq), -1) + 1 FROM messages WHERE tenant = ? AND session = ?", (tenant, key)
        ).fetchone()
        row = {"origin": "said", "role": "user", "tools": "", "created_at": 0.0} | columns
        rowid = self.connection.execute(
            "INSERT INTO messages (tenant, session, seq, origin, role, tools, dialect, body, is_redacted,"
            " is_exact, digest, created_at) VALUES (?, ?, ?, ?, ?, ?, 'openai_chat', ?, 0, 1, x'', ?)",
            (
                tenant,
                key,
                seq,
                row["origin"],
                row["role"],
                row["tools"],
                json.dumps({"role": "user", "content": [{"type": "text", "text": text} for text in texts]}),
                row["created_at"],
            ),
        ).lastrowid
        index.add(self.connection, rowid, index_terms(texts))
        return rowid

    def find(self, text, *, tenant="", order=Order.NEWEST, limit=20, offset=0, **filters):
        """Return the ids of what is found."""
        found = find(
            self.connection,
            read_query(text),
            MessageFilters(tenant, **filters),
            order=order,
            limit=limit,
            offset=offset,
        )
        return [row.id for row in found.rows]

    def scan(self, substring, *, tenant="", session="one", **options):
        return scan(self.connection, tenant, session, substring, **options)

    def _session(self, tenant, session, conversation):
        self.connection.execute(
            "INSERT OR IGNORE INTO sessions (tenant, id, conversation, kind, source, started_at)"
            " VALUES (?, ?, ?, 'root', 'test', 0)",
            (tenant, session, conversation),
        )
        found = self.connection.execute(
            "SELECT key FROM sessions WHERE tenant = ? AND id = ?", (tenant, session)
        )
        return found.fetchone()[0]


@pytest.fixture(params=DRIVERS)
def shelf(request):
    """An empty store in memory."""
    connection = DRIVERS[request.param].connect(":memory:", isolation_level=None)
    yield Shelf(connection)
    connection.close()
