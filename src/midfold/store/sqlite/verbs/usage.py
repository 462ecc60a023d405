"""Calls of models in SQLite."""

import secrets
from dataclasses import replace

from midfold.store.base import Call
from midfold.store.sqlite import calls
from midfold.store.sqlite.verbs.base import Verbs
from midfold.tokens import CanonicalUsage


class UsageVerbs(Verbs):
    """See `midfold.store.base`."""

    def record_call(self, session_id: str, call: Call) -> None:
        """Record what a call used, at once; the same call twice is counted once."""
        place = self._recall(session_id)
        known = replace(call, id=call.id or secrets.token_hex(16))
        key = self._hiding.key(place.conversation)
        self._write(calls.insert_call, session_id, known, key, self._clock())

    def calls(
        self,
        session_id: str | None = None,
        *,
        whole_chain: bool = False,
        since: float | None = None,
        until: float | None = None,
    ) -> list[Call]:
        """List recorded calls, oldest first: of a session, of its whole chain, or of all."""
        return self._read(calls.read_calls, session_id, whole_chain, since, until)

    def usage(self, session_id: str | None = None, *, whole_chain: bool = False) -> CanonicalUsage:
        """Add up what calls used."""
        return self._read(calls.sum_usage, session_id, whole_chain)
