"""Totals: what calls used, cost and saved, added up by day, model, source or whatever else is asked for."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta, tzinfo
from decimal import Decimal
from functools import lru_cache, reduce
from operator import add
from typing import TypeAlias

from midfold.store import Call
from midfold.tokens import CanonicalUsage, Savings, cache_saving, total_savings
from midfold.usage.calls import CostKind
from midfold.usage.savings import CountedCall

UNNAMED = "(not named)"

Key: TypeAlias = Callable[[Call], str]


@dataclass(frozen=True, slots=True)
class Bill:
    """The cost of calls. `dollars` are those of the calls whose cost is known; `None` where that is none.

    `partial` and `unknown` say of how many calls some or all of the cost is missing from `dollars`.
    """

    dollars: Decimal | None = None
    reported: int = 0
    computed: int = 0
    partial: int = 0
    unknown: int = 0

    @property
    def is_complete(self) -> bool:
        """Whether nothing is missing."""
        return not self.partial and not self.unknown


@dataclass(frozen=True, slots=True)
class Totals:
    """Some calls together."""

    calls: int
    usage: CanonicalUsage
    bill: Bill
    cache_saving: Decimal | None
    """dollars that prompt caching saved, of the calls with known prices; `None` where that is none"""
    compressions: int
    savings: Savings


@dataclass(frozen=True, slots=True)
class Group:
    """The calls that have a name in common."""

    name: str
    totals: Totals


def add_up(counted: Sequence[CountedCall]) -> Totals:
    """Add up calls."""
    calls = [each.call for each in counted]
    return Totals(
        calls=len(calls),
        usage=reduce(add, [call.usage for call in calls], CanonicalUsage()),
        bill=make_bill(calls),
        cache_saving=_sum_known(_find_saving(call.usage, call.model) for call in calls),
        compressions=sum(each.folds for each in counted),
        savings=total_savings([each.savings for each in counted]),
    )


# A call is added up by day, by model, by source and by purpose.
@lru_cache(maxsize=1 << 14)
def _find_saving(usage: CanonicalUsage, model: str) -> Decimal | None:
    return cache_saving(usage, model)


def make_bill(calls: Iterable[Call]) -> Bill:
    """Add up what calls cost, and count how that is known."""
    listed = list(calls)
    kinds = [call.cost_kind for call in listed]
    return Bill(
        dollars=_sum_known(call.cost for call in listed),
        reported=kinds.count(CostKind.REPORTED),
        computed=kinds.count(CostKind.COMPUTED),
        partial=kinds.count(CostKind.PARTIAL),
        unknown=len(kinds) - sum(map(kinds.count, _KNOWN_KINDS)),
    )


_KNOWN_KINDS = (CostKind.REPORTED, CostKind.COMPUTED, CostKind.PARTIAL)


def group_by(counted: Iterable[CountedCall], key: Key) -> tuple[Group, ...]:
    """Add up calls by name, in the order in which the names first occur."""
    named: dict[str, list[CountedCall]] = {}
    for each in counted:
        named.setdefault(key(each.call) or UNNAMED, []).append(each)
    return tuple(Group(name, add_up(members)) for name, members in named.items())


def group_largest_first(counted: Iterable[CountedCall], key: Key) -> tuple[Group, ...]:
    """Add up calls by name; those that used most come first."""
    groups = group_by(counted, key)
    return tuple(sorted(groups, key=lambda group: group.totals.usage.total_tokens, reverse=True))


def group_days(
    counted: Sequence[CountedCall], since: float, until: float, zone: tzinfo | None = None
) -> tuple[Group, ...]:
    """Add up calls by day; days without a call are there, too. Without a zone, days are local ones."""
    groups = {group.name: group for group in group_by(counted, lambda call: _day(call, zone).isoformat())}
    first, last = (datetime.fromtimestamp(at, zone).date() for at in (since, until))
    days = [(first + timedelta(days=number)).isoformat() for number in range((last - first).days + 1)]
    return tuple(groups.get(day) or Group(day, add_up(())) for day in days)


def by_bucket(usage: CanonicalUsage) -> dict[str, int]:
    """Name the buckets that add up to all tokens, the cheapest first."""
    return {
        "from the cache": usage.cache_read_tokens,
        "into the cache": usage.cache_write_tokens,
        "fresh input": usage.input_tokens,
        "output": usage.output_tokens,
    }


def by_model(call: Call) -> str:
    return call.model


def by_source(call: Call) -> str:
    return call.source or ""


def by_purpose(call: Call) -> str:
    return call.purpose


def by_session(call: Call) -> str:
    return call.session_id or ""


def _day(call: Call, zone: tzinfo | None) -> date:
    return datetime.fromtimestamp(call.created_at or 0.0, zone).date()


def _sum_known(amounts: Iterable[Decimal | None]) -> Decimal | None:
    known = [amount for amount in amounts if amount is not None]
    return sum(known, Decimal(0)) if known else None
