"""The window of a model: how large it is, and where that is known from."""

from typing import Literal

from midfold.errors import ConfigError
from midfold.late_dataclasses import dataclass
from midfold.tokens.learned_limits import LearnedLimits
from midfold.tokens.models import find_nearest_model

PROBE_TIERS = (256_000, 128_000, 64_000, 32_000, 16_000, 8_000, 4_096)
"""The windows that an unknown model is tried with, the largest first; an overflow steps down."""


@dataclass(frozen=True, slots=True)
class Window:
    """The most tokens a request may have."""

    tokens: int
    source: Literal["explicit", "learnt", "table", "probe", "server", "assumed"]


def resolve_window(
    model: str, *, endpoint: str = "", explicit: int | None = None, limits: LearnedLimits | None = None
) -> Window:
    """Say how large the window of `model` is.

    A setting comes first, then the table, then the highest probe tier. A limit the provider stated for this
    endpoint and model wins where it is lower, and always over a probe tier, which is only a guess; a setting
    that was changed since wins over it.
    """
    configured = _configured(model, explicit)
    stated = limits.get(endpoint, model, explicit=explicit) if limits else None
    if stated and (configured.source == "probe" or stated < configured.tokens):
        return Window(stated, "learnt")
    return configured


def next_tier(current_tokens: int) -> int | None:
    """Return the next lower guess after an overflow that stated no limit, or `None` below the lowest."""
    return next((tier for tier in PROBE_TIERS if tier < current_tokens), None)


def _configured(model: str, explicit: int | None) -> Window:
    if explicit is not None:
        if explicit < 1:
            raise ConfigError("model.context_length", explicit, hint="a number of tokens such as 200000")
        return Window(explicit, "explicit")
    facts = find_nearest_model(model)
    if facts and facts.max_input_tokens:
        return Window(facts.max_input_tokens, "table")
    return Window(PROBE_TIERS[0], "probe")
