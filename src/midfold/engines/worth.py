"""It pays, or it waits: whether a fold that is due is worth its price yet."""

from dataclasses import dataclass, replace

from midfold.folding import CompressionPolicy, Tier
from midfold.tokens import CanonicalUsage, Payoff, find_model, pays

_MEMORY = 0.9
"""What older turns weigh against the newest: about the last twenty count."""
_FEWEST_TURNS = 10
"""A conversation whose beginning nobody saw is expected to go on for at least as long as this."""
_INSTRUCTIONS_TOKENS = 1_000


@dataclass(frozen=True, slots=True)
class Pace:
    """How a conversation grows, and how much of it comes from a cache."""

    turns: int = 0
    last_tokens: int = 0
    growth_tokens: float = 0.0
    """of one turn"""
    cached_part: float = 0.0

    def observe(self, used: CanonicalUsage) -> "Pace":
        """Take in a call; one that did not grow comes after a fold or a failure, and tells nothing."""
        grown = used.prompt_tokens - self.last_tokens
        seen = replace(self, turns=self.turns + 1, last_tokens=used.prompt_tokens)
        if not self.last_tokens or grown <= 0:
            return seen
        memory = _MEMORY if self.growth_tokens else 0.0
        return replace(
            seen,
            growth_tokens=self.growth_tokens * memory + grown * (1 - memory),
            cached_part=self.cached_part * memory + used.cache_hit_rate * (1 - memory),
        )


def is_worth_it(
    tokens: int,
    policy: CompressionPolicy,
    pace: Pace,
    *,
    model: str,
    head_tokens: int,
    uses_model: bool,
) -> Payoff:
    """Weigh folding a request of `tokens` now; from the tier on at which a fold is forced, it always is.

    `head_tokens` is what stays in the cache after a fold. How long the conversation goes on is unknown: as
    long again as it has gone on so far is the best guess. A summariser's prices are not known here, so that
    those of the main model stand for them.
    """
    after = policy.target_tokens
    facts = find_model(model) if model else None
    written = policy.summary_budget_tokens(max(tokens - after, 0))
    return pays(
        tokens,
        after,
        hard_tokens=policy.context_length * Tier.COMPRESS // 100,
        expected_turns=max(pace.turns, _FEWEST_TURNS),
        growth_tokens=round(pace.growth_tokens),
        cached_part=pace.cached_part,
        head_tokens=head_tokens,
        summary=CanonicalUsage(tokens - after + _INSTRUCTIONS_TOKENS, written) if uses_model else None,
        prices=facts.prices if facts else None,
    )
