"""Messages in SQLite: writing them in order, and reading what a session says."""

import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from midfold.faults import faultpoint
from midfold.store.base import StoredMessage
from midfold.store.rows import SAID, Row
from midfold.store.search import maintain
from midfold.store.sqlite.sessions import Place
from midfold.transcripts import decode_json

# From here on a session has no messages of its own.
_NO_OWN = 1 << 60
# The ranges a session took over, in order, and behind them its own messages.
_VIEW = """
    WITH pieces (position, source, start, stop) AS (
        SELECT position, source, start, stop FROM ranges WHERE tenant = ?1 AND session = ?2
        UNION ALL
        SELECT 1 << 60, ?2, ?3, 1 << 60
    )
    SELECT {columns} FROM pieces
    CROSS JOIN messages m
        ON m.tenant = ?1 AND m.session = pieces.source AND m.seq >= pieces.start AND m.seq < pieces.stop
    {join} ORDER BY pieces.position, m.seq LIMIT ?4 OFFSET ?5
"""
_RECORD = (
    "s.id, m.seq, m.origin, m.role, m.body, m.tools, m.tokens, m.finish_reason, m.is_redacted, m.created_at"
)
_REFS = _VIEW.format(columns="m.session, m.seq, m.digest", join="")
_RECORDS = _VIEW.format(columns=_RECORD, join="JOIN sessions s ON s.key = m.session")


@dataclass(frozen=True, slots=True)
class Ref:
    """A message of a view: where it is written, and the digest of what it said."""

    source: int
    seq: int
    digest: bytes


@dataclass(frozen=True, slots=True)
class Range:
    """messages[start:stop] of the session `source`"""

    source: int
    start: int
    stop: int


def insert_rows(
    connection: sqlite3.Connection, tenant: str, place: Place, rows: Sequence[Row], now: float
) -> int:
    """Add rows to a session and to the index; return the number of the first."""
    link = place.last_chain
    for seq, row in enumerate(rows, place.next_seq):
        if row.origin == SAID and row.spelled:
            link = sha256(link + row.spelled).digest()
        cursor = connection.execute(
            "INSERT INTO messages (tenant, session, seq, origin, role, tools, dialect, body, tokens,"
            " finish_reason, is_redacted, is_exact, digest, chain, created_at)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                tenant,
                place.key,
                seq,
                row.origin,
                row.role,
                row.tools,
                row.dialect,
                row.body,
                row.tokens,
                row.finish_reason,
                int(row.is_redacted),
                int(row.is_exact),
                row.digest,
                link if row.origin == SAID else None,
                now,
            ),
        )
        maintain.add(connection, cursor.lastrowid or 0, row.words)
        faultpoint("store.message.after")
    connection.execute(
        "UPDATE sessions SET next_seq = ?, last_chain = ? WHERE key = ?",
        (place.next_seq + len(rows), link, place.key),
    )
    add_bytes(connection, tenant, sum(len(row.body) for row in rows))
    return place.next_seq


def add_bytes(connection: sqlite3.Connection, tenant: str, count: int) -> None:
    """Keep the account of how much a tenant stores; a body counts by its characters."""
    connection.execute(
        "INSERT INTO tenants (tenant, bytes) VALUES (?, ?)"
        " ON CONFLICT (tenant) DO UPDATE SET bytes = bytes + excluded.bytes",
        (tenant, count),
    )


def insert_ranges(
    connection: sqlite3.Connection, tenant: str, session: int, ranges: Sequence[Range], own_from: int
) -> None:
    """Say what a session begins with; its own messages follow from `own_from` on."""
    connection.executemany(
        "INSERT INTO ranges (tenant, session, position, source, start, stop) VALUES (?, ?, ?, ?, ?, ?)",
        (
            (tenant, session, position, each.source, each.start, each.stop)
            for position, each in enumerate(ranges)
        ),
    )
    connection.execute("UPDATE sessions SET own_from = ? WHERE key = ?", (own_from, session))


def read_refs(connection: sqlite3.Connection, tenant: str, place: Place) -> list[Ref]:
    """Return where the messages of a session are written, in the order in which it says them."""
    rows = connection.execute(_REFS, (tenant, place.key, place.own_from, -1, 0))
    return [Ref(*row) for row in rows]


def read_records(
    connection: sqlite3.Connection, tenant: str, place: Place, start: int = 0, stop: int | None = None
) -> Iterator[StoredMessage]:
    """Yield what a session says, from message `start` up to `stop`."""
    limit = -1 if stop is None else max(0, stop - start)
    for row in connection.execute(_RECORDS, (tenant, place.key, place.own_from, limit, start)):
        yield _record(row)


def read_history(connection: sqlite3.Connection, tenant: str, conversation: str) -> list[StoredMessage]:
    """Return everything that was said in a conversation, folded or not, in the order in which it was said.

    A branch begins with what its parent said.
    """
    first, own_from = connection.execute(
        "SELECT key, own_from FROM sessions WHERE tenant = ? AND conversation = ? ORDER BY key LIMIT 1",
        (tenant, conversation),
    ).fetchone()
    rows = connection.execute(_RECORDS, (tenant, first, _NO_OWN, -1, 0)).fetchall() if own_from == 0 else []
    rows += connection.execute(
        f"SELECT {_RECORD} FROM sessions s JOIN messages m ON m.tenant = s.tenant AND m.session = s.key"  # noqa: S608
        " WHERE s.tenant = ? AND s.conversation = ? AND m.origin = 'said' ORDER BY m.id",
        (tenant, conversation),
    ).fetchall()
    return [_record(row) for row in rows]


def _record(row: tuple[Any, ...]) -> StoredMessage:
    session_id, seq, origin, role, body, tools, tokens, finish_reason, is_redacted, created_at = row
    return StoredMessage(
        session_id=session_id,
        seq=seq,
        origin=origin,
        role=role,
        item=decode_json(body),
        tools=tuple(tools.split()),
        tokens=tokens,
        finish_reason=finish_reason,
        is_redacted=bool(is_redacted),
        created_at=created_at,
    )


def join_refs(refs: Sequence[Ref]) -> list[Range]:
    """Say a list of places as few ranges."""
    ranges: list[Range] = []
    for ref in refs:
        last = ranges[-1] if ranges else None
        if last and last.source == ref.source and last.stop == ref.seq:
            ranges[-1] = Range(last.source, last.start, ref.seq + 1)
        else:
            ranges.append(Range(ref.source, ref.seq, ref.seq + 1))
    return ranges
