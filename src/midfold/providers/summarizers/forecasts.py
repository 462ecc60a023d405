"""What summaries will cost and how long they will take, before anything is sent."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise

from midfold.folding import SummaryRequest
from midfold.providers.names import PROVIDERS, Provider
from midfold.providers.summarizers.asking import system_text
from midfold.providers.summarizers.records import SummaryCall, price_call
from midfold.providers.summarizers.roles import ModelRef
from midfold.tokens import CanonicalUsage, Cost, TokenCounter, find_model

# Tokens sent → seconds until the answer is there, for as long as nothing was measured.
_FAST_SECONDS = ((10_000, 2.0), (50_000, 8.0), (100_000, 15.0))
_LARGE_SECONDS = ((10_000, 5.0), (50_000, 20.0), (100_000, 40.0))
_FAST_DOLLARS = Decimal(1)
"""Per million tokens sent: cheaper models are small, and small ones are fast."""


@dataclass(frozen=True, slots=True)
class Forecast:
    """What a number of calls to a model is expected to use, cost and take."""

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
