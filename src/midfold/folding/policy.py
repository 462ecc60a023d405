"""Settings of a compression, and the budgets that follow from them.

All budgets are tokens. A policy is made from configuration once and passed in; nothing here changes.
"""

from midfold.late_dataclasses import dataclass
from midfold.settings import Budget, FoldSettings, Strategy

THRESHOLD_FLOOR_TOKENS = 64_000
"""Windows under 128,000 would otherwise be folded before there is anything to fold."""
THRESHOLD_CAP = 0.85
"""At any setting, a request must still fit when the threshold is reached."""
TARGET_OF_THRESHOLD = 0.5
MIN_SAVED_PART = 0.10
MIN_SAVED_TOKENS = 500
"""A pass that saves less costs more than it brings: a cold cache, and detail for nothing."""
HEAD_OF_THRESHOLD = 0.15
TAIL_SLACK = 1.5
"""The factor by which the tail may exceed its budget rather than cut inside a group."""
CEILING_TAIL = 0.15
"""The tail's part of a hard ceiling; what it does not take goes to the digest."""
SUMMARY_RATIO = 0.20
SUMMARY_FLOOR_TOKENS = 2_000
SUMMARY_CAP_TOKENS = 12_000
SUMMARY_CAP_OF_WINDOW = 0.05
SMALL_WINDOW_PART = 4
"""Where a twentieth of the window is under the floor, a summary gets one part in so many of the threshold."""
# The room of a hard ceiling is split by expected use. With little room the notes hold more per token than the
# newest messages do: standing facts, open work, names. The more room there is, the less the next line of the
# notes adds, and the more the newest messages do. These figures were found by folding real conversations
# before a cut and looking for what was used after it.
_LEAST_TAIL, _MOST_TAIL = 0.08, 0.3
_TAIL_PER_ROOM = 1.25
PRUNES_FROM = 0.3
"""Below this part of a conversation's size notes and names keep more than stubs of results do."""
# Folded tokens below → part of them that a summary may take, when the budget is scaled.
_SCALE = ((10_000, 0.20), (30_000, 0.15), (100_000, 0.10))
_SCALE_ABOVE = 0.05


@dataclass(frozen=True, slots=True)
class CompressionPolicy(FoldSettings):
    """The settings of a compression, and the window that it is for.

    With `max_tokens` the request has a hard ceiling, system prompt and tools included, instead of threshold
    and target. The three fixed budgets count only with `Budget.FIXED`. A fold that waits until it pays never
    waits where room is short.
    """

    context_length: int = 200_000
    max_tokens: int | None = None
    summarizer_window: int | None = None
    add_system_note: bool = True

    @property
    def threshold_tokens(self) -> int:
        """Where automatic compression starts; the floor where the window is unknown."""
        if self.context_length <= 0:
            return THRESHOLD_FLOOR_TOKENS
        wanted = max(int(self.context_length * self.threshold), THRESHOLD_FLOOR_TOKENS)
        return min(wanted, int(self.context_length * THRESHOLD_CAP))

    @property
    def target_tokens(self) -> int:
        """The size that a compression aims at; with a ceiling, the ceiling itself."""
        if self.max_tokens is not None:
            return self.max_tokens
        return int(self.threshold_tokens * TARGET_OF_THRESHOLD)

    @property
    def head_budget_tokens(self) -> int:
        """The most that the first messages may take: a paste among them is folded like any other."""
        if self.budget is Budget.FIXED:
            return self.head_tokens
        return int(self.threshold_tokens * HEAD_OF_THRESHOLD)

    @property
    def tail_budget_tokens(self) -> int:
        """The budget of the newest messages, which stay as they are."""
        if self.max_tokens is not None:
            return share_tail(self.max_tokens)
        if self.budget is Budget.FIXED:
            return self.tail_tokens
        return int(self.threshold_tokens * self.target_ratio)

    def expect_tokens_after(self, tokens: int, head_tokens: int) -> int:
        """Guess what a compression leaves of a request of `tokens`."""
        if self.max_tokens is not None or self.strategy is not Strategy.FOLD:
            return self.target_tokens
        kept = head_tokens + self.tail_budget_tokens
        return min(self.target_tokens, kept + self.summary_budget_tokens(max(tokens - kept, 0)))

    def summary_budget_tokens(self, folded_tokens: int) -> int:
        """Return the most that the whole summary of `folded_tokens` may take, whoever writes it.

        Only a hard ceiling is filled up beyond it, and then by the digest alone.
        """
        if self.budget is Budget.FIXED:
            return min(self.summary_tokens, folded_tokens // 2)
        ratio = SUMMARY_RATIO if self.budget is Budget.RATIO else _scaled_ratio(folded_tokens)
        cap = SUMMARY_CAP_TOKENS
        if self.max_tokens is None:
            # In a small window a twentieth would hold little more than the prefix.
            least = min(SUMMARY_FLOOR_TOKENS, self.threshold_tokens // SMALL_WINDOW_PART)
            cap = min(max(int(self.context_length * SUMMARY_CAP_OF_WINDOW), least), cap)
        wanted = max(int(folded_tokens * ratio), SUMMARY_FLOOR_TOKENS)
        return min(wanted, max(cap, 1), folded_tokens // 2)

    def resummary_budget_tokens(self, folded_tokens: int, earlier_tokens: int) -> int:
        """Return the same where `earlier_tokens` of what is folded are an earlier summary.

        That one stands for what it was made of: a fold of little news must not halve the notes.
        """
        return self.summary_budget_tokens(folded_tokens + int(earlier_tokens * (1 / SUMMARY_RATIO - 1)))


def is_worth_it(saved_tokens: int, tokens_before: int) -> bool:
    """Whether a pass over a request of `tokens_before` saves enough; under a ceiling nobody asks."""
    return saved_tokens >= max(MIN_SAVED_TOKENS, tokens_before * MIN_SAVED_PART)


def share_tail(ceiling_tokens: int) -> int:
    """Return the newest messages' part of a hard ceiling; the digest gets what they do not take."""
    return int(ceiling_tokens * CEILING_TAIL)


def tail_share(ceiling: int, tokens_before: int) -> float:
    """Return the part of a ceiling that the newest messages may take; the notes get what they leave."""
    room = ceiling / max(tokens_before, 1)
    return min(_MOST_TAIL, max(_LEAST_TAIL, room * _TAIL_PER_ROOM))


def prefers_notes(ceiling: int, tokens_before: int) -> bool:
    """Whether a ceiling is so low that a fold keeps more of what is needed than pruning."""
    return ceiling < tokens_before * PRUNES_FROM


def _scaled_ratio(folded_tokens: int) -> float:
    return next((ratio for below, ratio in _SCALE if folded_tokens < below), _SCALE_ABOVE)
