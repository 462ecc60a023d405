"""A model's summary: prompts that its window can take together with the answer it owes.

Turns and facts are shared out over as many prompts as that takes, and each prompt shows the notes on all that
came before. No fact is left out for want of room: those that do not fit beside turns get their own prompts.
"""

from collections.abc import Callable, Generator, Sequence
from itertools import zip_longest

from midfold.errors import ContextOverflow, SummaryUnavailable
from midfold.late_dataclasses import dataclass
from midfold.summaries import prompts
from midfold.summaries.answers import OVERLONG, judge_answer
from midfold.summaries.serialization import serialize
from midfold.summaries.sources import Sources, SummaryJob
from midfold.summaries.summary_request import SummaryRequest
from midfold.summaries.verify import shorten

_DEFAULT_WINDOW_TOKENS = 100_000
_NOTES_PART = 0.12
"""Of the window: the most that a summary may be long."""
_EARLIER_PART = 0.3
"""Of the window: the most that is shown of an earlier summary, which somebody else may have written."""
_FACTS_PART = 0.1
_SLACK = 0.99
"""Texts may count for more together than apart."""
LEAST_SUMMARY_TOKENS = 50
"""Below this a model's words are not worth its price; the digest fills the room."""
_STATED_PART = 0.85
"""Of a window that a model states: its tokens are not ours."""
_MOST_PARTS = (999, 999)


class AnswerRejected(SummaryUnavailable):
    """The summariser answered, and its answer cannot be used; a simpler question may help."""


@dataclass(frozen=True, slots=True)
class PromptPart:
    """The content of one prompt beside the notes so far."""

    turns: str
    facts: Sequence[str]


@dataclass(frozen=True, slots=True)
class PromptPlan:
    """All that is to be shown, in parts, and how long the notes on it may be."""

    budget_tokens: int
    earlier: str | None
    """the summary so far, as much of it as there is room for"""
    parts: tuple[PromptPart, ...]


def ask_model(job: SummaryJob, sources: Sources) -> Generator[SummaryRequest, str, str]:
    """Ask with what is known of the summariser's window, and once more if it states a smaller one.

    Raises `SummaryUnavailable` where there is no answer that can be used.
    """
    window = job.window_tokens or _DEFAULT_WINDOW_TOKENS
    try:
        return (yield from _ask(job, sources, plan_prompts(job, sources, window)))
    except SummaryUnavailable as error:
        smaller = _stated_window(error)
        if smaller is None or smaller >= window:
            raise
    return (yield from _ask(job, sources, plan_prompts(job, sources, smaller)))


def explain_failure(error: SummaryUnavailable, job: SummaryJob) -> str:
    """Say why there is no summary, and where too much was shown, which setting says how much would do."""
    if not isinstance(error.__cause__, ContextOverflow):
        return str(error)
    window = job.window_tokens or _DEFAULT_WINDOW_TOKENS
    setting = "auxiliary.compression.context_length"
    return f"{error} (its window was taken for {window:,} tokens; {setting} says how large it is)"


def plan_prompts(job: SummaryJob, sources: Sources, window: int) -> PromptPlan:
    """Part what is folded for a window; raises `SummaryUnavailable` where that is too small."""
    wanted = min(job.model_tokens, job.body_tokens)
    if wanted < LEAST_SUMMARY_TOKENS:
        raise SummaryUnavailable(f"there is room for {wanted:,} tokens, too few for a model's summary")
    budget = min(wanted, int(window * _NOTES_PART))
    earlier = job.redact(job.previous) if job.previous else None
    shown = earlier and shorten(earlier, count_text=job.count_text, budget_tokens=int(window * _EARLIER_PART))
    notes_tokens = max(int(budget * OVERLONG), job.count_text(shown or ""))
    facts_tokens = int(window * _FACTS_PART)
    frame = _render(job, budget, PromptPart("", ("-",)), "-", _MOST_PARTS)
    room = int(window * _SLACK) - job.count_text(frame) - budget - notes_tokens - facts_tokens
    turns = serialize(
        [job.messages[index] for index in job.turns],
        count=job.count_text,
        budget_tokens=max(room, 0),
        redact=lambda text: prompts.neutralize(job.redact(text)),
    )
    facts = _share_facts(
        [prompts.neutralize(fact) for fact in sources.facts],
        count=lambda fact: job.count_text(f"- {fact}"),
        budget_tokens=facts_tokens,
    )
    parts = [PromptPart(text or "", listed or ()) for text, listed in zip_longest(turns, facts)]
    return PromptPlan(budget, shown, tuple(parts))


def _ask(job: SummaryJob, sources: Sources, plan: PromptPlan) -> Generator[SummaryRequest, str, str]:
    """Show the folded turns to the model part by part; each answer brings the notes up to date."""
    notes, total = plan.earlier, len(plan.parts)
    for number, part in enumerate(plan.parts, 1):
        prompt = _render(job, plan.budget_tokens, part, notes, (number, total) if total > 1 else None)
        answer = yield SummaryRequest(prompt, plan.budget_tokens, sources.facts, job.is_manual)
        notes = judge(answer, job, sources, prompt=prompt, turns=part.turns, budget_tokens=plan.budget_tokens)
    if notes is None:
        raise SummaryUnavailable("there was nothing to summarise")
    return notes


def judge(
    answer: object, job: SummaryJob, sources: Sources, *, prompt: str, turns: str, budget_tokens: int
) -> str:
    """Return the notes in an answer, without secrets; raises `AnswerRejected` where they cannot be used."""
    judged = judge_answer(
        (prompts.find_body(answer) or answer) if isinstance(answer, str) else answer,
        prompt=prompt,
        turns=turns,
        budget_tokens=budget_tokens,
        count_text=job.count_text,
        template=job.template,
        user_words=sources.user_words,
    )
    if judged.problem:
        raise AnswerRejected(judged.problem)
    return job.redact(judged.text)


def _render(
    job: SummaryJob, budget_tokens: int, part: PromptPart, notes: str | None, number: tuple[int, int] | None
) -> str:
    return prompts.render_prompt(
        template=job.template,
        turns=part.turns,
        budget_tokens=budget_tokens,
        previous=notes,
        focus=job.redact(job.focus) if job.focus else None,
        facts=part.facts,
        part=number,
    )


def _share_facts(facts: Sequence[str], *, count: Callable[[str], int], budget_tokens: int) -> list[list[str]]:
    """Part facts into lists that fit beside the turns of one prompt each; none is left out."""
    shares: list[list[str]] = []
    left = 0
    for fact in facts:
        tokens = count(fact)
        if not shares or tokens > left:
            shares.append([])
            left = budget_tokens
        shares[-1].append(fact)
        left -= tokens
    return shares


def _stated_window(error: SummaryUnavailable) -> int | None:
    """Return what fits into the window that a summariser stated when it was shown too much."""
    cause = error.__cause__
    return int(cause.limit * _STATED_PART) if isinstance(cause, ContextOverflow) and cause.limit else None
