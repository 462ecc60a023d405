"""Totals for reports in SQLite: calls are added up by the database, figures of conversations are kept."""

import json
import sqlite3
from collections.abc import Iterable, Sequence
from decimal import Decimal
from itertools import groupby
from operator import itemgetter

from midfold.store.codec import DamagedRow, damage_noticed, pack_value, read_value
from midfold.store.figures import BUCKETS, SUMMED_SECONDS, ActiveConversation, CallSum, ConversationFigures
from midfold.store.sqlite.tenant import TenantStore
from midfold.tokens import CanonicalUsage

_PROMPT = "c.input_tokens + c.cache_read_tokens + c.cache_write_tokens"
_CACHE = (
    "(c.cache_read_tokens > 0) + 2 * (c.cache_write_tokens > c.cache_write_1h_tokens)"
    " + 4 * (c.cache_write_1h_tokens > 0)"
)
_SUMS = f"""
    SELECT CAST(c.created_at / {SUMMED_SECONDS} AS INTEGER), s.source, c.model, c.purpose, c.cost_kind,
        count(*), max({_PROMPT}), group_concat(c.cost, ' '), {", ".join(f"sum(c.{name})" for name in BUCKETS)}
    FROM calls c JOIN sessions s ON s.key = c.session AND s.tenant = c.tenant
    WHERE c.tenant = ?1 AND c.created_at >= ?2
    GROUP BY 1, 2, 3, 4, 5, {_CACHE}{{steps}}
    ORDER BY min(c.created_at), min(c.key)
"""  # noqa: S608 - constants only
_ACTIVE = """
    SELECT s.conversation, max(c.created_at)
    FROM calls c JOIN sessions s ON s.key = c.session AND s.tenant = c.tenant
    WHERE c.tenant = ? AND c.created_at >= ? GROUP BY 1 ORDER BY 2 DESC, 1
"""
_SESSIONS = """
    SELECT s.conversation, s.model, s.dialect, s.first_position + s.next_seq, s.undone_at IS NOT NULL,
        (SELECT count(*) FROM calls c WHERE c.tenant = s.tenant AND c.session = s.key)
    FROM sessions s WHERE s.tenant = ?1 AND s.conversation IN (SELECT value FROM json_each(?2))
    ORDER BY s.conversation, s.key
"""
_FIGURES = """
    SELECT conversation, mark, body FROM figures
    WHERE tenant = ?1 AND conversation IN (SELECT value FROM json_each(?2))
"""
_KEEP = """
    INSERT OR REPLACE INTO figures (tenant, conversation, mark, body)
    SELECT ?1, ?2, ?3, ?4 WHERE EXISTS (SELECT 1 FROM sessions WHERE tenant = ?1 AND conversation = ?2)
"""

_SessionFacts = tuple[str, str | None, str | None, int, int, int]


class SqliteFigures(TenantStore):
    """See `midfold.store.figures.Figures`."""

    def sum_calls(self, since: float, *, steps: Sequence[int] = ()) -> list[CallSum]:
        """Add up the calls since then, whatever sessions they are of."""
        return self._database.read(_sum_calls, self._tenant, since, steps)

    def active_conversations(self, since: float) -> list[ActiveConversation]:
        """List the conversations that had calls since then, by their newest calls."""
        return self._database.read(_list_active, self._tenant, since)

    def keep_figures(self, figures: Sequence[ConversationFigures]) -> None:
        """Keep figures with their conversations, in place of older ones."""
        key = self._redactor.key("")
        rows = [
            (self._tenant, each.conversation_id, each.mark, pack_value(each.value, key)) for each in figures
        ]
        if rows:
            self._database.write(_keep, rows)


def delete_orphaned_figures(
    connection: sqlite3.Connection, tenant: str, conversations: Iterable[str]
) -> None:
    """Delete the figures of those of these conversations that have no session left."""
    connection.executemany(
        "DELETE FROM figures WHERE tenant = ?1 AND conversation = ?2 AND NOT EXISTS"
        " (SELECT 1 FROM sessions WHERE tenant = ?1 AND conversation = ?2)",
        ((tenant, conversation) for conversation in conversations),
    )


def _sum_calls(
    connection: sqlite3.Connection, tenant: str, since: float, steps: Sequence[int]
) -> list[CallSum]:
    reached = "".join(f", {_PROMPT} > {step:d}" for step in steps)
    rows = connection.execute(_SUMS.format(steps=reached), (tenant, since)).fetchall()
    with damage_noticed("call"):
        return [
            CallSum(
                at=float(quarter * SUMMED_SECONDS),
                source=source,
                model=model,
                purpose=purpose,
                cost_kind=cost_kind,
                calls=calls,
                usage=CanonicalUsage(**dict(zip(BUCKETS, buckets, strict=True))),
                cost=None if costs is None else sum(map(Decimal, costs.split()), Decimal(0)),
                longest_prompt=longest,
            )
            for quarter, source, model, purpose, cost_kind, calls, longest, costs, *buckets in rows
        ]


def _list_active(connection: sqlite3.Connection, tenant: str, since: float) -> list[ActiveConversation]:
    newest = dict(connection.execute(_ACTIVE, (tenant, since)).fetchall())
    asked = (tenant, json.dumps(list(newest)))
    kept = {conversation: (mark, body) for conversation, mark, body in connection.execute(_FIGURES, asked)}
    sessions = connection.execute(_SESSIONS, asked).fetchall()
    with damage_noticed("session"):
        grouped = {name: list(rows) for name, rows in groupby(sessions, itemgetter(0))}
    return [_active(name, at, grouped.get(name, []), kept.get(name, ("", ""))) for name, at in newest.items()]


def _active(
    name: str, newest_call_at: float, sessions: Sequence[_SessionFacts], kept: tuple[str, str]
) -> ActiveConversation:
    """Put together what is known of a conversation; the sessions that count are those not taken back."""
    _, models, dialects, ends, undone, calls = zip(*sessions, strict=True)
    chain = [number for number, is_undone in enumerate(undone) if not is_undone]
    model = next((models[number] for number in reversed(chain) if models[number]), None)
    dialect = next((dialects[number] for number in chain if dialects[number]), None)
    reach = (max(ends), len(sessions), sum(undone), sum(calls))
    mark = " ".join([*map(str, reach), dialect or "-", model or "-"])
    return ActiveConversation(
        id=name,
        mark=mark,
        newest_call_at=newest_call_at,
        sessions=len(chain),
        model=model,
        dialect=dialect,
        figures=_read_figures(kept[1]) if kept[0] == mark else None,
    )


def _read_figures(body: str) -> object | None:
    """Read figures that were kept; damaged ones are worked out again."""
    try:
        return read_value(body)
    except DamagedRow:
        return None


def _keep(connection: sqlite3.Connection, rows: Sequence[tuple[str, str, str, str]]) -> None:
    connection.executemany(_KEEP, rows)
