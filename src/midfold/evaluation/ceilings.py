"""Whether ceilings are honest: asking for less never gives more, and a ceiling that can be met is met."""

from collections.abc import Sequence
from itertools import pairwise

from midfold.evaluation.baselines import fold_by_digest
from midfold.evaluation.conversations import MeasuredConversation
from midfold.late_dataclasses import dataclass

LADDER = (0.5, 0.4, 0.3, 0.25, 0.2, 0.15, 0.1, 0.075, 0.05, 0.035, 0.025, 0.02)
"""Parts of its size that every conversation is folded to, from large to small."""


@dataclass(frozen=True, slots=True)
class Rung:
    """One fold: the ceiling, and what came out."""

    ratio: float
    ceiling: int
    tokens: int


@dataclass(frozen=True, slots=True)
class CeilingLadder:
    """A conversation, folded to smaller and smaller ceilings."""

    conversation: str
    tokens_before: int
    rungs: tuple[Rung, ...]

    @property
    def larger(self) -> list[tuple[Rung, Rung]]:
        """The neighbours of which the smaller ceiling gave the larger result."""
        return [(above, below) for above, below in pairwise(self.rungs) if below.tokens > above.tokens]

    @property
    def unmet(self) -> list[Rung]:
        """The results over a ceiling that another fold of the same conversation shows can be met."""
        least = min((rung.tokens for rung in self.rungs), default=0)
        return [rung for rung in self.rungs if rung.tokens > rung.ceiling >= least]


@dataclass(frozen=True, slots=True)
class CeilingFigures:
    """All conversations: those with a larger result for a smaller ceiling, and with one that was not met."""

    conversations: int
    larger_results: int
    unmet_ceilings: int


def climb_down(conversation: MeasuredConversation, ladder: Sequence[float] = LADDER) -> CeilingLadder:
    """Fold a conversation to every ratio of the ladder, each time from the original."""
    rungs = []
    for ratio in sorted(ladder, reverse=True):
        ceiling = conversation.ceiling(ratio)
        rungs.append(Rung(ratio, ceiling, fold_by_digest(conversation, ceiling).tokens))
    return CeilingLadder(conversation.name, conversation.tokens, tuple(rungs))


def summarize_ceilings(ladders: Sequence[CeilingLadder]) -> CeilingFigures | None:
    """Count the conversations that break the promise."""
    if not ladders:
        return None
    return CeilingFigures(
        conversations=len(ladders),
        larger_results=sum(bool(ladder.larger) for ladder in ladders),
        unmet_ceilings=sum(bool(ladder.unmet) for ladder in ladders),
    )
