"""The checks of an answer, one after another: the first thing that is wrong with it is its problem."""

from collections.abc import Callable, Iterator

from midfold.late_dataclasses import dataclass
from midfold.settings import Template
from midfold.summaries.answers.defects import (
    is_call,
    is_data,
    is_error,
    is_refusal,
    is_unfinished,
    repeats_instructions,
    repeats_itself,
    repeats_turns,
    without_call,
)
from midfold.summaries.answers.language import find_mismatch
from midfold.summaries.answers.notes import (
    clean,
    content_lines,
    find_notes,
    find_titles,
    section_ends,
    without_thoughts,
)

OVERLONG = 1.5
"""Times its budget, from which on an answer is not taken as it is."""
_LEAST_PART = 0.25
"""Of its budget, what must be left of an answer that is cut."""
_MOST_CHARS_PER_TOKEN = 40
"""No notes have more; what lies beyond need not be read to know that they are too long."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """The usable rest of an answer, and its faults."""

    text: str
    """the notes, cleaned but not neutralised; of no use when there is a problem"""
    problem: str | None
    """why the answer cannot be used, a clause for a warning"""
    repairs: tuple[str, ...] = ()
    """what was put right where it could be, a clause each"""


def judge_answer(
    answer: object,
    *,
    prompt: str,
    turns: str,
    budget_tokens: int,
    count_text: Callable[[str], int],
    template: Template,
    user_words: str = "",
    is_cut: bool = False,
) -> Judgement:
    """Check an answer to `prompt`, which shows `turns`, and put right what can be.

    `user_words` are messages of the user, which show the language to expect. `is_cut` says that the provider
    reported to have stopped at a limit.
    """
    if not isinstance(answer, str):
        return Judgement("", _clause("was empty" if answer is None else "was not text"))
    limit = int(budget_tokens * OVERLONG)
    said = without_thoughts(clean(answer[: limit * _MOST_CHARS_PER_TOKEN]))
    asked = _Asked(prompt, turns, user_words, budget_tokens, template, is_cut)
    wrong = next(_misses_the_point(said, asked), None)
    if wrong is not None:
        return Judgement("", _clause(wrong))
    notes = find_notes(without_call(said), template)
    fitted = _fit(notes, limit, int(budget_tokens * _LEAST_PART), count_text)
    wrong = next(_falls_short(fitted, asked), None)
    called = () if without_call(said) == said else ("left out a tool call behind the notes",)
    return Judgement(fitted.text, wrong and _clause(wrong), (*called, *fitted.cuts))


@dataclass(frozen=True, slots=True)
class _Asked:
    """The request that an answer is compared with."""

    prompt: str
    turns: str
    user_words: str
    budget_tokens: int
    template: Template
    is_cut: bool


@dataclass(frozen=True, slots=True)
class _Fitted:
    """Notes within the limit, or as they are where no cut leaves enough of them."""

    text: str
    tokens: int
    is_overlong: bool = False
    cuts: tuple[str, ...] = ()


def _clause(wrong: str) -> str:
    return f"the summariser's answer {wrong}"


def _misses_the_point(said: str, asked: _Asked) -> Iterator[str]:
    """Yield why an answer is something else than notes."""
    has_headings = bool(find_titles(find_notes(said, asked.template)))
    if not said:
        yield "was empty"
    if is_call(said):
        yield "was a tool call"
    if is_data(said):
        yield "was JSON instead of notes"
    if is_refusal(said, has_headings=has_headings):
        yield "was a refusal"
    if repeats_instructions(said, asked.prompt):
        yield "repeats its instructions"
    if repeats_turns(said, asked.turns):
        yield "repeats the turns word for word"
    if not has_headings and is_error(said):
        yield "was an error message"
    if asked.is_cut and not has_headings:
        yield "was cut off"


def _falls_short(fitted: _Fitted, asked: _Asked) -> Iterator[str]:
    """Yield why notes cannot be used."""
    lines = content_lines(fitted.text)
    if not lines:
        yield "has headings and nothing under them"
    if repeats_itself(lines):
        yield "repeats itself"
    if fitted.is_overlong:
        yield f"was {fitted.tokens:,} tokens long, of {asked.budget_tokens:,} that it had"
    if not fitted.cuts and (asked.is_cut or _is_unfinished(fitted, asked)):
        yield "was cut off"
    mismatch = find_mismatch(fitted.text, asked.user_words)
    if mismatch is not None:
        yield f"is in {mismatch.found}, and the user writes {mismatch.expected}"


def _is_unfinished(fitted: _Fitted, asked: _Asked) -> bool:
    return is_unfinished(
        fitted.text,
        asked.template,
        tokens=fitted.tokens,
        budget_tokens=asked.budget_tokens,
        turns=asked.turns,
    )


def _fit(notes: str, limit: int, least: int, count_text: Callable[[str], int]) -> _Fitted:
    """Cut notes that are too long behind the last section that still fits."""
    tokens = count_text(notes)
    if tokens <= limit:
        return _Fitted(notes, tokens)
    ends = section_ends(notes)
    low, high = 0, len(ends)
    while low < high:
        middle = (low + high) // 2
        if count_text(notes[: ends[middle]]) <= limit:
            low = middle + 1
        else:
            high = middle
    kept = notes[: ends[low - 1]].rstrip() if low else ""
    left = count_text(kept)
    if left < least:
        return _Fitted(notes, tokens, is_overlong=True)
    cut = f"cut an answer of {tokens:,} tokens behind {find_titles(kept)[-1]!r}"
    return _Fitted(kept, left, cuts=(cut,))
