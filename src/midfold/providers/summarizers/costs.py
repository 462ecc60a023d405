"""The cost of summaries: of calls that were made, and of calls that are to be made."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from itertools import pairwise

from midfold.folding import SummaryRequest
from midfold.late_dataclasses import dataclass, field
from midfold.providers.catalog import PROVIDERS, Provider
from midfold.providers.summarizers.model_ref import ModelRef
from midfold.texts import read_text
from midfold.tokens import CanonicalUsage, Cost, TokenCounter, find_model, price
from midfold.wire.apis import Completion

UNKNOWN_COST = Cost(None)
_NOTHING_REPORTED = CanonicalUsage()
# Tokens sent → seconds until the answer is there, for as long as nothing was measured.
_FAST_SECONDS = ((10_000, 2.0), (50_000, 8.0), (100_000, 15.0))
_LARGE_SECONDS = ((10_000, 5.0), (50_000, 20.0), (100_000, 40.0))
_FAST_DOLLARS = Decimal(1)
"""Per million tokens sent: cheaper models are small, and small ones are fast."""


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


def system_text() -> str:
    """Return the system prompt of a summarising model."""
    return read_text("midfold.providers.summarizers", "system.md").strip()


@dataclass(frozen=True, slots=True)
class Forecast:
    """The tokens, dollars and seconds that some calls to a model are expected to take."""

    model: str
    calls: int
    input_tokens: int
    output_tokens: int
    cost: Cost
    seconds: float
    is_measured: bool
    """whether the seconds come from calls of this model that were made"""


def forecast(
    requests: Sequence[SummaryRequest],
    model: ModelRef | str,
    *,
    measured: Sequence[SummaryCall] = (),
    providers: Mapping[str, Provider] = PROVIDERS,
) -> Forecast:
    """Foresee the calls for `requests`; answers are taken to be as long as they are asked to be.

    Raises `ConfigError` for a name that nobody can call. `measured` are earlier calls, of any model.
    """
    ref = ModelRef(model) if isinstance(model, str) else model
    count = TokenCounter(ref.name).count_text
    usages = [
        CanonicalUsage(count(system_text()) + count(request.prompt), request.max_tokens)
        for request in requests
    ]
    own = [call for call in measured if call.ok and call.model == ref.name and call.usage.total_tokens]
    used = sum(usages, CanonicalUsage())
    seconds = (
        sum(call.seconds for call in own) * used.total_tokens / sum(call.usage.total_tokens for call in own)
        if own
        else sum(_table_seconds(ref.name, usage.prompt_tokens) for usage in usages)
    )
    costs = [price_call(usage, ref, providers) for usage in usages]
    return Forecast(
        model=ref.name,
        calls=len(usages),
        input_tokens=used.prompt_tokens,
        output_tokens=used.output_tokens,
        cost=sum(costs, Cost(Decimal(0))) if all(cost.is_complete for cost in costs) else Cost(None),
        seconds=seconds,
        is_measured=bool(own),
    )


def _table_seconds(model: str, tokens: int) -> float:
    """Read the table; between its lines and beyond them it is taken to be straight."""
    facts = find_model(model)
    dollars = facts.prices.input if facts and facts.prices else None
    table = _FAST_SECONDS if dollars is not None and dollars <= _FAST_DOLLARS else _LARGE_SECONDS
    pairs = list(pairwise(table))
    (low, low_seconds), (high, high_seconds) = next(
        (pair for pair in pairs if tokens <= pair[1][0]), pairs[-1]
    )
    return low_seconds + (high_seconds - low_seconds) * (tokens - low) / (high - low)
