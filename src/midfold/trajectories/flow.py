"""The compression of one trajectory, as a generator: it asks for summaries, and returns what it did.

Every turn is counted once; what comes out is summed up from what is known. A summary that turns out longer
than planned leads to another pass, which folds more and has the summary brought up to date. Nothing of a
trajectory goes into a prompt or a summary with its secrets.
"""

import re
from collections.abc import Callable, Generator, Sequence
from typing import TypeAlias

from midfold.errors import SummaryUnavailable
from midfold.folding import SummaryRequest, join_spans
from midfold.late_dataclasses import dataclass, replace
from midfold.redact import redact
from midfold.summaries import prompts, serialize
from midfold.summaries.answers import judge_answer
from midfold.trajectories.config import LEAST_SUMMARY_TOKENS, CompressionConfig, OnFailure
from midfold.trajectories.metrics import CompressedTrajectory, TrajectoryMetrics, Turn
from midfold.trajectories.plan import TrajectoryLayout, lay_out
from midfold.trajectories.summary import TEMPLATE, Passage, number_turns, write_digest

DIGEST = "digest"
MODEL = "model"
_TURNS_OF_WINDOW = 0.6
"""The part of a summariser's window for the turns; the rest is for instructions and the answer."""
_BYTES_PER_TOKEN = 3
"""Cautious: what is shown only has to fit, and to count it all again would cost more than it brings."""
_USER_WORDS_CHARS = 8_000
_LONGEST_WAIT_SECONDS = 30.0
_WORD = re.compile(r"[\u3040-\u9fff\uac00-\ud7af]{2}|[^\W_]{4,}")


class AnswerFailed(Exception):
    """The summariser failed, and may not fail when asked again."""


@dataclass(frozen=True, slots=True)
class Question:
    """A request to the summariser, after a wait where the question before it failed."""

    request: SummaryRequest
    wait_seconds: float = 0.0


TrajectoryFlow: TypeAlias = Generator[Question, str, CompressedTrajectory]


@dataclass(frozen=True, slots=True)
class TrajectoryJob:
    """One trajectory with the size of each turn, and how to compress it."""

    turns: Sequence[Turn]
    sizes: Sequence[int]
    config: CompressionConfig
    count: Callable[[str], int]
    count_opening: Callable[[str], int]
    """the same for what many trajectories begin with"""
    use_model: bool
    window_tokens: int
    """how much the summariser can read at once"""
    redacted_tokens: int = 0
    """how many tokens the turns had more before secrets were taken out of them"""


@dataclass(frozen=True, slots=True)
class _Answer:
    """A model's words after `calls`, `errors` of which failed. Without words `failure` says why."""

    words: str | None = None
    calls: int = 0
    errors: int = 0
    failure: str | None = None

    def after(self, earlier: "_Answer") -> "_Answer":
        return replace(self, calls=earlier.calls + self.calls, errors=earlier.errors + self.errors)


@dataclass(frozen=True, slots=True)
class _Draft:
    """A summary of a passage. Without a `value` there is none."""

    passage: Passage
    by: str
    passes: int
    answer: _Answer = _Answer()
    value: str | None = None
    tokens: int = 0

    def after(self, failed: "_Draft") -> "_Draft":
        """Return the draft as it is, with the calls of a further pass that failed: it was paid for."""
        return replace(self, passes=failed.passes, answer=replace(failed.answer, words=self.answer.words))


def compress(job: TrajectoryJob) -> TrajectoryFlow:
    """Compress one trajectory. Yields `Question`, is sent the answer, returns `CompressedTrajectory`.

    Where there is no answer it is thrown `AnswerFailed` or, where it is of no use to ask again,
    `SummaryUnavailable`. The input stays as it was; turns that stay are the same objects. Whatever
    happens, no tokens are added.
    """
    metrics = _untouched(job)
    if not metrics.still_over_limit:
        return CompressedTrajectory(list(job.turns), replace(metrics, skipped_under_target=True))
    layout = lay_out(job.turns, job.sizes, job.config, job.count_opening)
    spans = layout.choose(layout.excess_tokens + job.config.summary_target_tokens)
    passage = Passage(layout.messages, layout.pairing, job.sizes, number_turns(layout.messages), spans)
    if layout.budget(passage.tokens) < LEAST_SUMMARY_TOKENS:
        return CompressedTrajectory(list(job.turns), metrics)
    draft: _Draft | None = None
    while True:
        written = yield from _write(job, layout, passage, draft)
        if written.value is None and draft is not None:
            draft = draft.after(written)
            break
        draft = written
        excess = draft.tokens - layout.room(passage.tokens)
        if draft.value is None or excess <= 0 or draft.passes == job.config.max_passes:
            break
        wider = layout.choose(passage.tokens + excess)
        if wider == passage.spans:
            break
        passage = replace(passage, spans=wider)
    return _finish(job, layout, _shorten(job, layout, draft))


def _untouched(job: TrajectoryJob) -> TrajectoryMetrics:
    tokens = sum(job.sizes)
    return TrajectoryMetrics(
        original_tokens=tokens + job.redacted_tokens,
        original_turns=len(job.turns),
        compressed_tokens=tokens,
        compressed_turns=len(job.turns),
        still_over_limit=tokens > job.config.target_max_tokens,
    )


def _write(
    job: TrajectoryJob, layout: TrajectoryLayout, passage: Passage, earlier: _Draft | None
) -> Generator[Question, str, _Draft]:
    """Write the summary of a passage, from the words of an earlier one and what has come to it since."""
    draft = _Draft(passage, DIGEST, earlier.passes + 1 if earlier else 1)
    budget = layout.budget(passage.tokens)
    if job.use_model:
        before = earlier.answer if earlier else _Answer()
        news = passage.without(earlier.passage) if earlier else passage
        answer = yield from _ask_model(job, news, before.words, budget - job.count(passage.write("")))
        draft = replace(draft, by=MODEL, answer=answer.after(before))
        if answer.words is not None:
            return _with_value(job, draft, passage.write(answer.words))
        if job.config.on_summary_failure != OnFailure.DIGEST:
            return draft
    value = write_digest(passage, budget_tokens=budget, count=job.count)
    return _with_value(job, replace(draft, by=DIGEST), value)


def _with_value(job: TrajectoryJob, draft: _Draft, value: str) -> _Draft:
    return replace(draft, value=value, tokens=job.count(value))


def _ask_model(
    job: TrajectoryJob, passage: Passage, previous: str | None, budget_tokens: int
) -> Generator[Question, str, _Answer]:
    """Ask for a summary, in as many pieces as the window demands, each updating the words so far."""
    answer = _Answer(previous)
    user_words = _user_words(passage)
    pieces = _write_out(passage, int(job.window_tokens * _TURNS_OF_WINDOW))
    for number, turns in enumerate(pieces, 1):
        prompt = prompts.render_prompt(
            template=TEMPLATE,
            turns=turns,
            budget_tokens=budget_tokens,
            previous=answer.words,
            part=(number, len(pieces)) if len(pieces) > 1 else None,
        )
        # Somebody who starts a batch wants its summaries: a summariser that failed for one row is asked for
        # the next.
        request = SummaryRequest(prompt, budget_tokens, is_manual=True)
        answer = (yield from _ask_until_usable(job, request, turns, user_words)).after(answer)
        if answer.words is None:
            return answer
        answer = replace(answer, words=redact(answer.words))
    return answer


def _ask_until_usable(
    job: TrajectoryJob, request: SummaryRequest, turns: str, user_words: str
) -> Generator[Question, str, _Answer]:
    wait_seconds = 0.0
    problem: str | None = None
    for attempt in range(job.config.max_retries + 1):
        try:
            answer: object = yield Question(request, wait_seconds)
        except SummaryUnavailable as error:
            return _Answer(None, attempt + 1, attempt + 1, str(error))
        except AnswerFailed as error:
            problem, wait_seconds = str(error), min(2.0**attempt, _LONGEST_WAIT_SECONDS)
            continue
        judged = judge_answer(
            (prompts.find_body(answer) or answer) if isinstance(answer, str) else answer,
            prompt=request.prompt,
            turns=turns,
            budget_tokens=request.max_tokens,
            count_text=job.count,
            template=TEMPLATE,
            user_words=user_words,
        )
        problem, wait_seconds = judged.problem or find_nonsense(judged.text, turns), 0.0
        if problem is None:
            return _Answer(judged.text, attempt + 1, attempt)
    return _Answer(None, job.config.max_retries + 1, job.config.max_retries + 1, problem)


def find_nonsense(notes: str, turns: str) -> str | None:
    """Say what is wrong with notes that have no heading, and no word in common with what they are about."""
    if any(heading in notes for heading in prompts.HEADINGS[TEMPLATE]):
        return None
    said = turns.casefold()
    is_about_it = any(word in said for word in _WORD.findall(notes.casefold()))
    return None if is_about_it else "the summariser's answer has nothing to do with the turns"


def _write_out(passage: Passage, budget_tokens: int) -> list[str]:
    """Write the turns out in pieces that fit; each turn is labelled with its number."""
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
    """Return what the user says in a passage, as far as it shows the language to expect."""
    said = (passage.messages[index] for index in passage.indices)
    return "\n".join(message.text for message in said if message.role == "user")[:_USER_WORDS_CHARS]


def _shorten(job: TrajectoryJob, layout: TrajectoryLayout, draft: _Draft) -> _Draft:
    """Cut a model's summary that is longer than its room, where no further pass can make more of that."""
    room = layout.room(draft.passage.tokens)
    words = draft.answer.words
    if words is None or draft.tokens <= room or room < LEAST_SUMMARY_TOKENS:
        return draft
    return _with_value(job, draft, draft.passage.write_within(words, room, job.count))


def _finish(job: TrajectoryJob, layout: TrajectoryLayout, draft: _Draft) -> CompressedTrajectory:
    """Put the trajectory together, unless there is no summary, or the whole would not be smaller."""
    metrics = replace(
        _untouched(job),
        summarizer_calls=draft.answer.calls,
        summarizer_errors=draft.answer.errors,
        failure=draft.answer.failure,
        passes=draft.passes,
    )
    tokens = layout.tokens + layout.notice_tokens - draft.passage.tokens + draft.tokens
    if draft.value is None or tokens >= layout.tokens:
        return CompressedTrajectory(list(job.turns), metrics)
    folded = draft.passage.indices
    turns = _assemble(job.turns, frozenset(folded), {"from": layout.speaker, "value": draft.value}, layout)
    return CompressedTrajectory(
        turns,
        replace(
            metrics,
            compressed_tokens=tokens,
            compressed_turns=len(turns),
            turns_compressed_start_idx=folded[0],
            turns_compressed_end_idx=folded[-1] + 1,
            turns_in_compressed_region=len(folded),
            was_compressed=True,
            still_over_limit=tokens > job.config.target_max_tokens,
            summary_tokens=draft.tokens,
            summarizer=draft.by,
        ),
    )


def _assemble(
    turns: Sequence[Turn], folded: frozenset[int], summary: Turn, layout: TrajectoryLayout
) -> list[Turn]:
    """Put the summary where the first folded turn stood, and leave the others out."""
    noted = {layout.notice.index: layout.notice.turn} if layout.notice else {}
    changed = {**noted, min(folded): summary}
    return [
        changed.get(index, turn)
        for index, turn in enumerate(turns)
        if index not in folded or index in changed
    ]
