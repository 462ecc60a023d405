"""A provider's report as a call that can be recorded: its tokens, what it cost, and how that is known."""

import secrets
from collections.abc import Iterable, Mapping
from decimal import Decimal
from enum import StrEnum
from typing import TYPE_CHECKING

from midfold.late_dataclasses import replace
from midfold.store import Call, Store
from midfold.tokens import CanonicalUsage, Cost, Prices, price, price_with
from midfold.wire import find_report, normalize_usage, reported_cost
from midfold.wire.session_files import ClientCall

if TYPE_CHECKING:
    from midfold.providers.summarizers import SummaryCall

CHAT = "chat"
"""The purpose of a call that goes on with a conversation."""
SUMMARY = "summary"
"""The purpose of a call that a compression made; it is taken off what the compression saved."""

_UNKNOWN = Cost(None)
# No call has this many tokens.
_ABSURD_TOKENS = 10**12


class CostKind(StrEnum):
    """The source of the cost of a call."""

    REPORTED = "reported"
    """the provider said what it charged"""
    COMPUTED = "computed"
    """by the price table"""
    PARTIAL = "partial"
    """by the price table, of some of the tokens: the least that it can have been"""
    UNKNOWN = "unknown"


def make_call(
    raw: object,
    model: str,
    *,
    purpose: str = CHAT,
    call_id: str | None = None,
    dialect: str | None = None,
    cache_ttl: str | None = None,
    prices: Prices | None = None,
    facts: Mapping[str, object] | None = None,
    created_at: float | None = None,
) -> Call:
    """Read a usage report, or the response that holds one, as a call to be recorded.

    The call has an id, given or made here, so that recording this value again counts it once. `cache_ttl` is
    what the request asked for, where the report does not say how long its cache writes last. `prices` take
    the place of the table's; an empty `Prices()` is that of a server of one's own. A figure that
    cannot be read counts nothing, and makes the cost a partial one.
    """
    usage = _with_ttl(normalize_usage(raw, dialect), cache_ttl)
    charged, report = reported_cost(raw), find_report(raw)
    cost = _price(usage, model, prices) if charged is None else Cost(charged)
    kind = _kind_of(cost, charged)
    if kind is CostKind.COMPUTED and _has_odd_figures(report):
        kind = CostKind.PARTIAL
    return Call(
        usage=usage,
        model=model,
        purpose=purpose,
        id=call_id or secrets.token_hex(16),
        cost=cost.dollars,
        cost_kind=kind,
        raw=report,
        facts=dict(facts or {}),
        created_at=created_at,
    )


def record_client_calls(
    store: Store, session_id: str, calls: Iterable[ClientCall], *, dialect: str
) -> list[Call]:
    """Record the calls that another client paid for and noted in its session file; return them.

    A call that came in with another copy of its lines is counted once. One without a time is dated now.
    """
    recorded = [
        make_call(
            call.report,
            call.model,
            call_id=call.id,
            dialect=dialect,
            created_at=call.at if isinstance(call.at, float) else None,
        )
        for call in calls
    ]
    for call in recorded:
        store.record_call(session_id, call)
    return recorded


def make_summary_call(asked: "SummaryCall", *, created_at: float | None = None) -> Call:
    """Read a call that a summariser made; one that failed was paid for all the same."""
    charged = reported_cost(asked.raw_usage)
    failure = {"failure": asked.failure} if asked.failure else {}
    return Call(
        usage=asked.usage,
        model=asked.model,
        purpose=SUMMARY,
        id=secrets.token_hex(16),
        cost=asked.cost.dollars,
        cost_kind=_kind_of(asked.cost, charged),
        raw=find_report(asked.raw_usage),
        facts={"seconds": round(asked.seconds, 3), **failure},
        created_at=created_at,
    )


def _price(usage: CanonicalUsage, model: str, prices: Prices | None) -> Cost:
    """Price a call; one that reports no tokens at all used some that nobody counted."""
    if not usage.total_tokens:
        return _UNKNOWN
    return price(usage, model) if prices is None else price_with(usage, prices)


def _has_odd_figures(report: object) -> bool:
    """Whether a report states some number of tokens in a way that was not counted."""
    if not isinstance(report, dict):
        return False
    return any(
        _has_odd_figures(figure) if isinstance(figure, dict) else name.endswith("tokens") and _is_odd(figure)
        for name, figure in report.items()
    )


def _is_odd(figure: object) -> bool:
    if isinstance(figure, str):
        return figure.strip().isdecimal()
    return isinstance(figure, int | float) and not 0 <= figure < _ABSURD_TOKENS


def _kind_of(cost: Cost, charged: Decimal | None) -> CostKind:
    if charged is not None:
        return CostKind.REPORTED
    if cost.dollars is None:
        return CostKind.UNKNOWN
    return CostKind.COMPUTED if cost.is_complete else CostKind.PARTIAL


def _with_ttl(usage: CanonicalUsage, ttl: str | None) -> CanonicalUsage:
    """Count all cache writes as lasting ones where that was asked for and the report does not say."""
    if ttl != "1h" or usage.cache_write_1h_tokens:
        return usage
    return replace(usage, cache_write_1h_tokens=usage.cache_write_tokens)
