"""Calls of models in SQLite: recorded at once, counted once."""

import secrets
import sqlite3
from decimal import Decimal
from typing import Any

from midfold.late_dataclasses import replace
from midfold.store.codec import damage_noticed, hide_id, hide_text, pack_value, read_value
from midfold.store.figures import BUCKETS
from midfold.store.sqlite.session_rows import find_session
from midfold.store.sqlite.tenant import TenantStore
from midfold.store.values import Call
from midfold.tokens import CanonicalUsage

_BUCKET_COLUMNS = ", ".join(f"c.{name}" for name in BUCKETS)
_SUMS = ", ".join(f"coalesce(sum(c.{name}), 0)" for name in BUCKETS)
_WHERE = """
    FROM calls c JOIN sessions s ON s.key = c.session AND s.tenant = c.tenant
    WHERE c.tenant = ?1 AND (?2 IS NULL OR s.id = ?2) AND (?3 IS NULL OR s.conversation = ?3)
        AND (?4 IS NULL OR c.created_at >= ?4) AND (?5 IS NULL OR c.created_at < ?5)
"""


class SqliteUsage(TenantStore):
    """See `midfold.store.base.Usage`."""

    def record_call(self, session_id: str, call: Call) -> None:
        """Record what a call used, at once; the same call twice is counted once."""
        known = replace(call, id=call.id or secrets.token_hex(16))
        key = self._redactor.key(self._recall(session_id).conversation)
        self._database.write(_insert_call, self._tenant, session_id, known, key, self._clock())

    def calls(
        self,
        session_id: str | None = None,
        *,
        whole_chain: bool = False,
        since: float | None = None,
        until: float | None = None,
    ) -> list[Call]:
        """List recorded calls, oldest first: of a session, of its whole chain, or of all."""
        return self._database.read(_read_calls, self._tenant, session_id, whole_chain, since, until)

    def usage(self, session_id: str | None = None, *, whole_chain: bool = False) -> CanonicalUsage:
        """Add up what calls used."""
        return self._database.read(_sum_usage, self._tenant, session_id, whole_chain)


def _insert_call(
    connection: sqlite3.Connection, tenant: str, session_id: str, call: Call, key: bytes | None, now: float
) -> None:
    """Record a call; one that was recorded before changes nothing."""
    session = find_session(connection, tenant, session_id)
    usage = call.usage
    connection.execute(
        "INSERT INTO calls (tenant, session, id, model, purpose, input_tokens, output_tokens,"
        " cache_read_tokens, cache_write_tokens, reasoning_tokens, cache_write_1h_tokens, cost, cost_kind,"
        " facts, raw, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (tenant, id) DO NOTHING",
        (
            tenant,
            session.key,
            hide_id(call.id or "", key),
            hide_text(call.model, key),
            hide_text(call.purpose, key),
            *(getattr(usage, name) for name in BUCKETS),
            None if call.cost is None else str(call.cost),
            hide_text(call.cost_kind, key),
            pack_value(dict(call.facts), key),
            pack_value(call.raw, key),
            now if call.created_at is None else call.created_at,
        ),
    )
    if call.purpose == "chat" and call.model and call.created_at is None:
        # A session is listed with the model that it is held with now.
        connection.execute(
            "UPDATE sessions SET model = ?1 WHERE key = ?2 AND model IS NOT ?1",
            (hide_text(call.model, key), session.key),
        )


def _read_calls(
    connection: sqlite3.Connection,
    tenant: str,
    session_id: str | None,
    whole_chain: bool,
    since: float | None,
    until: float | None,
) -> list[Call]:
    """Return recorded calls, oldest first."""
    asked = _find_asked(connection, tenant, session_id, whole_chain)
    rows = connection.execute(
        f"SELECT {_BUCKET_COLUMNS}, c.model, c.purpose, c.id, c.cost, c.cost_kind, c.raw, c.facts,"
        f" c.created_at, s.id, s.source {_WHERE} ORDER BY c.created_at, c.key",
        (tenant, *asked, since, until),
    )
    with damage_noticed("call"):
        return [_call(row) for row in rows]


def _sum_usage(
    connection: sqlite3.Connection, tenant: str, session_id: str | None, whole_chain: bool
) -> CanonicalUsage:
    """Add up what calls used."""
    asked = _find_asked(connection, tenant, session_id, whole_chain)
    row = connection.execute(
        f"SELECT {_SUMS} {_WHERE}",
        (tenant, *asked, None, None),
    ).fetchone()
    return CanonicalUsage(**dict(zip(BUCKETS, row, strict=True)))


def _find_asked(
    connection: sqlite3.Connection, tenant: str, session_id: str | None, whole_chain: bool
) -> tuple[str | None, str | None]:
    """Return the session and the conversation that are asked about."""
    if session_id is None:
        return None, None
    conversation = find_session(connection, tenant, session_id).conversation
    return (None, conversation) if whole_chain else (session_id, None)


def _call(row: tuple[Any, ...]) -> Call:
    buckets, rest = row[: len(BUCKETS)], row[len(BUCKETS) :]
    model, purpose, call_id, cost, cost_kind, raw, facts, created_at, session_id, source = rest
    known = read_value(facts)
    return Call(
        usage=CanonicalUsage(**dict(zip(BUCKETS, buckets, strict=True))),
        model=model,
        purpose=purpose,
        id=call_id,
        cost=None if cost is None else Decimal(cost),
        cost_kind=cost_kind,
        raw=read_value(raw),
        facts=known if isinstance(known, dict) else {},
        created_at=created_at,
        session_id=session_id,
        source=source,
    )
