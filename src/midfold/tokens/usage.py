"""The usage of one call, or of many: the same figures whatever the provider calls them."""

from midfold.late_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CanonicalUsage:
    """Tokens by bucket.

    The three input buckets (fresh, read from a cache, written to one) are disjoint. Reasoning is part of the
    output, and the writes that last an hour are part of the cache writes: both are shown, never added.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0
    cache_write_1h_tokens: int = 0

    @property
    def prompt_tokens(self) -> int:
        """All that was sent; what decides about compression, since cached tokens fill the window too."""
        return self.input_tokens + self.cache_read_tokens + self.cache_write_tokens

    @property
    def total_tokens(self) -> int:
        """All that was sent and received."""
        return self.prompt_tokens + self.output_tokens

    @property
    def cache_hit_rate(self) -> float:
        """The part of the prompt that came from a cache, 0 to 1; 0 where nothing was sent."""
        return self.cache_read_tokens / self.prompt_tokens if self.prompt_tokens else 0.0

    def __add__(self, other: "CanonicalUsage") -> "CanonicalUsage":
        """Return the usage of both together."""
        if not isinstance(other, CanonicalUsage):
            return NotImplemented
        return CanonicalUsage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cache_read_tokens + other.cache_read_tokens,
            self.cache_write_tokens + other.cache_write_tokens,
            self.reasoning_tokens + other.reasoning_tokens,
            self.cache_write_1h_tokens + other.cache_write_1h_tokens,
        )
