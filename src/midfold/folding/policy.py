"""Settings of a compression, and the budgets that follow from them.

All budgets are tokens. A policy is made from configuration once and passed in; nothing here changes.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from midfold.settings import SWITCH, TOKENS, choice, list_settings, number, whole
from midfold.summaries import Template

THRESHOLD_FLOOR_TOKENS = 64_000
"""Windows under 128,000 would otherwise be folded before there is anything to fold."""
THRESHOLD_CAP = 0.85
"""At any setting, a request must still fit when the threshold is reached."""
TARGET_OF_THRESHOLD = 0.5
TAIL_SLACK = 1.5
"""The factor by which the tail may exceed its budget rather than cut inside a group."""
CEILING_TAIL = 0.15
"""The tail's part of a hard ceiling; what it does not take goes to the digest."""
SUMMARY_RATIO = 0.20
SUMMARY_FLOOR_TOKENS = 2_000
SUMMARY_CAP_TOKENS = 12_000
SUMMARY_CAP_OF_WINDOW = 0.05
# FoldedNumbers tokens below → part of them that a summary may take, when the budget is scaled.
_SCALE = ((10_000, 0.20), (30_000, 0.15), (100_000, 0.10))
_SCALE_ABOVE = 0.05


class Strategy(StrEnum):
    """The extent of a compression: pruning, folding, or both as needed."""

    STAGED = "staged"
    FOLD = "fold"
    PRUNE = "prune"


class Style(StrEnum):
    """The form in which an old tool result stays."""

    STUB = "stub"
    EXCERPT = "excerpt"
    PLACEHOLDER = "placeholder"


class Budget(StrEnum):
    """The rule by which a summary's budget follows from what it replaces."""

    RATIO = "ratio"
    SCALED = "scaled"
    FIXED = "fixed"


_THRESHOLD = number("a number above 0 and at most 1", lambda value: 0 < value <= 1)
_TARGET_RATIO = number("a number from 0.1 to 0.8", lambda value: 0.1 <= value <= 0.8)


@dataclass(frozen=True, slots=True)
class FoldSettings:
    """The settings of a compression, declared once for every surface that takes them."""

    threshold: Annotated[float, _THRESHOLD, "part of the window at which compression starts"] = 0.5
    target_ratio: Annotated[float, _TARGET_RATIO, "part of the threshold kept for the newest messages"] = 0.2
    protect_last_n: Annotated[int, whole("messages"), "newest messages that are not pruned"] = 20
    protect_first_n: Annotated[int, whole("messages", least=0), "first messages that are kept"] = 3
    strategy: Annotated[Strategy, choice(Strategy), "how much is folded"] = Strategy.STAGED
    style: Annotated[Style, choice(Style), "what stays of an old tool result"] = Style.STUB
    template: Annotated[Template, choice(Template), "headings of a summary"] = Template.HANDOFF
    pins: Annotated[bool, SWITCH, "whether the user's rules are kept word for word"] = True
    budget: Annotated[Budget, choice(Budget), "how room is shared out"] = Budget.RATIO
    head_tokens: Annotated[int, TOKENS, "first messages, with `budget: fixed`"] = 4_000
    tail_tokens: Annotated[int, TOKENS, "newest messages, with `budget: fixed`"] = 16_000
    summary_tokens: Annotated[int, TOKENS, "summary, with `budget: fixed`"] = 4_000
    wait_until_it_pays: Annotated[
        bool, SWITCH, "whether a fold waits while a warm cache makes it cost more than it saves"
    ] = False


FOLD_SETTINGS = {setting.key: setting for setting in list_settings(FoldSettings())}
"""The declarations by name."""


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
    def tail_budget_tokens(self) -> int:
        """The budget of the newest messages, which stay as they are."""
        if self.max_tokens is not None:
            return int(self.max_tokens * CEILING_TAIL)
        if self.budget is Budget.FIXED:
            return self.tail_tokens
        return int(self.threshold_tokens * self.target_ratio)

    def summary_budget_tokens(self, folded_tokens: int) -> int:
        """Return the most that a model-written summary of `folded_tokens` may take."""
        if self.budget is Budget.FIXED:
            return min(self.summary_tokens, folded_tokens // 2)
        ratio = SUMMARY_RATIO if self.budget is Budget.RATIO else _scaled_ratio(folded_tokens)
        cap = SUMMARY_CAP_TOKENS
        if self.max_tokens is None:
            cap = min(int(self.context_length * SUMMARY_CAP_OF_WINDOW), cap)
        wanted = max(int(folded_tokens * ratio), SUMMARY_FLOOR_TOKENS)
        return min(wanted, max(cap, 1), folded_tokens // 2)


def free_summary_tokens(folded_tokens: int) -> int:
    """Return the length of a summary of `folded_tokens` where nothing limits it."""
    return min(max(int(folded_tokens * SUMMARY_RATIO), SUMMARY_FLOOR_TOKENS), folded_tokens // 2)


def _scaled_ratio(folded_tokens: int) -> float:
    return next((ratio for below, ratio in _SCALE if folded_tokens < below), _SCALE_ABOVE)
