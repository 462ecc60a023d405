"""The savings of folds, net of all they cost, and whether a fold is worth its price.

Leaving tokens out of every later request is only one side. A fold also makes a warm cache cold, a summary
has to be paid for, and what was folded may be read again. `net_savings` takes all of it from recorded usage;
`pays` weighs it beforehand.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from functools import reduce
from operator import add

from midfold.late_dataclasses import dataclass, replace
from midfold.tokens.models import Prices
from midfold.tokens.pricing import Cost, price, price_with
from midfold.tokens.usage import CanonicalUsage

_MILLION = 1_000_000
_NOTHING = Cost(Decimal(0))


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """One call of a conversation, with what a fold had to do with it."""

    usage: CanonicalUsage
    model: str
    is_summary: bool = False
    removed_tokens: int = 0
    """what a fold just before this call took out of the prompt, the summary already taken off; 0: no fold"""
    rereads: int = 0
    """results that came in with this call and that an earlier call, folded since, had brought before"""
    reread_tokens: int = 0
    results: int = 0
    """all results that came in with this call: where every one is a re-read, the call itself is their cost"""


@dataclass(frozen=True, slots=True)
class Amount:
    """The same thing in tokens and in dollars."""

    tokens: int
    cost: Cost


@dataclass(frozen=True, slots=True)
class Savings:
    """The gains of folds and their costs; only `net` says whether they were worth it."""

    folds: int
    rereads: int
    saved: Amount
    """what would have been sent as well, had nothing been folded"""
    cache_loss: Amount
    """what was in a cache before a fold and had to be sent afresh after it"""
    summaries: Amount
    reread: Amount

    @property
    def net(self) -> Amount:
        """The savings less all costs.

        Dollars are unknown as soon as one of the costs is: without it they would be gross. Where only part
        of the savings has a price, `cost` is the least they were worth.
        """
        costs = (self.cache_loss, self.summaries, self.reread)
        tokens = self.saved.tokens - sum(each.tokens for each in costs)
        spent = reduce(add, [each.cost for each in costs])
        saved = self.saved.cost
        if saved.dollars is None or spent.dollars is None or spent.unpriced:
            return Amount(tokens, Cost(None, (saved + spent).unpriced))
        return Amount(tokens, Cost(saved.dollars - spent.dollars, saved.unpriced))


# Of a call that no fold had to do with: most calls, and each would be priced six times to find that out.
_UNTOUCHED = Savings(0, 0, *(Amount(0, _NOTHING) for _ in range(4)))


@dataclass(frozen=True, slots=True)
class _Effect:
    """The effect of a fold on a call: usage as it was, and as it would have been step by step without it."""

    call: RecordedCall
    lost_tokens: int
    """of `call.usage`, what had to be sent afresh"""
    warm: CanonicalUsage
    unread: CanonicalUsage
    unfolded: CanonicalUsage


def net_savings(calls: Iterable[RecordedCall], *, context_length: int | None = None) -> Savings:
    """Report what the folds of one conversation saved, less all that they cost.

    `calls` are in the order in which they were made. With `context_length`, no call is credited with tokens
    that would not have fitted into the window. In doubt the estimate is low: a cache that would have expired
    anyway counts as lost.
    """
    return total_savings(savings_by_call(calls, context_length=context_length))


def savings_by_call(calls: Iterable[RecordedCall], *, context_length: int | None = None) -> list[Savings]:
    """Say for each call what the folds before it saved and cost, so that it can be added up by any key."""
    listed = list(calls)
    if not any(call.removed_tokens or call.rereads or call.reread_tokens for call in listed):
        return [_of_summary(call) if call.is_summary else _UNTOUCHED for call in listed]
    effects = _compare([call for call in listed if not call.is_summary], context_length)
    return [_of_summary(call) if call.is_summary else _of_effect(next(effects)) for call in listed]


def total_savings(parts: Sequence[Savings]) -> Savings:
    """Add up what several calls, or several conversations, saved."""
    return Savings(
        folds=sum(part.folds for part in parts),
        rereads=sum(part.rereads for part in parts),
        saved=_total(part.saved for part in parts),
        cache_loss=_total(part.cache_loss for part in parts),
        summaries=_total(part.summaries for part in parts),
        reread=_total(part.reread for part in parts),
    )


def _of_summary(call: RecordedCall) -> Savings:
    nothing = Amount(0, _NOTHING)
    spent = Amount(call.usage.total_tokens, price(call.usage, call.model))
    return Savings(int(call.removed_tokens > 0), call.rereads, nothing, nothing, spent, nothing)


def _of_effect(effect: _Effect) -> Savings:
    call = effect.call
    return Savings(
        folds=int(call.removed_tokens > 0),
        rereads=call.rereads,
        saved=_between(effect.unfolded, effect.unread, call.model),
        cache_loss=_loss(effect),
        summaries=Amount(0, _NOTHING),
        reread=_between(effect.warm, effect.unread, call.model),
    )


def _compare(calls: Sequence[RecordedCall], context_length: int | None) -> Iterator[_Effect]:
    """Yield what each call would have been, had nothing been folded before it."""
    removed = carried = 0
    previous: RecordedCall | None = None
    for call in calls:
        if call.removed_tokens:
            # What had been read again goes with this fold; without the first one it would not have come.
            removed = max(0, removed + call.removed_tokens - carried)
            carried = 0
        lost = _lost_tokens(previous, call) if call.removed_tokens else 0
        warm = _warmed(call.usage, lost)
        needed = _without_rereads(warm, call.reread_tokens, carried)
        room = removed if context_length is None else max(0, context_length - needed.prompt_tokens)
        unfolded = _with_removed(needed, min(removed, room))
        yield _Effect(call, lost, warm, _part_needed(needed, call), _part_needed(unfolded, call))
        carried += call.reread_tokens
        previous = call


def _lost_tokens(previous: RecordedCall | None, call: RecordedCall) -> int:
    """Say how much of a prompt was in the cache before the fold and did not come from it after."""
    if previous is None or previous.model != call.model:
        return 0
    before = previous.usage
    if not before.cache_read_tokens + before.cache_write_tokens:
        return 0
    return max(0, min(before.prompt_tokens, call.usage.prompt_tokens) - call.usage.cache_read_tokens)


def _warmed(usage: CanonicalUsage, tokens: int) -> CanonicalUsage:
    """Read `tokens` from the cache that were sent afresh."""
    fresh = _without_fresh(usage, tokens)
    return replace(fresh, cache_read_tokens=usage.cache_read_tokens + tokens)


def _without_fresh(usage: CanonicalUsage, tokens: int) -> CanonicalUsage:
    """Take tokens out of what was written to the cache, and then out of plain input."""
    written = min(tokens, usage.cache_write_tokens)
    left = usage.cache_write_tokens - written
    return replace(
        usage,
        cache_write_tokens=left,
        cache_write_1h_tokens=min(left, usage.cache_write_1h_tokens),
        input_tokens=max(0, usage.input_tokens - (tokens - written)),
    )


def _without_rereads(usage: CanonicalUsage, fresh: int, carried: int) -> CanonicalUsage:
    """Take out what was read again: `fresh` tokens with this call, `carried` ones with earlier calls."""
    usage = _without_fresh(usage, fresh)
    cached = min(carried, usage.cache_read_tokens)
    return _without_fresh(
        replace(usage, cache_read_tokens=usage.cache_read_tokens - cached), carried - cached
    )


def _part_needed(usage: CanonicalUsage, call: RecordedCall) -> CanonicalUsage:
    """Leave of a call what its other results needed; one that only brought re-reads was not needed."""
    if not call.rereads:
        return usage
    whole = max(call.results, call.rereads)
    part = whole - call.rereads
    return CanonicalUsage(
        usage.input_tokens * part // whole,
        usage.output_tokens * part // whole,
        usage.cache_read_tokens * part // whole,
        usage.cache_write_tokens * part // whole,
        usage.reasoning_tokens * part // whole,
        usage.cache_write_1h_tokens * part // whole,
    )


def _with_removed(usage: CanonicalUsage, tokens: int) -> CanonicalUsage:
    """Add tokens where the oldest part of this prompt was: read from a cache, written to one, or neither."""
    if usage.cache_read_tokens:
        return replace(usage, cache_read_tokens=usage.cache_read_tokens + tokens)
    if usage.cache_write_tokens:
        return replace(usage, cache_write_tokens=usage.cache_write_tokens + tokens)
    return replace(usage, input_tokens=usage.input_tokens + tokens)


def _loss(effect: _Effect) -> Amount:
    model = effect.call.model
    cost = _difference(price(effect.call.usage, model), price(effect.warm, model))
    return Amount(effect.lost_tokens, cost)


def _between(more: CanonicalUsage, less: CanonicalUsage, model: str) -> Amount:
    return Amount(more.total_tokens - less.total_tokens, _difference(price(more, model), price(less, model)))


def _difference(more: Cost, less: Cost) -> Cost:
    """Subtract costs; what is only known in part has no difference that means anything."""
    unpriced = tuple(sorted({*more.unpriced, *less.unpriced}))
    if more.dollars is None or less.dollars is None or unpriced:
        return Cost(None, unpriced)
    return Cost(more.dollars - less.dollars)


def _total(amounts: Iterable[Amount]) -> Amount:
    """Add up; calls with nothing at stake have no say in whether the price is known."""
    counted = [amount for amount in amounts if amount.tokens]
    tokens = sum(amount.tokens for amount in counted)
    return Amount(tokens, reduce(add, [amount.cost for amount in counted]) if counted else _NOTHING)


@dataclass(frozen=True, slots=True)
class Payoff:
    """Whether to fold now, and what that brings compared with waiting: an estimate, costs taken off."""

    worth_it: bool
    net_tokens: int
    net_cost: Cost
    why: str


def pays(
    tokens_now: int,
    tokens_after: int,
    *,
    hard_tokens: int,
    expected_turns: int,
    growth_tokens: int,
    cached_part: float = 0.0,
    head_tokens: int = 0,
    summary: CanonicalUsage | None = None,
    reread_tokens: int = 0,
    prices: Prices | None = None,
    summary_prices: Prices | None = None,
) -> Payoff:
    """Say whether a fold pays, or waits; from `hard_tokens` on it never waits.

    `growth_tokens` is what a turn adds. `cached_part`, 0 to 1, is how much of a prompt comes from a cache,
    and `head_tokens` what stays in it after a fold. `summary` is what the summariser will use, at
    `summary_prices` or those of the main model. Where a price is missing, tokens decide.

    What a fold takes out grows back, so its gain does not go on for ever. Folds that come every n turns save
    about half of what each takes out, over n turns; the fold is due when that has reached its cost. So
    savings count for half the turns until they are grown back, and never for more than `expected_turns`.
    """
    removed = max(0, tokens_now - tokens_after - reread_tokens)  # what is read again is back
    grows_back = removed / growth_tokens if growth_tokens > 0 else math.inf
    turns = min(expected_turns, grows_back / 2)
    saved = round(removed * turns)
    lost = round(max(0, tokens_after - head_tokens) * cached_part)
    used = summary or CanonicalUsage()
    prices = prices or Prices()
    spent = price_with(used, summary_prices or prices) if used.total_tokens else _NOTHING
    net_tokens = saved - lost - reread_tokens - used.total_tokens
    net_cost = _net_cost(saved, lost, reread_tokens, spent, _rates(prices, cached_part))
    if tokens_now >= hard_tokens:
        why = f"{tokens_now:,} tokens: from {hard_tokens:,} on a fold does not wait"
        return Payoff(True, net_tokens, net_cost, why)
    known = net_cost.dollars
    worth_it = net_tokens > 0 if known is None else known > 0
    amount = f"{abs(net_tokens):,} tokens" if known is None else f"${abs(known):.4f}"
    does = f"saves {amount}" if worth_it else f"costs {amount} more than it saves"
    return Payoff(worth_it, net_tokens, net_cost, f"over {turns:,.0f} turns a fold {does}")


@dataclass(frozen=True, slots=True)
class _Rates:
    """Dollars per million tokens, for what a fold changes."""

    carry: Decimal
    """to send a token of the old part of a prompt once more"""
    fresh: Decimal
    """to send a token for the first time"""
    rewrite: Decimal
    """to send a token afresh that was in the cache"""


def _rates(prices: Prices, cached_part: float) -> _Rates | None:
    """Derive the rates; `None` when a price they need is not known."""
    if prices.input is None:
        return None
    if not cached_part:
        return _Rates(prices.input, prices.input, Decimal(0))
    if prices.cache_read is None:
        return None
    part = Decimal(str(cached_part))
    # Where writing to the cache has no price of its own, it costs what input costs.
    fresh = prices.input if prices.cache_write is None else prices.cache_write
    carry = prices.cache_read * part + prices.input * (1 - part)
    return _Rates(carry, fresh, fresh - prices.cache_read)


def _net_cost(saved: int, lost: int, reread: int, spent: Cost, rates: _Rates | None) -> Cost:
    if rates is None or spent.dollars is None or spent.unpriced:
        return Cost(None)
    weighed = saved * rates.carry - lost * rates.rewrite - reread * rates.fresh
    return Cost(weighed / _MILLION - spent.dollars)
