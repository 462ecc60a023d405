"""What each call for a summary used and cost, for those who report usage."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from midfold.providers.names import Provider
from midfold.providers.summarizers.roles import ModelRef
from midfold.tokens import CanonicalUsage, Cost, price
from midfold.wire.apis import Completion

UNKNOWN_COST = Cost(None)
_NOTHING_REPORTED = CanonicalUsage()


@dataclass(frozen=True, slots=True)
class SummaryCall:
    """One question to a model and how it ended. An answer that cannot be used is paid for all the same.

    `usage` is nothing, and `cost` unknown, where the provider reported none.
    """

    model: str
    seconds: float
    failure: str | None = None
    """why there is no summary; `None` where there is one"""
    usage: CanonicalUsage = _NOTHING_REPORTED
    raw_usage: object = field(default=None, repr=False)
    cost: Cost = UNKNOWN_COST

    @property
    def ok(self) -> bool:
        return self.failure is None


def record_call(
    model: ModelRef,
    providers: Mapping[str, Provider],
    *,
    seconds: float,
    failure: str | None,
    completion: Completion | None,
) -> SummaryCall:
    """Put down a call, with what the answer says that it used."""
    if completion is None or completion.raw_usage is None:
        return SummaryCall(model.name, seconds, failure)
    return SummaryCall(
        model.name,
        seconds,
        failure,
        completion.usage,
        completion.raw_usage,
        _cost(completion, model, providers),
    )


def price_call(usage: CanonicalUsage, model: ModelRef, providers: Mapping[str, Provider]) -> Cost:
    """Price usage by the table; unknown on servers without keys, whatever their model costs elsewhere."""
    provider = model.provider(providers)
    has_key = bool(provider.key_env or provider.key_file or model.key)
    return price(usage, model.name) if has_key else UNKNOWN_COST


def _cost(completion: Completion, model: ModelRef, providers: Mapping[str, Provider]) -> Cost:
    charged = completion.reported_cost
    return price_call(completion.usage, model, providers) if charged is None else Cost(charged)
