"""The store that everybody gets: one SQLite file, no server, safe to share between threads and processes."""

from typing import Self

from midfold.store.sqlite.verbs.chains import ChainVerbs
from midfold.store.sqlite.verbs.leases import LeaseVerbs
from midfold.store.sqlite.verbs.messages import MessageVerbs
from midfold.store.sqlite.verbs.search import SearchVerbs
from midfold.store.sqlite.verbs.sessions import SessionVerbs
from midfold.store.sqlite.verbs.states import StateVerbs
from midfold.store.sqlite.verbs.upkeep import UpkeepVerbs
from midfold.store.sqlite.verbs.usage import UsageVerbs


class SqliteStore(
    SessionVerbs, MessageVerbs, ChainVerbs, LeaseVerbs, SearchVerbs, UsageVerbs, StateVerbs, UpkeepVerbs
):
    """Sessions of one tenant in a SQLite file; see `Store` for the verbs."""

    def for_tenant(self, tenant: str) -> "SqliteStore":
        """Return the same store as another tenant sees it."""
        return SqliteStore(
            self._database,
            tenant=tenant,
            redact=self._hiding.is_on,
            quota_bytes=self._quota,
            clock=self._clock,
            before_continue=self._hooks,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()
