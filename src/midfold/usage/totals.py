"""Totals: what calls used, cost and saved, added up by day, model, source or whatever else is asked for."""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta, tzinfo
from decimal import Decimal
from functools import lru_cache, reduce
from operator import add, attrgetter
from typing import TypeAlias

from midfold.late_dataclasses import dataclass, replace
from midfold.store import Call, CallSum
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

    def with_savings(self, compressions: int, savings: Savings) -> "Totals":
        """Return the same calls with what folds had to do with them."""
        return replace(self, compressions=compressions, savings=savings)


NO_USAGE = Totals(0, CanonicalUsage(), Bill(), None, 0, total_savings(()))
"""No call at all."""


@dataclass(frozen=True, slots=True)
class UsagePart:
    """A part of the usage of a period: calls that are alike, or what folds had to do with one."""

    at: float
    source: str
    model: str
    purpose: str
    totals: Totals


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


_BUCKETS = attrgetter(*CanonicalUsage.__dataclass_fields__)
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


def add_up_sum(calls: CallSum) -> Totals:
    """Return calls that a store added up; of folds it knows nothing."""
    kind = calls.cost_kind if calls.cost_kind in _KNOWN_KINDS else CostKind.UNKNOWN
    return replace(
        NO_USAGE,
        calls=calls.calls,
        usage=calls.usage,
        bill=Bill(
            calls.cost, *(calls.calls if kind == each else 0 for each in (*_KNOWN_KINDS, CostKind.UNKNOWN))
        ),
        cache_saving=cache_saving(calls.usage, calls.model, prompt_tokens=calls.longest_prompt),
    )


def join(parts: Sequence[Totals]) -> Totals:
    """Add up totals."""
    bills = [part.bill for part in parts]
    return Totals(
        calls=sum(part.calls for part in parts),
        usage=_join_usage([part.usage for part in parts]),
        bill=Bill(
            dollars=_sum_known(bill.dollars for bill in bills),
            reported=sum(bill.reported for bill in bills),
            computed=sum(bill.computed for bill in bills),
            partial=sum(bill.partial for bill in bills),
            unknown=sum(bill.unknown for bill in bills),
        ),
        cache_saving=_sum_known(part.cache_saving for part in parts),
        compressions=sum(part.compressions for part in parts),
        savings=total_savings([part.savings for part in parts if part.savings is not NO_USAGE.savings]),
    )


def group_parts(parts: Iterable[UsagePart], key: Callable[[UsagePart], str]) -> tuple[Group, ...]:
    """Add up parts by name; those that used most come first."""
    return tuple(sorted(_group(parts, key), key=lambda group: group.totals.usage.total_tokens, reverse=True))


def group_days(
    parts: Sequence[UsagePart], since: float, until: float, zone: tzinfo | None = None
) -> tuple[Group, ...]:
    """Add up parts by day; days without any are there, too. Without a zone, days are local ones."""
    groups = {group.name: group for group in _group(parts, lambda part: _day(part.at, zone))}
    first, last = (datetime.fromtimestamp(at, zone).date() for at in (since, until))
    days = [(first + timedelta(days=number)).isoformat() for number in range((last - first).days + 1)]
    return tuple(groups.get(day) or Group(day, NO_USAGE) for day in days)


def _group(parts: Iterable[UsagePart], key: Callable[[UsagePart], str]) -> list[Group]:
    named: dict[str, list[Totals]] = {}
    for part in parts:
        named.setdefault(key(part) or UNNAMED, []).append(part.totals)
    return [Group(name, join(members)) for name, members in named.items()]


def _join_usage(usages: Sequence[CanonicalUsage]) -> CanonicalUsage:
    columns = zip(*map(_BUCKETS, usages), strict=True)
    return CanonicalUsage(*map(sum, columns))


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


def by_purpose(call: Call) -> str:
    return call.purpose


def by_session(call: Call) -> str:
    return call.session_id or ""


def _day(at: float, zone: tzinfo | None) -> str:
    return datetime.fromtimestamp(at, zone).date().isoformat()


def _sum_known(amounts: Iterable[Decimal | None]) -> Decimal | None:
    known = [amount for amount in amounts if amount is not None]
    return sum(known, Decimal(0)) if known else None
