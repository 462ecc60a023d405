"""Leases in SQLite."""

from midfold.store.base import LEASE_SECONDS, Lease
from midfold.store.sqlite import leases
from midfold.store.sqlite.verbs.base import Verbs


class LeaseVerbs(Verbs):
    """See `midfold.store.base`."""

    def acquire_lease(self, session_id: str, holder: str, seconds: float = LEASE_SECONDS) -> Lease:
        """Take the right to fold a session, or raise `SessionBusy`."""
        return self._write(leases.acquire, session_id, self._hiding.text(holder, ""), seconds, self._clock())

    def renew_lease(self, lease: Lease, seconds: float = LEASE_SECONDS) -> Lease:
        """Keep it; raises `SessionBusy` when somebody took it over."""
        return self._write(leases.renew, lease, seconds, self._clock())

    def release_lease(self, lease: Lease) -> None:
        """Give it back."""
        self._write(leases.release, lease)
