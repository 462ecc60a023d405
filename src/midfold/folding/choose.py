"""Chooses how much to prune and to fold: as little as the target allows, as much as a ceiling demands."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from midfold.folding.fold import Edit, Span
from midfold.folding.job import CompressionJob
from midfold.folding.layout import Layout
from midfold.folding.policy import TAIL_SLACK, free_summary_tokens
from midfold.folding.prune import NOTHING_PRUNED, PruneCounts, Pruned, least_tokens, prune
from midfold.folding.repair import Repairs
from midfold.folding.summary_message import FoldedNumbers, SummaryFrame
from midfold.folding.tail import (
    FoldPlan,
    make_ceiling_plan,
    shorten_fold,
    shrink_tail,
    spans_between,
    stops_between,
)
from midfold.messages import ToolResult, join_digests, own_digest
from midfold.settings import Style
from midfold.summaries import active_task
from midfold.summaries.tool_calls import excerpt

MIN_SUMMARY_TOKENS = 400
"""Below this a summary says less than its own prefix."""
_WORTH_LENGTHENING_TOKENS = 200
_FIRST_GUESS_CHARS_PER_TOKEN = 4
_LENGTHEN_ROUNDS = 6
_TIGHT = 0.99
_SHORT_TASK_CHARS = 200


@dataclass(frozen=True, slots=True)
class FoldChoice:
    """The spans to fold, the parts to shorten, and the room of the summary."""

    head_stop: int
    spans: tuple[Span, ...]
    edits: tuple[Edit, ...]
    repairs: Repairs
    frame: SummaryFrame
    frame_tokens: int
    """tokens of a summary without its words"""
    folded_tokens: int
    summary_tokens: int
    """room for the whole summary message"""

    @property
    def body_tokens(self) -> int:
        """Room for the words of the summary, without prefix, fence and active task."""
        return max(0, self.summary_tokens - self.frame_tokens)


def prune_middle(job: CompressionJob, plan: FoldPlan) -> Pruned:
    """Prune between head and tail but for the newest request; without a ceiling, spare what is newest."""
    newest = len(job.layout.messages)
    if not job.has_ceiling:
        newest = max(newest - job.policy.protect_last_n, plan.head_stop)
    pieces = [
        prune(
            job.layout.messages,
            span,
            style=job.policy.style,
            pairing=job.layout.pairing,
            redact=job.redact,
        )
        for span in spans_between(job.layout, plan.head_stop, min(plan.tail_start, newest))
    ]
    return Pruned(
        edits=tuple(edit for piece in pieces for edit in piece.edits),
        counts=sum((piece.counts for piece in pieces), NOTHING_PRUNED),
    )


def prunes_in_vain(job: CompressionJob, plan: FoldPlan) -> bool:
    """Whether a ceiling is out of reach for pruning, however short its stubs may turn out."""
    if not job.has_ceiling:
        return False
    messages, sizes = job.layout.messages, job.layout.sizes
    saved = sum(
        max(0, sizes[index] - least_tokens(messages[index]))
        for span in spans_between(job.layout, plan.head_stop, plan.tail_start)
        for index in span
    )
    return job.tokens_before - saved > job.policy.target_tokens


def fits_pruned(job: CompressionJob, pruned: Pruned) -> bool:
    """Whether pruning alone reaches the target."""
    return job.tokens_before + job.edits_delta(pruned.edits) <= job.policy.target_tokens


def spare(job: CompressionJob, pruned: Pruned) -> Pruned:
    """Take back what a ceiling leaves room for, the newest first; what does not fit whole stays in part."""
    if not job.has_ceiling:
        return pruned
    left = job.policy.target_tokens - job.tokens_before - job.edits_delta(pruned.edits)
    needed = []
    for edit in reversed(pruned.edits):
        if -job.edit_delta(edit) <= left:
            left += job.edit_delta(edit)
            continue
        longer = _lengthen(job, edit, left) if left >= _WORTH_LENGTHENING_TOKENS else edit
        left -= job.edit_delta(longer) - job.edit_delta(edit)
        needed.append(longer)
    edits = tuple(reversed(needed))
    return Pruned(edits, PruneCounts.of_edits(edits))


def _lengthen(job: CompressionJob, edit: Edit, room: int) -> Edit:
    """Say more of a result than its stub does: its two ends, as far as `room` goes."""
    message = job.layout.messages[edit.index]
    if len(edit.parts) != 1 or job.policy.style is not Style.STUB:
        return edit
    [(ordinal, part)] = edit.parts
    [(position, _)] = edit.positions(message)
    result = message.parts[position]
    if not (isinstance(result, ToolResult) and isinstance(part, ToolResult)) or result.media:
        return edit
    text, chars = job.redact(result.text), room * _FIRST_GUESS_CHARS_PER_TOKEN
    for _ in range(_LENGTHEN_ROUNDS):
        longer = Edit(edit.index, ((ordinal, replace(part, text=excerpt(text, chars // 2, chars // 2))),))
        excess = job.edit_delta(longer) - job.edit_delta(edit) - room
        if excess <= 0:
            return longer
        chars = int(chars * room / (room + excess) * _TIGHT)
    return edit


def choose_fold(job: CompressionJob, plan: FoldPlan, pruned: Pruned) -> FoldChoice:
    """Choose what to fold by strategy, at most what `plan` folds; a ceiling may ask for more."""
    if job.has_ceiling:
        return _choose_for_ceiling(job, plan)
    shrunk = _shrink_tail(job, plan, job.tail_budget)
    if job.is_short:
        return _make_choice(job, FoldPlan(plan.head_stop, plan.tail_start, ()), shrunk)
    if job.folds_all:
        return _make_choice(job, plan, shrunk)
    return _choose_staged(job, plan, (*pruned.edits, *shrunk))


def _shrink_tail(job: CompressionJob, plan: FoldPlan, budget: int) -> tuple[Edit, ...]:
    """Shorten the results of a tail that is larger than even the slack allows."""
    tail = Span(plan.tail_start, len(job.layout.messages))
    if job.layout.tokens(tail) <= budget * TAIL_SLACK:
        return ()
    # Where a ceiling leaves nothing to fold, the tail has all the room there is.
    allowed = job.room if job.has_ceiling and not plan.spans else budget
    return shrink_tail(job.layout, tail, allowed, job.count, job.redact)


def _choose_staged(job: CompressionJob, plan: FoldPlan, edits: Sequence[Edit]) -> FoldChoice:
    """Fold the oldest part of the middle, no more than it takes to reach the target."""
    layout = job.layout
    deltas = [0] * (len(layout.messages) + 1)
    for edit in edits:
        deltas[edit.index] = job.edit_delta(edit)
    saved_from = [*accumulate(reversed(deltas))][::-1]
    for stop in stops_between(layout, plan):
        folded = sum(layout.tokens(span) for span in shorten_fold(layout, plan, stop).spans)
        kept = job.tokens_before - folded + saved_from[stop]
        if kept + job.policy.summary_budget_tokens(folded) <= job.policy.target_tokens:
            break
    else:
        stop = plan.tail_start
    return _make_choice(job, shorten_fold(layout, plan, stop), [edit for edit in edits if edit.index >= stop])


def _choose_for_ceiling(job: CompressionJob, plan: FoldPlan) -> FoldChoice:
    """Fold everything between first request and tail; a tail that leaves no room for a summary gives way."""
    choice = _make_choice(job, plan, _shrink_tail(job, plan, job.tail_budget))
    # A summary must never be last: without a request to stand behind it, something of the tail has to.
    fewest_of_all = 0 if len(job.layout.request) else 1
    for share, fewest in ((0.5, 1), (0.25, 1), (0.0, fewest_of_all)):
        if choice.body_tokens >= MIN_SUMMARY_TOKENS or not choice.spans:
            break
        budget = int(job.tail_budget * share)
        plan = make_ceiling_plan(job.layout, job.room, budget, fewest)
        choice = _make_choice(job, plan, _shrink_tail(job, plan, budget))
    if choice.spans and job.overhead_tokens + job.fixed_tokens > job.policy.target_tokens:
        # The ceiling cannot be met, and forgetting everything would not meet it either.
        tokens = max(choice.summary_tokens, free_summary_tokens(choice.folded_tokens))
        return replace(choice, summary_tokens=tokens)
    return choice


def _make_choice(job: CompressionJob, plan: FoldPlan, edits: Sequence[Edit]) -> FoldChoice:
    """Work out how much room a plan leaves for the summary."""
    layout = job.layout
    folded_tokens = sum(layout.tokens(span) for span in plan.spans)
    kept = job.tokens_before - folded_tokens + job.note_tokens + job.edits_delta(edits)
    room = job.policy.target_tokens - kept
    if not job.has_ceiling:
        # Never more than half of what it replaces, never less than a summary needs, target or not.
        room = max(min(room, folded_tokens // 2), job.policy.summary_budget_tokens(folded_tokens))
    repairs = job.repair(plan.spans)
    ends = sorted({index for span in plan.spans for index in (span.start, span.stop - 1)})
    frame = SummaryFrame(
        task=job.redact(active_task(layout.messages, layout.summary)),
        folded=_number_folded(layout, plan.spans, repairs),
        digest=join_digests(own_digest(layout.messages[index]) for index in ends),
        key=job.key,
    )
    frame_tokens = job.count(frame.wrap(""))
    if room - frame_tokens < MIN_SUMMARY_TOKENS:
        # The request itself follows the summary; where room is short, its first words point at it.
        frame = replace(frame, task=frame.task[:_SHORT_TASK_CHARS])
        frame_tokens = job.count(frame.wrap(""))
    return FoldChoice(
        head_stop=plan.head_stop,
        spans=plan.spans,
        edits=tuple(edits),
        repairs=repairs,
        frame=frame,
        frame_tokens=frame_tokens,
        folded_tokens=folded_tokens,
        summary_tokens=room,
    )


def _number_folded(layout: Layout, spans: Sequence[Span], repairs: Repairs) -> FoldedNumbers:
    """Say by their numbers which messages leave, and where one is put in to make the list legal."""
    gone = {index for span in spans for index in span}
    return layout.folded_before.join(
        (layout.numbers[index] for index in {*gone, *repairs.drops} - {layout.summary}),
        (layout.numbers[insert.after] for insert in repairs.inserts),
    )
