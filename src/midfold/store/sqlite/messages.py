"""Messages in SQLite: writing them in order, and reading what a session says."""

import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from midfold.faults import faultpoint
from midfold.messages import link, own_digest
from midfold.store.codec import DamagedRow, read_body
from midfold.store.rows import SAID, MessageRow
from midfold.store.sqlite.seals import SEALED, sum_of
from midfold.store.sqlite.sessions import SessionRow

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
RECORD = f"{SEALED}, s.id, m.tokens, m.finish_reason, m.is_redacted, m.created_at"
"""What a stored message is made from."""
# The body is wanted only where it says something else than what was said.
_REFS = _VIEW.format(
    columns="m.session, m.seq, m.digest, m.dialect, CASE WHEN NOT m.is_exact THEN m.body END", join=""
)
RECORDS = _VIEW.format(columns=RECORD, join="JOIN sessions s ON s.key = m.session")
"""Reads a view: tenant, session, first of its own, limit and offset."""

_COUNT_TAKEN_OVER = "SELECT coalesce(sum(stop - start), 0) FROM ranges WHERE tenant = ? AND session = ?"
_COUNT_HISTORY = """
    SELECT
        (SELECT coalesce(sum(r.stop - r.start), 0) FROM sessions s
            JOIN ranges r ON r.tenant = s.tenant AND r.session = s.key
            WHERE s.tenant = :tenant AND s.conversation = :conversation AND s.kind <> 'continuation')
        + (SELECT count(*) FROM sessions s JOIN messages m ON m.tenant = s.tenant AND m.session = s.key
            WHERE s.tenant = :tenant AND s.conversation = :conversation AND m.origin = 'said')
"""
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
class Range:
    """messages[start:stop] of the session `source`"""

    source: int
    start: int
    stop: int


def insert_rows(
    connection: sqlite3.Connection, tenant: str, place: SessionRow, rows: Sequence[MessageRow], now: float
) -> int:
    """Add rows to a session and to the index; return the number of the first."""
    chain = _chain(place.last_chain, rows)
    links = [chained if row.origin == SAID else b"" for row, chained in zip(rows, chain, strict=True)]
    grown = replace(place, last_chain=chain[-1] if chain else place.last_chain)
    _insert(connection, tenant, grown, rows, links, now)
    return place.next_seq


def insert_unchained(
    connection: sqlite3.Connection, tenant: str, place: SessionRow, rows: Sequence[MessageRow], now: float
) -> None:
    """Add rows that say in other words what was said; the chain of the history leaves them out."""
    _insert(connection, tenant, place, rows, [b""] * len(rows), now)


def _insert(
    connection: sqlite3.Connection,
    tenant: str,
    place: SessionRow,
    rows: Sequence[MessageRow],
    chain: Sequence[bytes],
    now: float,
) -> None:
    (first_id,) = connection.execute("SELECT coalesce(max(id), 0) + 1 FROM messages").fetchone()
    connection.executemany(_INSERT, _columns(first_id, tenant, place, rows, chain, now))
    connection.execute(
        "UPDATE sessions SET next_seq = ?, last_chain = ? WHERE key = ?",
        (place.next_seq + len(rows), place.last_chain, place.key),
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
    place: SessionRow,
    rows: Sequence[MessageRow],
    chain: Sequence[bytes],
    now: float,
) -> Iterator[tuple[object, ...]]:
    for index, row in enumerate(rows):
        seq = place.next_seq + index
        yield (
            first_id + index,
            tenant,
            place.key,
            seq,
            row.origin,
            row.role,
            row.tools,
            row.dialect,
            row.body,
            sum_of(place.key, seq, row.origin, row.role, row.tools, row.dialect, row.body),
            row.tokens,
            row.finish_reason,
            int(row.is_redacted),
            int(row.is_exact),
            row.digest,
            chain[index] or None,
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


def read_refs(connection: sqlite3.Connection, tenant: str, place: SessionRow) -> list[Ref]:
    """Return where the messages of a session are written, in the order in which it says them."""
    rows = connection.execute(_REFS, (tenant, place.key, place.own_from, -1, 0))
    refs = [
        Ref(source, seq, (digest,) if body is None else (digest, *_stored_digest(dialect, body)))
        for source, seq, digest, dialect, body in rows
    ]
    if len(refs) != count_taken_over(connection, tenant, place) + place.next_seq - place.own_from:
        raise DamagedRow(f"messages of session {place.id} are missing")
    return refs


def count_taken_over(connection: sqlite3.Connection, tenant: str, place: SessionRow) -> int:
    """Return how many messages a session began with."""
    (count,) = connection.execute(_COUNT_TAKEN_OVER, (tenant, place.key)).fetchone()
    return int(count)


def _stored_digest(dialect: str, body: str) -> tuple[bytes, ...]:
    try:
        return (own_digest(read_body(dialect, body)),)
    except DamagedRow:
        return ()  # nobody can know it by what it says any more


def count_history(connection: sqlite3.Connection, tenant: str, conversation: str) -> int:
    """Return how many messages `read_history` has."""
    (count,) = connection.execute(_COUNT_HISTORY, {"tenant": tenant, "conversation": conversation}).fetchone()
    return int(count)


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
