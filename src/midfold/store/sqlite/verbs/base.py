"""What all verbs of the SQLite store share: database, tenant, clock, and what hides credentials."""

import time
from collections.abc import Callable, Sequence
from typing import TypeVar

from midfold.errors import StoreError
from midfold.store.base import OWN, BeforeContinue
from midfold.store.codec import clean_text
from midfold.store.preparing import Redactor
from midfold.store.sqlite import lineage
from midfold.store.sqlite.database import Database
from midfold.store.sqlite.sessions import SessionCache, SessionRow

T = TypeVar("T")


class Verbs:
    """Runs functions of this package as one tenant."""

    def __init__(
        self,
        database: Database,
        *,
        tenant: str = OWN,
        redact: bool = True,
        quota_bytes: int | None = None,
        clock: Callable[[], float] = time.time,
        before_continue: Sequence[BeforeContinue] = (),
    ) -> None:
        self._database = database
        self._quota = quota_bytes
        if clean_text(tenant) != tenant:
            raise StoreError("a tenant's name has characters that no database holds")
        self._tenant = tenant
        self._hiding = Redactor(database.redaction_key, self._tenant, is_on=redact)
        self._clock = clock
        self._hooks = tuple(before_continue)
        self._recalled = SessionCache()

    def _write(self, work: Callable[..., T], *arguments: object) -> T:
        return self._database.write(lambda connection: work(connection, self._tenant, *arguments))

    def _read(self, work: Callable[..., T], *arguments: object) -> T:
        return self._database.read(lambda connection: work(connection, self._tenant, *arguments))

    def _recall(self, session_id: str) -> SessionRow:
        """Find a session for what never changes about it: how it is spelled, and where its branches began."""
        place = self._recalled.get(session_id)
        if place is None:
            place = self._read(lineage.find_as_of_origin, session_id)
            if place.dialect is not None:
                self._recalled.put(session_id, place)
        return place
