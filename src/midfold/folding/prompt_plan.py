"""What a summariser is shown: prompts that its window can take together with the answer it owes.

Turns and facts are shared out over as many prompts as that takes, and each prompt shows the notes on all that
came before. No fact is left out for want of room: those that do not fit beside turns get their own prompts.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

from midfold.errors import ContextOverflow, SummaryUnavailable
from midfold.folding.choose import Choice, Job
from midfold.folding.sources import Sources, share_facts
from midfold.summaries import prompts, serialize, shorten
from midfold.summaries.answers import OVERLONG

_DEFAULT_WINDOW_TOKENS = 100_000
_NOTES_PART = 0.12
"""Of the window: the most that a summary may be long."""
_EARLIER_PART = 0.3
"""Of the window: the most that is shown of an earlier summary, which somebody else may have written."""
_FACTS_PART = 0.1
_SLACK = 0.99
"""Texts may count for more together than apart."""
_LEAST_SUMMARY_TOKENS = 50
"""Below this a model's words are not worth its price; the digest fills the room."""
_STATED_PART = 0.85
"""Of a window that a model states: its tokens are not ours."""
_MOST_PARTS = (999, 999)


@dataclass(frozen=True, slots=True)
class Piece:
    """What one prompt shows beside the notes so far."""

    turns: str
    facts: Sequence[str]


@dataclass(frozen=True, slots=True)
class Showing:
    """All that is to be shown, in pieces, and how long the notes on it may be."""

    budget_tokens: int
    earlier: str | None
    """the summary so far, as much of it as there is room for"""
    pieces: tuple[Piece, ...]

    def render(self, job: Job, place: int, notes: str | None) -> str:
        """Write the prompt for the piece at `place`."""
        piece, total = self.pieces[place], len(self.pieces)
        part = (place + 1, total) if total > 1 else None
        return _render(job, self.budget_tokens, piece, notes, part)


def window_of(job: Job) -> int:
    """Return how many tokens the summariser can take, as far as that is known."""
    return job.policy.summarizer_window or _DEFAULT_WINDOW_TOKENS


def stated_window(error: SummaryUnavailable) -> int | None:
    """Return what fits into the window that a summariser stated when it was shown too much."""
    cause = error.__cause__
    return int(cause.limit * _STATED_PART) if isinstance(cause, ContextOverflow) and cause.limit else None


def explain(error: SummaryUnavailable, job: Job) -> str:
    """Say why there is no summary, and where too much was shown, which setting says how much would do."""
    if not isinstance(error.__cause__, ContextOverflow):
        return str(error)
    setting = "auxiliary.compression.context_length"
    return f"{error} (its window was taken for {window_of(job):,} tokens; {setting} says how large it is)"


def share_out(job: Job, choice: Choice, sources: Sources, window: int) -> Showing:
    """Part what is folded into pieces for a window; raises `SummaryUnavailable` where that is too small."""
    wanted = min(job.policy.summary_budget_tokens(choice.folded_tokens), choice.body_tokens)
    if wanted < _LEAST_SUMMARY_TOKENS:
        raise SummaryUnavailable(f"there is room for {wanted:,} tokens, too few for a model's summary")
    budget = min(wanted, int(window * _NOTES_PART))
    earlier = job.redact(job.layout.previous) if job.layout.previous else None
    shown = earlier and shorten(earlier, count_text=job.count_text, budget_tokens=int(window * _EARLIER_PART))
    notes_tokens = max(int(budget * OVERLONG), job.count_text(shown or ""))
    facts_tokens = int(window * _FACTS_PART)
    frame = _render(job, budget, Piece("", ("-",)), "-", _MOST_PARTS)
    room = int(window * _SLACK) - job.count_text(frame) - budget - notes_tokens - facts_tokens
    turns = _write_turns(job, choice, max(room, 0))
    facts = share_facts(
        [prompts.neutralize(fact) for fact in sources.facts],
        count=lambda fact: job.count_text(f"- {fact}"),
        budget_tokens=facts_tokens,
    )
    pieces = [Piece(piece or "", listed or ()) for piece, listed in zip_longest(turns, facts)]
    return Showing(budget, shown, tuple(pieces))


def _render(
    job: Job, budget_tokens: int, piece: Piece, notes: str | None, part: tuple[int, int] | None
) -> str:
    return prompts.render_prompt(
        template=job.policy.template,
        turns=piece.turns,
        budget_tokens=budget_tokens,
        previous=notes,
        focus=job.redact(job.focus) if job.focus else None,
        facts=piece.facts,
        part=part,
    )


def _write_turns(job: Job, choice: Choice, budget_tokens: int) -> list[str]:
    """Write out what is folded, but for an earlier summary, as it will stand in the prompts."""
    earlier = job.layout.summary
    turns = [job.layout.messages[index] for span in choice.spans for index in span if index != earlier]
    return serialize(
        turns,
        count=job.count_text,
        budget_tokens=budget_tokens,
        redact=lambda text: prompts.neutralize(job.redact(text)),
    )
