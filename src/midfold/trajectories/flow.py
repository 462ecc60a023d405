"""The compression of one trajectory, as a generator: it asks for summaries, and returns what it did.

Every turn is counted once; what comes out is summed up from what is known. A summary that turns out longer
than planned leads to another pass, which folds more and has the summary brought up to date.
"""

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from midfold.trajectories.asking import Answers, Question, Terms, ask_model
from midfold.trajectories.config import LEAST_SUMMARY_TOKENS, CompressionConfig, OnFailure
from midfold.trajectories.digest import write_digest
from midfold.trajectories.layout import Layout, Turn, lay_out
from midfold.trajectories.metrics import TrajectoryMetrics
from midfold.trajectories.passages import Passage

DIGEST = "digest"
MODEL = "model"


@dataclass(frozen=True, slots=True)
class Outcome:
    """A trajectory as it comes out, and what was done to it."""

    turns: list[Turn]
    metrics: TrajectoryMetrics


Flow: TypeAlias = Generator[Question, str, Outcome]


@dataclass(frozen=True, slots=True)
class Job:
    """One trajectory with the size of each turn, and how to compress it."""

    turns: Sequence[Turn]
    sizes: Sequence[int]
    config: CompressionConfig
    count: Callable[[str], int]
    count_opening: Callable[[str], int]
    """the same for what many trajectories begin with"""
    use_model: bool
    window_tokens: int
    """what whoever summarises can read at once"""
    redacted_tokens: int = 0
    """how many tokens the turns had more before secrets were taken out of them"""


@dataclass(frozen=True, slots=True)
class _Draft:
    """A summary of a passage. Without a `value` there is none."""

    passage: Passage
    by: str
    passes: int
    asked: Answers
    value: str | None = None
    tokens: int = 0

    def after(self, failed: "_Draft") -> "_Draft":
        """Return the draft as it is, with the calls of a further pass that failed: it was paid for."""
        return replace(self, passes=failed.passes, asked=replace(failed.asked, body=self.asked.body))

    def saying(self, value: str, count: Callable[[str], int]) -> "_Draft":
        """Return the draft with other words, counted."""
        return replace(self, value=value, tokens=count(value))


def compress(job: Job) -> Flow:
    """Compress one trajectory. Yields `Question`, is sent the answer, returns `Outcome`.

    The input stays as it was; turns that stay are the same objects. Whatever happens, no tokens are added.
    """
    metrics = _untouched(job)
    if not metrics.still_over_limit:
        return Outcome(list(job.turns), replace(metrics, skipped_under_target=True))
    layout = lay_out(job.turns, job.sizes, job.config, job.count_opening)
    passage = layout.choose(layout.excess_tokens + job.config.summary_target_tokens)
    if layout.budget(passage) < LEAST_SUMMARY_TOKENS:
        return Outcome(list(job.turns), metrics)
    draft: _Draft | None = None
    while True:
        written = yield from _write(job, layout, passage, draft)
        if written.value is None and draft is not None:
            draft = draft.after(written)
            break
        draft = written
        excess = draft.tokens - layout.room(passage)
        if draft.value is None or excess <= 0 or draft.passes == job.config.max_passes:
            break
        wider = layout.choose(passage.tokens + excess)
        if wider.spans == passage.spans:
            break
        passage = wider
    return _finish(job, layout, _shorten(job, layout, draft))


def _untouched(job: Job) -> TrajectoryMetrics:
    tokens = sum(job.sizes)
    return TrajectoryMetrics(
        original_tokens=tokens + job.redacted_tokens,
        original_turns=len(job.turns),
        compressed_tokens=tokens,
        compressed_turns=len(job.turns),
        still_over_limit=tokens > job.config.target_max_tokens,
    )


def _write(
    job: Job, layout: Layout, passage: Passage, earlier: _Draft | None
) -> Generator[Question, str, _Draft]:
    """Write the summary of a passage, from the words of an earlier one and what has come to it since."""
    passes = earlier.passes + 1 if earlier else 1
    budget = layout.budget(passage)
    if not job.use_model:
        return _digest(job, _Draft(passage, DIGEST, passes, Answers(None)), budget)
    before = earlier.asked if earlier else Answers(None)
    terms = Terms(
        budget_tokens=budget - job.count(passage.write("")),
        window_tokens=job.window_tokens,
        max_retries=job.config.max_retries,
        count=job.count,
    )
    news = passage.without(earlier.passage if earlier else None)
    answers = yield from ask_model(news, before.body, terms)
    asked = replace(answers, calls=before.calls + answers.calls, errors=before.errors + answers.errors)
    draft = _Draft(passage, MODEL, passes, asked)
    if asked.body is not None:
        return draft.saying(passage.write(asked.body), job.count)
    if job.config.on_summary_failure == OnFailure.DIGEST:
        return _digest(job, replace(draft, by=DIGEST), budget)
    return draft


def _digest(job: Job, draft: _Draft, budget_tokens: int) -> _Draft:
    value = write_digest(draft.passage, budget_tokens=budget_tokens, count=job.count)
    return draft.saying(value, job.count)


def _shorten(job: Job, layout: Layout, draft: _Draft) -> _Draft:
    """Cut a model's summary that is longer than its room, where no further pass can make more of that."""
    room = layout.room(draft.passage)
    body = draft.asked.body
    if body is None or draft.tokens <= room or room < LEAST_SUMMARY_TOKENS:
        return draft
    return draft.saying(draft.passage.write_within(body, room, job.count), job.count)


def _finish(job: Job, layout: Layout, draft: _Draft) -> Outcome:
    """Put the trajectory together, unless there is no summary, or the whole would not be smaller."""
    metrics = replace(
        _untouched(job),
        summarizer_calls=draft.asked.calls,
        summarizer_errors=draft.asked.errors,
        failure=draft.asked.failure,
        passes=draft.passes,
    )
    tokens = layout.tokens + layout.notice_tokens - draft.passage.tokens + draft.tokens
    if draft.value is None or tokens >= layout.tokens:
        return Outcome(list(job.turns), metrics)
    folded = draft.passage.indices
    turns = _assemble(job.turns, frozenset(folded), {"from": layout.speaker, "value": draft.value}, layout)
    return Outcome(
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


def _assemble(turns: Sequence[Turn], folded: frozenset[int], summary: Turn, layout: Layout) -> list[Turn]:
    """Put the summary where the first folded turn stood, and leave the others out."""
    noted = {layout.notice.index: layout.notice.turn} if layout.notice else {}
    changed = {**noted, min(folded): summary}
    return [
        changed.get(index, turn)
        for index, turn in enumerate(turns)
        if index not in folded or index in changed
    ]
