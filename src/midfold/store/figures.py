"""Figures for reports on a period: calls added up, and figures kept for each conversation.

A report works out figures from all that a conversation says. They hold until the conversation grows, is
folded, or its fold is taken back: its `mark` is another one then.
"""

from collections.abc import Sequence
from decimal import Decimal
from typing import Protocol

from midfold.late_dataclasses import dataclass
from midfold.tokens import CanonicalUsage

SUMMED_SECONDS = 900
"""Calls are added up by quarters of an hour: in every time zone the day begins with one."""

BUCKETS = (
    "input_tokens",
    "output_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "reasoning_tokens",
    "cache_write_1h_tokens",
)
"""The columns of what a call used, as `CanonicalUsage` names them."""


@dataclass(frozen=True, slots=True)
class CallSum:
    """Calls of a quarter of an hour that are alike, added up."""

    at: float
    """when the quarter began"""
    source: str
    model: str
    purpose: str
    cost_kind: str
    calls: int
    usage: CanonicalUsage
    cost: Decimal | None
    """dollars of the calls whose cost is known"""
    longest_prompt: int
    """tokens; all of these calls are priced as this one"""


@dataclass(frozen=True, slots=True)
class ConversationFigures:
    """The figures of a conversation, as a JSON value."""

    conversation_id: str
    mark: str
    """what the conversation was like when it was read"""
    value: object


@dataclass(frozen=True, slots=True)
class ActiveConversation:
    """A conversation that had calls in a period."""

    id: str
    mark: str
    """says how far its sessions, messages and calls reach"""
    newest_call_at: float
    sessions: int
    model: str | None
    """of its newest session that names one"""
    dialect: str | None
    figures: object | None
    """what was kept by this mark"""


class Figures(Protocol):
    """Totals for reports: what need not be read again is kept."""

    def sum_calls(self, since: float, *, steps: Sequence[int] = ()) -> list[CallSum]:
        """Add up the calls since then, whatever sessions they are of.

        Calls are alike that have the same source, model, purpose and kind of cost, use the same buckets of
        the cache, and reach the same of the `steps`: lengths of prompts from which prices differ.
        """
        ...

    def active_conversations(self, since: float) -> list[ActiveConversation]:
        """List the conversations that had calls since then, by their newest calls, the newest first."""
        ...

    def keep_figures(self, figures: Sequence[ConversationFigures]) -> None:
        """Keep figures with their conversations, in place of older ones. One that is gone keeps none."""
        ...
