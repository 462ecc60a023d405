"""Leases in SQLite: one process at a time folds a session, and one that lost its turn cannot commit.

A lease runs out by the clock, and clocks jump. So it also counts as run out when the clock stands before the
moment it was taken, and its epoch rises each time somebody takes it: safety never hangs on the clock.
"""

import sqlite3

from midfold.errors import SessionBusy
from midfold.faults import faultpoint
from midfold.store.base import Lease
from midfold.store.sqlite.sessions import SessionRow, find_open, find_place


def acquire(
    connection: sqlite3.Connection, tenant: str, session_id: str, holder: str, seconds: float, now: float
) -> Lease:
    """Take the lease, or raise `SessionBusy` with whoever has it; a session that ended has none to give."""
    place = find_open(connection, tenant, session_id)
    row = _read(connection, tenant, place)
    if row is not None and row[0] is not None and row[0] != holder and _runs(row, now):
        raise SessionBusy(session_id, row[0])
    epoch = (row[1] if row else 0) + 1
    faultpoint("store.lease.claim")
    connection.execute(
        "INSERT INTO leases (tenant, session, holder, epoch, renewed_at, expires_at)"
        " VALUES (?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (tenant, session) DO UPDATE SET holder = excluded.holder, epoch = excluded.epoch,"
        " renewed_at = excluded.renewed_at, expires_at = excluded.expires_at",
        (tenant, place.key, holder, epoch, now, now + seconds),
    )
    return Lease(session_id, holder, epoch, now + seconds)


def renew(connection: sqlite3.Connection, tenant: str, lease: Lease, seconds: float, now: float) -> Lease:
    """Keep a lease going that nobody took over, run out or not."""
    place = find_place(connection, tenant, lease.session_id)
    check_lease(connection, tenant, place, lease)
    faultpoint("store.lease.renew")
    connection.execute(
        "UPDATE leases SET renewed_at = ?, expires_at = ? WHERE tenant = ? AND session = ?",
        (now, now + seconds, tenant, place.key),
    )
    return Lease(lease.session_id, lease.holder, lease.epoch, now + seconds)


def release(connection: sqlite3.Connection, tenant: str, lease: Lease) -> None:
    """Give a lease back; one that somebody took over is left alone."""
    faultpoint("store.lease.release")
    connection.execute(
        "UPDATE leases SET holder = NULL WHERE tenant = ? AND epoch = ?"
        " AND session = (SELECT key FROM sessions WHERE tenant = ? AND id = ?)",
        (tenant, lease.epoch, tenant, lease.session_id),
    )


def check_lease(connection: sqlite3.Connection, tenant: str, place: SessionRow, lease: Lease) -> None:
    """Raise `SessionBusy` unless the lease still is the newest; running out alone takes nothing away."""
    row = _read(connection, tenant, place)
    if row is None or row[1] != lease.epoch or row[0] != lease.holder:
        raise SessionBusy(lease.session_id, row[0] or "" if row else "")


def _read(
    connection: sqlite3.Connection, tenant: str, place: SessionRow
) -> tuple[str | None, int, float, float] | None:
    row: tuple[str | None, int, float, float] | None = connection.execute(
        "SELECT holder, epoch, renewed_at, expires_at FROM leases WHERE tenant = ? AND session = ?",
        (tenant, place.key),
    ).fetchone()
    return row


def _runs(row: tuple[str | None, int, float, float], now: float) -> bool:
    _holder, _epoch, renewed_at, expires_at = row
    return renewed_at <= now < expires_at
