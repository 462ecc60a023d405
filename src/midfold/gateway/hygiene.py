"""The hygiene gate: a net for conversations that grew between two requests, whatever their engine thinks."""

from midfold.late_dataclasses import dataclass

_FEWEST_MESSAGES = 4
"""Fewer have no middle that could be folded."""


@dataclass(frozen=True, slots=True)
class HygieneGate:
    """The size from which a request is folded before anything else."""

    share: float = 0.85
    """of the window"""

    def is_over(self, tokens: int, messages: int, *, window_tokens: int, threshold_tokens: int) -> bool:
        """Whether a request is folded.

        The gate never lies below the threshold of the engine: an equal one would fold on every turn.
        """
        if messages < _FEWEST_MESSAGES or window_tokens <= 0:
            return False
        return tokens >= max(window_tokens * self.share, threshold_tokens)
