"""Asking a model for the summary of folded turns: what it is shown, and whether its answer can be used.

Nothing of a trajectory goes into a prompt or a summary with its secrets.
"""

import re
from collections.abc import Callable, Generator
from dataclasses import dataclass

from midfold.errors import SummaryUnavailable
from midfold.folding import SummaryRequest, join_spans
from midfold.redact import redact
from midfold.summaries import prompts, serialize
from midfold.summaries.answers import Judgement, judge_answer
from midfold.trajectories.passages import TEMPLATE, Passage

_TURNS_OF_WINDOW = 0.6
"""The part of a summariser's window for the turns; the rest is for instructions and the answer."""
_BYTES_PER_TOKEN = 3
"""Cautious: what is shown only has to fit, and to count it all again would cost more than it brings."""
_USER_WORDS_CHARS = 8_000
_LONGEST_WAIT_SECONDS = 30.0
_WORD = re.compile(r"[\u3040-\u9fff\uac00-\ud7af]{2}|[^\W_]{4,}")


class AnswerFailed(Exception):
    """Whoever summarises failed, and may not fail when asked again."""


@dataclass(frozen=True, slots=True)
class Question:
    """What is to be asked, after a wait where the question before it failed."""

    request: SummaryRequest
    wait_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Answers:
    """What came of asking. Without a `body` there is no summary, and `failure` says why."""

    body: str | None
    calls: int = 0
    errors: int = 0
    failure: str | None = None


@dataclass(frozen=True, slots=True)
class Terms:
    """How a model is asked: how long its summary may be, what it can read at once, how often it may fail."""

    budget_tokens: int
    window_tokens: int
    max_retries: int
    count: Callable[[str], int]


def ask_model(passage: Passage, previous: str | None, terms: Terms) -> Generator[Question, str, Answers]:
    """Ask for a summary, in as many pieces as the window demands, each updating what is there already.

    Yields `Question`; is sent the answer, or is thrown `AnswerFailed` or, where it is of no use to ask again,
    `SummaryUnavailable`.
    """
    body, calls, errors = previous, 0, 0
    user_words = _user_words(passage)
    pieces = _write_out(passage, int(terms.window_tokens * _TURNS_OF_WINDOW))
    for place, piece in enumerate(pieces, 1):
        prompt = prompts.render_prompt(
            template=TEMPLATE,
            turns=piece,
            budget_tokens=terms.budget_tokens,
            previous=body,
            part=(place, len(pieces)) if len(pieces) > 1 else None,
        )
        answer = yield from _ask(_Piece(piece, prompt, user_words), terms)
        calls, errors = calls + answer.calls, errors + answer.errors
        if answer.body is None:
            return Answers(None, calls, errors, answer.failure)
        body = redact(answer.body)
    return Answers(body, calls, errors)


@dataclass(frozen=True, slots=True)
class _Piece:
    """Turns as they are shown, and what an answer about them is held against."""

    turns: str
    prompt: str
    user_words: str

    def judge(self, answer: object, terms: Terms) -> Judgement:
        return judge_answer(
            (prompts.find_body(answer) or answer) if isinstance(answer, str) else answer,
            prompt=self.prompt,
            turns=self.turns,
            budget_tokens=terms.budget_tokens,
            count_text=terms.count,
            template=TEMPLATE,
            user_words=self.user_words,
        )


def _ask(piece: _Piece, terms: Terms) -> Generator[Question, str, Answers]:
    """Ask until there is an answer that can be used."""
    # Whoever starts a batch wants its summaries: a summariser that failed for one row is asked for the next.
    request = SummaryRequest(piece.prompt, terms.budget_tokens, is_manual=True)
    wait_seconds = 0.0
    problem: str | None = None
    for attempt in range(terms.max_retries + 1):
        try:
            judged = piece.judge((yield Question(request, wait_seconds)), terms)
        except SummaryUnavailable as error:
            return Answers(None, attempt + 1, attempt + 1, str(error))
        except AnswerFailed as error:
            problem, wait_seconds = str(error), min(2.0**attempt, _LONGEST_WAIT_SECONDS)
            continue
        problem, wait_seconds = judged.problem or find_nonsense(judged.text, piece.turns), 0.0
        if problem is None:
            return Answers(judged.text, attempt + 1, attempt)
    return Answers(None, terms.max_retries + 1, terms.max_retries + 1, problem)


def find_nonsense(notes: str, turns: str) -> str | None:
    """Say what is wrong with notes that have no heading, and no word in common with what they are about."""
    if any(heading in notes for heading in prompts.HEADINGS[TEMPLATE]):
        return None
    said = turns.casefold()
    is_about_it = any(word in said for word in _WORD.findall(notes.casefold()))
    return None if is_about_it else "the summariser's answer has nothing to do with the turns"


def _write_out(passage: Passage, budget_tokens: int) -> list[str]:
    """Write the turns out in pieces that fit; each turn is labelled with its place."""
    pieces: list[str] = []
    for span in join_spans(passage.spans):
        chunks = serialize(
            passage.messages[span.start : span.stop],
            count=_estimate,
            budget_tokens=budget_tokens,
            first_index=passage.numbering.numbers[span.start],
            redact=redact,
        )
        for text in chunks:
            if pieces and _estimate(pieces[-1]) + _estimate(text) <= budget_tokens:
                pieces[-1] = f"{pieces[-1]}\n{text}"
            else:
                pieces.append(text)
    return pieces


def _estimate(text: str) -> int:
    return len(text.encode("utf-8", "replace")) // _BYTES_PER_TOKEN + 1


def _user_words(passage: Passage) -> str:
    """Return what the user says in a passage, as far as it tells the language to expect."""
    said = (passage.messages[index] for index in passage.indices)
    return "\n".join(message.text for message in said if message.role == "user")[:_USER_WORDS_CHARS]
