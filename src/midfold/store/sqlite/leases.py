"""Leases in SQLite: one process at a time folds a session, and one that lost its turn cannot commit.

A lease runs out by the clock, and clocks jump. So it also counts as run out when the clock stands well before
the moment it was taken; a network sets clocks back a little every day, and that frees nothing. Its epoch
rises each time somebody takes it: safety never hangs on the clock.
"""

import sqlite3

from midfold.errors import SessionBusy
from midfold.faults import faultpoint
from midfold.store.sqlite.session_rows import SessionRow, find_open, find_session
from midfold.store.sqlite.tenant import TenantStore
from midfold.store.values import LEASE_SECONDS, Lease

_STEP_SECONDS = 5.0
"""A clock that is kept right may step back so far."""


class SqliteLeases(TenantStore):
    """See `midfold.store.base.Leases`."""

    def acquire_lease(self, session_id: str, holder: str, seconds: float = LEASE_SECONDS) -> Lease:
        """Take the right to fold a session, or raise `SessionBusy`."""
        name, now = self._redactor.text(holder, ""), self._clock()
        return self._database.write(_acquire, self._tenant, session_id, name, seconds, now)

    def renew_lease(self, lease: Lease, seconds: float = LEASE_SECONDS) -> Lease:
        """Keep it; raises `SessionBusy` when somebody took it over."""
        return self._database.write(_renew, self._tenant, lease, seconds, self._clock())

    def release_lease(self, lease: Lease) -> None:
        """Give it back."""
        self._database.write(_release, self._tenant, lease)


def _acquire(
    connection: sqlite3.Connection, tenant: str, session_id: str, holder: str, seconds: float, now: float
) -> Lease:
    """Take the lease, or raise `SessionBusy` with its holder; a session that ended has none to give."""
    session = find_open(connection, tenant, session_id)
    row = _read(connection, tenant, session)
    if row is not None and row[0] is not None and row[0] != holder and _runs(row, now):
        raise SessionBusy(session_id, row[0])
    epoch = (row[1] if row else 0) + 1
    faultpoint("store.lease.claim")
    connection.execute(
        "INSERT INTO leases (tenant, session, holder, epoch, renewed_at, expires_at)"
        " VALUES (?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (tenant, session) DO UPDATE SET holder = excluded.holder, epoch = excluded.epoch,"
        " renewed_at = excluded.renewed_at, expires_at = excluded.expires_at",
        (tenant, session.key, holder, epoch, now, now + seconds),
    )
    return Lease(session_id, holder, epoch, now + seconds)


def _renew(connection: sqlite3.Connection, tenant: str, lease: Lease, seconds: float, now: float) -> Lease:
    """Keep a lease going that nobody took over, run out or not."""
    session = find_session(connection, tenant, lease.session_id)
    check_lease(connection, tenant, session, lease)
    faultpoint("store.lease.renew")
    connection.execute(
        "UPDATE leases SET renewed_at = ?, expires_at = ? WHERE tenant = ? AND session = ?",
        (now, now + seconds, tenant, session.key),
    )
    return Lease(lease.session_id, lease.holder, lease.epoch, now + seconds)


def _release(connection: sqlite3.Connection, tenant: str, lease: Lease) -> None:
    """Give a lease back; one that somebody took over is left alone."""
    faultpoint("store.lease.release")
    connection.execute(
        "UPDATE leases SET holder = NULL WHERE tenant = ? AND epoch = ?"
        " AND session = (SELECT key FROM sessions WHERE tenant = ? AND id = ?)",
        (tenant, lease.epoch, tenant, lease.session_id),
    )


def check_lease(connection: sqlite3.Connection, tenant: str, session: SessionRow, lease: Lease) -> None:
    """Raise `SessionBusy` unless the lease still is the newest; running out alone takes nothing away."""
    row = _read(connection, tenant, session)
    if row is None or row[1] != lease.epoch or row[0] != lease.holder:
        raise SessionBusy(lease.session_id, row[0] or "" if row else "")


def _read(
    connection: sqlite3.Connection, tenant: str, session: SessionRow
) -> tuple[str | None, int, float, float] | None:
    row: tuple[str | None, int, float, float] | None = connection.execute(
        "SELECT holder, epoch, renewed_at, expires_at FROM leases WHERE tenant = ? AND session = ?",
        (tenant, session.key),
    ).fetchone()
    return row


def _runs(row: tuple[str | None, int, float, float], now: float) -> bool:
    _holder, _epoch, renewed_at, expires_at = row
    return renewed_at - _STEP_SECONDS <= now < expires_at
