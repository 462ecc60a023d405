"""A store as one tenant sees it: what all verbs of the SQLite store share."""

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from midfold.errors import StoreError
from midfold.store.codec import clean_text
from midfold.store.inputs import Redactor
from midfold.store.sqlite.session_rows import SessionRow, find_as_of_origin
from midfold.store.values import OWN, BeforeContinue

if TYPE_CHECKING:
    from midfold.store.sqlite.database import Database

_CACHED_SESSIONS = 1_000


class TenantStore:
    """The database, the tenant, the clock, and the redactor that hides credentials."""

    def __init__(
        self,
        database: "Database",
        *,
        tenant: str = OWN,
        redact: bool = True,
        quota_bytes: int | None = None,
        clock: Callable[[], float] = time.time,
        before_continue: Sequence[BeforeContinue] = (),
    ) -> None:
        if clean_text(tenant) != tenant:
            raise StoreError("a tenant's name has characters that no database holds")
        self._database = database
        self._tenant = tenant
        self._quota = quota_bytes
        self._redactor = Redactor(database.redaction_key, tenant, is_on=redact)
        self._clock = clock
        self._hooks = tuple(before_continue)
        self._cache: dict[str, SessionRow] = {}

    def _recall(self, session_id: str) -> SessionRow:
        """Find a session for what never changes about it: its dialect, and the conversation it began in."""
        session = self._cache.get(session_id)
        if session is None:
            session = self._database.read(find_as_of_origin, self._tenant, session_id)
            if session.dialect is not None:
                if len(self._cache) >= _CACHED_SESSIONS:  # a few, because a server has many
                    self._cache = {}
                self._cache[session_id] = session
        return session
