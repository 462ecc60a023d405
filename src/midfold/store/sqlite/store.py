"""The store that everybody gets: one SQLite file, no server, safe to share between threads and processes."""

from typing import Self

from midfold.store.sqlite.calls import SqliteUsage
from midfold.store.sqlite.chains import SqliteChains
from midfold.store.sqlite.figures import SqliteFigures
from midfold.store.sqlite.leases import SqliteLeases
from midfold.store.sqlite.messages import SqliteMessages
from midfold.store.sqlite.search.verbs import SqliteSearch
from midfold.store.sqlite.sessions import SqliteSessions
from midfold.store.sqlite.states import SqliteStates
from midfold.store.sqlite.upkeep import SqliteUpkeep


class SqliteStore(
    SqliteSessions,
    SqliteMessages,
    SqliteChains,
    SqliteLeases,
    SqliteSearch,
    SqliteUsage,
    SqliteFigures,
    SqliteStates,
    SqliteUpkeep,
):
    """Sessions of one tenant in a SQLite file; see `Store` for the verbs."""

    def for_tenant(self, tenant: str) -> "SqliteStore":
        """Return the same store as another tenant sees it."""
        return SqliteStore(
            self._database,
            tenant=tenant,
            redact=self._redactor.is_on,
            quota_bytes=self._quota,
            clock=self._clock,
            before_continue=self._hooks,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()
