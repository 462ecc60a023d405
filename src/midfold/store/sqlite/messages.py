"""Messages in SQLite: writing them in order, and reading what a session says."""

import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any
from zlib import crc32

from midfold.errors import SessionNotFound
from midfold.faults import faultpoint
from midfold.messages.digests import spell
from midfold.store.base import StoredMessage
from midfold.store.codec import DamagedRow, read_body, read_value
from midfold.store.rows import SAID, Row, short_digest
from midfold.store.sqlite.sessions import Place

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
SEALED = "m.session, m.seq, m.origin, m.role, m.tools, m.dialect, m.body, m.seal"
"""What the sum of a message covers, and the sum."""
_RECORD = f"{SEALED}, s.id, m.tokens, m.finish_reason, m.is_redacted, m.created_at"
_SEALED_COLUMNS = SEALED.count(",") + 1
# The body is wanted only where it says something else than what was said.
_REFS = _VIEW.format(
    columns="m.session, m.seq, m.digest, m.dialect, CASE WHEN NOT m.is_exact THEN m.body END", join=""
)
_RECORDS = _VIEW.format(columns=_RECORD, join="JOIN sessions s ON s.key = m.session")


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
    connection: sqlite3.Connection, tenant: str, place: Place, rows: Sequence[Row], now: float
) -> int:
    """Add rows to a session and to the index; return the number of the first."""
    (first_id,) = connection.execute("SELECT coalesce(max(id), 0) + 1 FROM messages").fetchone()
    chain = _chain(place.last_chain, rows)
    connection.executemany(_INSERT, _columns(first_id, tenant, place, rows, chain, now))
    connection.execute(
        "UPDATE sessions SET next_seq = ?, last_chain = ? WHERE key = ?",
        (place.next_seq + len(rows), chain[-1] if chain else place.last_chain, place.key),
    )
    add_bytes(connection, tenant, sum(len(row.body) for row in rows))
    return place.next_seq


def _chain(link: bytes, rows: Sequence[Row]) -> list[bytes]:
    """Go on with a chained digest; what a fold made is no part of the history."""
    chain = []
    for row in rows:
        if row.origin == SAID and row.spelled:
            link = sha256(link + row.spelled).digest()
        chain.append(link)
    return chain


def _columns(
    first_id: int, tenant: str, place: Place, rows: Sequence[Row], chain: Sequence[bytes], now: float
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
            _sum(place.key, seq, row.origin, row.role, row.tools, row.dialect, row.body),
            row.tokens,
            row.finish_reason,
            int(row.is_redacted),
            int(row.is_exact),
            row.digest,
            chain[index] if row.origin == SAID else None,
            now,
        )
        faultpoint("store.message.after")


def _sum(*columns: object) -> int:
    """Return what tells a damaged message from a sound one; a disk is no adversary."""
    return crc32("\n".join(map(str, columns)).encode("utf-8", "replace"))


def is_sealed(row: Sequence[object]) -> bool:
    """Whether the `SEALED` columns of a message are what was written; a row without a sum is believed."""
    return row[-1] is None or row[-1] == _sum(*row[:-1])


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
    return [
        Ref(source, seq, (digest,) if body is None else (digest, _stored_digest(dialect, body)))
        for source, seq, digest, dialect, body in rows
    ]


def _stored_digest(dialect: str, body: str) -> bytes:
    return short_digest(spell(read_body(dialect, body)))


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
    first = connection.execute(
        "SELECT key FROM sessions WHERE tenant = ? AND conversation = ? AND kind <> 'continuation'",
        (tenant, conversation),
    ).fetchone()
    if first is None:
        raise SessionNotFound(conversation)
    rows = connection.execute(_RECORDS, (tenant, first[0], _NO_OWN, -1, 0)).fetchall()
    rows += connection.execute(
        f"SELECT {_RECORD} FROM sessions s JOIN messages m ON m.tenant = s.tenant AND m.session = s.key"  # noqa: S608
        " WHERE s.tenant = ? AND s.conversation = ? AND m.origin = 'said' ORDER BY m.id",
        (tenant, conversation),
    ).fetchall()
    return [_record(row) for row in rows]


def count_history(connection: sqlite3.Connection, tenant: str, conversation: str) -> int:
    """Return how many messages `read_history` has."""
    (count,) = connection.execute(_COUNT_HISTORY, {"tenant": tenant, "conversation": conversation}).fetchone()
    return int(count)


def _record(row: tuple[Any, ...]) -> StoredMessage:
    sealed = row[:_SEALED_COLUMNS]
    _session, seq, origin, role, tools, _dialect, body, _seal = sealed
    session_id, tokens, finish_reason, is_redacted, created_at = row[_SEALED_COLUMNS:]
    if not is_sealed(sealed):
        raise DamagedRow(f"message {seq} of session {session_id} is not what was stored")
    return StoredMessage(
        session_id=session_id,
        seq=seq,
        origin=origin,
        role=role,
        item=read_value(body),
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
