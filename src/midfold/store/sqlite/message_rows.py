"""Rows of messages in SQLite: appending them to a session, and the ranges that a session took over."""

import sqlite3
from collections.abc import Iterator, Sequence

from midfold.errors import StoreFull
from midfold.faults import faultpoint
from midfold.late_dataclasses import dataclass, replace
from midfold.messages import link, own_digest
from midfold.store.codec import DamagedRow, read_body
from midfold.store.rows import SAID, MessageRow, PreparedRows
from midfold.store.sqlite import index
from midfold.store.sqlite.checksums import CHECKED, checksum
from midfold.store.sqlite.session_rows import SessionRow, check_count, find_open

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
RECORD = f"{CHECKED}, s.id, m.tokens, m.finish_reason, m.is_redacted, m.created_at"
"""The columns of a stored message."""
# The body is wanted only where it says something else than what was said.
_REFS = _VIEW.format(
    columns="m.session, m.seq, m.digest, m.dialect, CASE WHEN NOT m.is_exact THEN m.body END", join=""
)
RECORDS = _VIEW.format(columns=RECORD, join="JOIN sessions s ON s.key = m.session")
"""Reads a view: tenant, session, first of its own, limit and offset."""

# Enough for the index to be written with them; what comes in small pieces is indexed later, together.
_MANY = 64

_COUNT_TAKEN_OVER = "SELECT coalesce(sum(stop - start), 0) FROM ranges WHERE tenant = ? AND session = ?"
_INSERT = """
    INSERT INTO messages (id, tenant, session, seq, origin, role, tools, dialect, body, seal, tokens,
        finish_reason, is_redacted, is_exact, digest, chain, created_at)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""


@dataclass(frozen=True, slots=True)
class Ref:
    """A message of a view: where it is written, and the digests it is known by (see `rows.agree`)."""

    source: int
    seq: int
    digests: tuple[bytes, ...] = ()


@dataclass(frozen=True, slots=True)
class MessageRange:
    """messages[start:stop] of the session `source`"""

    source: int
    start: int
    stop: int


def append_rows(
    connection: sqlite3.Connection,
    tenant: str,
    session_id: str,
    prepared: PreparedRows,
    quota: int | None,
    now: float,
    expected_count: int | None = None,
) -> int:
    """Add rows to a session that is open; return the number of the first.

    Raises `SessionEnded` with the session that goes on, `SessionGrew` where it has not as many messages as
    are expected, and `StoreFull` where the tenant keeps more than its quota.
    """
    session = find_open(connection, tenant, session_id)
    check_count(session, expected_count)
    if prepared.dialect and session.dialect is None:
        connection.execute("UPDATE sessions SET dialect = ? WHERE key = ?", (prepared.dialect, session.key))
    insert_rows(connection, tenant, session, prepared.rows, now)
    if len(prepared.rows) >= _MANY:
        index.catch_up(connection)
    if quota is not None:
        row = connection.execute("SELECT bytes FROM tenants WHERE tenant = ?", (tenant,)).fetchone()
        if row is not None and row[0] > quota:
            raise StoreFull("the session store", quota)
    return session.next_seq


def insert_rows(
    connection: sqlite3.Connection, tenant: str, session: SessionRow, rows: Sequence[MessageRow], now: float
) -> None:
    """Add rows to a session; the chain of its history goes on with what was said."""
    chain = _chain(session.last_chain, rows)
    links = [chained if row.origin == SAID else b"" for row, chained in zip(rows, chain, strict=True)]
    grown = replace(session, last_chain=chain[-1] if chain else session.last_chain)
    _insert(connection, tenant, grown, rows, links, now)


def insert_unchained(
    connection: sqlite3.Connection, tenant: str, session: SessionRow, rows: Sequence[MessageRow], now: float
) -> None:
    """Add rows that say in other words what was said; the chain of the history leaves them out."""
    _insert(connection, tenant, session, rows, [b""] * len(rows), now)


def _insert(
    connection: sqlite3.Connection,
    tenant: str,
    session: SessionRow,
    rows: Sequence[MessageRow],
    chain: Sequence[bytes],
    now: float,
) -> None:
    (first_id,) = connection.execute("SELECT coalesce(max(id), 0) + 1 FROM messages").fetchone()
    connection.executemany(_INSERT, _columns(first_id, tenant, session, rows, chain, now))
    connection.execute(
        "UPDATE sessions SET next_seq = ?, last_chain = ? WHERE key = ?",
        (session.next_seq + len(rows), session.last_chain, session.key),
    )
    add_bytes(connection, tenant, sum(len(row.body) for row in rows))


def _chain(chained: bytes, rows: Sequence[MessageRow]) -> list[bytes]:
    """Go on with a chained digest; what a fold made is no part of the history."""
    chain = []
    for row in rows:
        if row.origin == SAID:
            chained = link(chained, row.digest, row.role)
        chain.append(chained)
    return chain


def _columns(
    first_id: int,
    tenant: str,
    session: SessionRow,
    rows: Sequence[MessageRow],
    chain: Sequence[bytes],
    now: float,
) -> Iterator[tuple[object, ...]]:
    for number, row in enumerate(rows):
        seq = session.next_seq + number
        yield (
            first_id + number,
            tenant,
            session.key,
            seq,
            row.origin,
            row.role,
            row.tools,
            row.dialect,
            row.body,
            checksum(session.key, seq, row.origin, row.role, row.tools, row.dialect, row.body),
            row.tokens,
            row.finish_reason,
            int(row.is_redacted),
            int(row.is_exact),
            row.digest,
            chain[number] or None,
            now,
        )
        faultpoint("store.message.after")


def add_bytes(connection: sqlite3.Connection, tenant: str, count: int) -> None:
    """Keep the account of how much a tenant stores; a body counts by its characters."""
    connection.execute(
        "INSERT INTO tenants (tenant, bytes) VALUES (?, ?)"
        " ON CONFLICT (tenant) DO UPDATE SET bytes = bytes + excluded.bytes",
        (tenant, count),
    )


def insert_ranges(
    connection: sqlite3.Connection, tenant: str, session: int, ranges: Sequence[MessageRange], own_from: int
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


def read_refs(connection: sqlite3.Connection, tenant: str, session: SessionRow) -> list[Ref]:
    """Return where the messages of a session are written, in the order in which it says them."""
    rows = connection.execute(_REFS, (tenant, session.key, session.own_from, -1, 0))
    refs = [
        Ref(source, seq, (digest,) if body is None else (digest, *_stored_digest(dialect, body)))
        for source, seq, digest, dialect, body in rows
    ]
    if len(refs) != count_taken_over(connection, tenant, session) + session.next_seq - session.own_from:
        raise DamagedRow(f"messages of session {session.id} are missing")
    return refs


def count_taken_over(connection: sqlite3.Connection, tenant: str, session: SessionRow) -> int:
    """Return how many messages a session began with."""
    (count,) = connection.execute(_COUNT_TAKEN_OVER, (tenant, session.key)).fetchone()
    return int(count)


def _stored_digest(dialect: str, body: str) -> tuple[bytes, ...]:
    try:
        return (own_digest(read_body(dialect, body)),)
    except DamagedRow:
        return ()  # nobody can know it by what it says any more


def join_refs(refs: Sequence[Ref]) -> list[MessageRange]:
    """Join messages that follow one another into ranges."""
    ranges: list[MessageRange] = []
    for ref in refs:
        last = ranges[-1] if ranges else None
        if last and last.source == ref.source and last.stop == ref.seq:
            ranges[-1] = MessageRange(last.source, last.start, ref.seq + 1)
        else:
            ranges.append(MessageRange(ref.source, ref.seq, ref.seq + 1))
    return ranges
