"""Learns from the provider's own counts how far ours are off.

The transcript is never the whole request: system prompts, tool schemas and the provider's framing are often
not in it. So the next request is not estimated from nothing, but as the last reported count plus what came
after it, times a factor learnt from how much earlier reports grew.
"""

from math import ceil

from midfold.late_dataclasses import dataclass, replace

# What the starting factor weighs against evidence, in tokens of growth.
_PRIOR_TOKENS = 4_000.0
# A reply a month ago says less than one just now: evidence halves in about 23 replies.
_MEMORY = 0.97
# Below this, framing and rounding outweigh the words.
_MIN_GROWTH_TOKENS = 50
# Outside, something else happened between two replies: a compaction, a reminder slipped in, dropped thinking.
_PLAUSIBLE_FACTORS = (0.5, 2.0)


@dataclass(frozen=True, slots=True)
class Calibration:
    """The last report of the provider, and how its counts relate to ours."""

    factor: float = 1.0
    reported_tokens: int = 0
    """the last reported count; 0 before the first reply"""
    counted_tokens: int = 0
    """our count of the request that report was about"""
    evidence_tokens: float = _PRIOR_TOKENS

    def observe(self, reported_tokens: int, counted_tokens: int) -> "Calibration":
        """Take in the prompt tokens a provider reported for a request that we counted.

        A report of nothing, as aborted calls give, teaches nothing.
        """
        if reported_tokens <= 0:
            return self
        learnt = self._learn(reported_tokens - self.reported_tokens, counted_tokens - self.counted_tokens)
        return replace(learnt, reported_tokens=reported_tokens, counted_tokens=counted_tokens)

    def estimate(self, counted_tokens: int) -> int:
        """Estimate what the provider will report for a request that we count as `counted_tokens`."""
        if not self.reported_tokens:
            return counted_tokens
        growth = counted_tokens - self.counted_tokens
        estimate = self.reported_tokens + self.factor * growth
        if growth < 0:  # compressed since: what is left costs at least its share
            estimate = max(estimate, self.reported_tokens * counted_tokens / self.counted_tokens)
        return ceil(estimate)

    def _learn(self, reported_growth: int, counted_growth: int) -> "Calibration":
        if not self.reported_tokens or counted_growth < _MIN_GROWTH_TOKENS:
            return self
        ratio = reported_growth / counted_growth
        lowest, highest = _PLAUSIBLE_FACTORS
        if not lowest <= ratio <= highest:
            return self
        remembered = self.evidence_tokens * _MEMORY
        evidence = remembered + counted_growth
        factor = (self.factor * remembered + ratio * counted_growth) / evidence
        return replace(self, factor=factor, evidence_tokens=evidence)
