"""The price of a call, from its usage and the table of models; an unknown price is never nothing."""

from decimal import Decimal

from midfold.late_dataclasses import dataclass
from midfold.tokens.models import Prices, find_model
from midfold.tokens.usage import CanonicalUsage

_MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Cost:
    """Dollars, as far as they are known.

    `dollars` is `None` when no price is known at all. Where `unpriced` names buckets, tokens were used for
    which no price is known, and `dollars` is what the others cost: the least it can have been.
    """

    dollars: Decimal | None
    unpriced: tuple[str, ...] = ()

    @property
    def is_complete(self) -> bool:
        """Whether every token that was used has a price."""
        return self.dollars is not None and not self.unpriced

    def __add__(self, other: "Cost") -> "Cost":
        """Return the cost of both together; what is unpriced in one stays named."""
        if not isinstance(other, Cost):
            return NotImplemented
        known = [cost.dollars for cost in (self, other) if cost.dollars is not None]
        unpriced = tuple(sorted({*self.unpriced, *other.unpriced}))
        return Cost(sum(known, Decimal(0)) if known else None, unpriced)


def price(usage: CanonicalUsage, model: str) -> Cost:
    """Price the usage of one call.

    Long prompts may have a price list of their own, so calls are priced one by one and their costs added.
    """
    return price_with(usage, _find_prices(model, usage.prompt_tokens))


def price_with(usage: CanonicalUsage, prices: Prices) -> Cost:
    """Price usage by a given price list, such as one from the user's settings."""
    used = _tokens_by_price(usage, prices)
    unpriced = tuple(bucket for bucket, tokens, dollars in used if tokens and dollars is None)
    known = [tokens * dollars / _MILLION for _, tokens, dollars in used if tokens and dollars is not None]
    if not known and (unpriced or prices == Prices()):
        return Cost(None, unpriced)
    return Cost(sum(known, Decimal(0)), unpriced)


def cache_saving(usage: CanonicalUsage, model: str, *, prompt_tokens: int | None = None) -> Decimal | None:
    """Return the dollars that prompt caching saved on one call; negative where writing cost more.

    `None` when a price it takes to know is not known. Of several calls together, `prompt_tokens` is the
    length of the prompt that all of them are priced by.
    """
    prices = _find_prices(model, usage.prompt_tokens if prompt_tokens is None else prompt_tokens)
    if prices.input is None:
        return None
    saving = Decimal(0)
    for bucket, tokens, dollars in _tokens_by_price(usage, prices):
        if bucket.startswith("cache") and tokens:
            if dollars is None:
                return None
            saving += tokens * (prices.input - dollars) / _MILLION
    return saving


def _find_prices(model: str, prompt_tokens: int) -> Prices:
    """Choose a price list by the length of the prompt; the highest tier it reaches holds for all of it."""
    facts = find_model(model)
    if not facts:
        return Prices()
    reached = [tier.prices for tier in facts.tiers if prompt_tokens > tier.above_tokens]
    return reached[-1] if reached else facts.prices or Prices()


def _tokens_by_price(usage: CanonicalUsage, prices: Prices) -> list[tuple[str, int, Decimal | None]]:
    """List each bucket with its tokens and its price per million."""
    return [
        ("input", usage.input_tokens, prices.input),
        ("output", usage.output_tokens, prices.output),
        ("cache_read", usage.cache_read_tokens, prices.cache_read),
        ("cache_write", usage.cache_write_tokens - usage.cache_write_1h_tokens, prices.cache_write),
        ("cache_write_1h", usage.cache_write_1h_tokens, prices.cache_write_1h),
    ]
