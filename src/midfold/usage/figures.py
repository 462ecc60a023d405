"""The figures of a conversation that a report keeps: the shares of its tools, what folds did to its calls."""

from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from functools import cache
from importlib.metadata import version
from typing import Any

from midfold.late_dataclasses import dataclass
from midfold.tokens import Amount, Cost, Savings, ToolShare, snapshot_date
from midfold.usage.savings import CountedCall
from midfold.usage.totals import NO_USAGE, UsagePart

_FORM = 1
"""Rises with every change to how figures are worked out or written."""


@dataclass(frozen=True, slots=True)
class CallEffect:
    """The savings and costs of folds on a call, which is counted elsewhere."""

    at: float
    source: str
    model: str
    purpose: str
    folds: int
    savings: Savings

    @classmethod
    def of(cls, counted: CountedCall) -> "CallEffect":
        """Take from a counted call what its report does not say."""
        call = counted.call
        source = call.source or ""
        return cls(call.created_at or 0.0, source, call.model, call.purpose, counted.folds, counted.savings)

    @property
    def part(self) -> UsagePart:
        """The effect as a part of the usage of a period, without a call."""
        totals = NO_USAGE.with_savings(self.folds, self.savings)
        return UsagePart(self.at, self.source, self.model, self.purpose, totals)


@dataclass(frozen=True, slots=True)
class KeptFigures:
    """The figures of a conversation. `tools` is `None` where its messages were not read."""

    tools: tuple[ToolShare, ...] | None
    effects: tuple[CallEffect, ...]


def is_untouched(counted: CountedCall) -> bool:
    """Whether no fold had anything to do with a call."""
    savings = counted.savings
    amounts = (savings.saved, savings.cache_loss, savings.summaries, savings.reread)
    return not (counted.folds or savings.folds or savings.rereads or any(each.tokens for each in amounts))


def figures_as_value(figures: KeptFigures) -> object:
    """Render figures as a JSON value that says by which code and prices they were made."""
    return {
        "made_by": _maker(),
        "tools": [
            [each.name, each.calls, each.call_tokens, each.result_tokens, each.largest_result_tokens]
            for each in figures.tools or ()
        ],
        "effects": [
            [each.at, each.source, each.model, each.purpose, each.folds, _savings_as_value(each.savings)]
            for each in figures.effects
        ],
    }


def read_figures(value: object) -> KeptFigures | None:
    """Read figures; `None` where there are none, or other code made them."""
    if not isinstance(value, dict) or value.get("made_by") != _maker():
        return None
    try:
        return KeptFigures(
            tuple(ToolShare(*share) for share in value["tools"]),
            tuple(_read_effect(*effect) for effect in value["effects"]),
        )
    except (KeyError, TypeError, ValueError, InvalidOperation):
        return None


@cache
def _maker() -> list[object]:
    return [_FORM, version("midfold"), snapshot_date()]


def _read_effect(
    at: float, source: str, model: str, purpose: str, folds: int, savings: Sequence[Any]
) -> CallEffect:
    return CallEffect(at, source, model, purpose, folds, _read_savings(savings))


def _savings_as_value(savings: Savings) -> list[object]:
    amounts = (savings.saved, savings.cache_loss, savings.summaries, savings.reread)
    return [savings.folds, savings.rereads, *map(_amount_as_value, amounts)]


def _amount_as_value(amount: Amount) -> list[object]:
    dollars = amount.cost.dollars
    return [amount.tokens, None if dollars is None else str(dollars), *amount.cost.unpriced]


def _read_savings(value: Sequence[Any]) -> Savings:
    folds, rereads, *amounts = value
    return Savings(folds, rereads, *map(_read_amount, amounts))


def _read_amount(value: Sequence[Any]) -> Amount:
    tokens, dollars, *unpriced = value
    return Amount(tokens, Cost(None if dollars is None else Decimal(dollars), tuple(unpriced)))
