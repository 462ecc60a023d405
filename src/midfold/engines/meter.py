"""Measures of a conversation: the size of a request, its growth, and whether folding it pays yet.

A request is read and counted once, and corrected by what providers report.
"""

from collections.abc import Sequence

from midfold.engines.reader import Reader
from midfold.folding import CompressionPolicy, Tier
from midfold.late_dataclasses import dataclass, replace
from midfold.messages import MessageCache
from midfold.summaries.ledger import LedgerCache
from midfold.tokens import Calibration, CanonicalUsage, Payoff, TokenCounter, find_model, pays

_MOST_PER_COUNTED = 4
"""No vocabulary needs so many times the tokens that we count."""
_MOST_UNSEEN_TOKENS = 30_000
"""Tools and system prompts that a host did not show."""


class Meter:
    """Remembers one conversation with one model: its messages, their sizes, and the reports on them.

    `key` is the one that the placeholders of secrets are written with; `cache` knows messages that were read
    before, also by others.
    """

    def __init__(self, model: str, key: bytes, cache: MessageCache) -> None:
        self.reader = Reader(TokenCounter(model or None), LedgerCache(key), cache, is_model_known=bool(model))
        self._model = model
        self._beside_tokens = 0
        self._pace = Pace()
        self._calibration = Calibration()
        self._sent_tokens: int | None = None
        self._count = self.reader.count

    def estimate(self, messages: Sequence[object], system: object, tools: Sequence[object] | None) -> int:
        """Estimate a request: the last report and what came after it, else our own count."""
        self.reader.read(messages)
        if self._count is not self.reader.count:
            # Reports that were compared with another count say nothing about this one.
            self._count, self._calibration = self.reader.count, Calibration()
        self._beside_tokens = self.reader.count_system_and_tools(system, tools)
        self._sent_tokens = self.reader.tokens + self._beside_tokens
        return self._calibration.estimate(self._sent_tokens)

    @property
    def is_reported(self) -> bool:
        """Whether an estimate starts from what the provider reported; what came after that is counted."""
        return self._calibration.reported_tokens > 0

    def is_plausible(self, used: CanonicalUsage) -> bool:
        """Whether a report can be about the request that was last estimated, and not far above it."""
        if self._sent_tokens is None:
            return True
        return used.prompt_tokens <= self._sent_tokens * _MOST_PER_COUNTED + _MOST_UNSEEN_TOKENS

    def observe(self, used: CanonicalUsage) -> None:
        """Take in the report on the request that was last estimated."""
        self._pace = self._pace.observe(used)
        if self._sent_tokens is not None:
            self._calibration = self._calibration.observe(used.prompt_tokens, self._sent_tokens)

    def whole_request(self, current_tokens: int | None, last_prompt_tokens: int) -> int:
        """Return the size of the request these messages are part of; never less than the messages alone."""
        counted = self.reader.tokens + self._beside_tokens
        if current_tokens is not None:
            return max(current_tokens, counted)
        return max(self._calibration.estimate(counted), last_prompt_tokens, counted)

    def estimate_read(self) -> int:
        """Estimate the request with the messages that were last read."""
        return self._calibration.estimate(self.reader.tokens + self._beside_tokens)

    def expect(self, messages_tokens: int | None) -> None:
        """Set the size of the messages that the next report is about; `None` where it is not known."""
        self._sent_tokens = None if messages_tokens is None else messages_tokens + self._beside_tokens

    def why_wait(self, tokens: int, policy: CompressionPolicy, *, uses_model: bool) -> str:
        """Say why a fold of a request of `tokens` is put off for its price; nothing where it is not."""
        if not policy.wait_until_it_pays or tokens < policy.threshold_tokens:
            return ""
        payoff = weigh_payback(
            tokens,
            policy,
            self._pace,
            model=self._model,
            head_tokens=self._beside_tokens + sum(self.reader.sizes[: policy.protect_first_n]),
            uses_model=uses_model,
        )
        return "" if payoff.worth_it else payoff.why


_MEMORY = 0.9
"""The weight of older turns against the newest: about the last twenty count."""
_FEWEST_TURNS = 10
"""A conversation whose beginning nobody saw is expected to go on for at least as long as this."""
_INSTRUCTIONS_TOKENS = 1_000


@dataclass(frozen=True, slots=True)
class Pace:
    """The growth of a conversation, and the part of it that comes from a cache."""

    turns: int = 0
    last_tokens: int = 0
    growth_tokens: float = 0.0
    """of one turn"""
    cached_part: float = 0.0

    def observe(self, used: CanonicalUsage) -> "Pace":
        """Take in a call; one that did not grow comes after a fold or a failure, and does not count."""
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


def weigh_payback(
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
    after = policy.expect_tokens_after(tokens, head_tokens)
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
