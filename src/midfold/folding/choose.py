"""Chooses how much to prune and to fold: as little as the target allows, as much as a ceiling demands."""

from collections.abc import Sequence
from itertools import accumulate
from math import ceil

from midfold.folding.excerpts import excerpt_messages, find_printed, shrink_tail
from midfold.folding.fold import Edit, Span
from midfold.folding.job import CompressionJob
from midfold.folding.layout import Layout
from midfold.folding.policy import MIN_SAVED_PART, MIN_SAVED_TOKENS, TAIL_SLACK, prefers_notes
from midfold.folding.prune import NOTHING_PRUNED, PruneCounts, Pruned, least_tokens, prune
from midfold.folding.repair import Repairs
from midfold.folding.summary_message import FoldedNumbers, SummaryFrame
from midfold.folding.tail import (
    FoldPlan,
    shorten_fold,
    spans_between,
    stops_between,
)
from midfold.late_dataclasses import dataclass, replace
from midfold.messages import Part, ToolCall, ToolResult
from midfold.settings import Style
from midfold.summaries import active_task, cut_words, describe_progress, prompts
from midfold.summaries.tool_calls import LEAF_CHARS, excerpt, redact_arguments, shorten_strings

MIN_SUMMARY_TOKENS = 400
"""Below this a summary says less than its own prefix."""
_WORTH_LENGTHENING_TOKENS = 200
_FIRST_GUESS_CHARS_PER_TOKEN = 4
_LENGTHEN_ROUNDS = 6
_TIGHT = 0.99
_FRAME_PART = 0.1
"""Of the room that a ceiling leaves a summary: a frame that takes more is made brief."""
_SHORT_TASK_CHARS = 80
_TASK_PART = 0.03
"""Of a summary's room, the most that the words of the newest request may take: they follow it whole."""


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
    kept_tokens: int
    """the request without its summary"""
    summary_tokens: int
    """room for the whole summary message"""

    @property
    def least_tokens(self) -> int:
        """The size of the request with a summary that says nothing."""
        return self.kept_tokens + (self.frame_tokens if self.spans else 0)

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
            writers=job.stub_writers,
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
    """Whether a ceiling is out of reach for pruning, or so low that notes keep more than stubs would."""
    if not job.has_ceiling:
        return False
    if prefers_notes(job.aim_tokens, job.tokens_before):
        return True
    messages, sizes = job.layout.messages, job.layout.sizes
    saved = sum(
        max(0, sizes[index] - least_tokens(messages[index]))
        for span in spans_between(job.layout, plan.head_stop, plan.tail_start)
        for index in span
    )
    return job.tokens_before - saved > job.aim_tokens


def fits_pruned(job: CompressionJob, pruned: Pruned) -> bool:
    """Whether pruning alone reaches the target."""
    return _left(job, pruned.edits) >= 0


def _left(job: CompressionJob, edits: Sequence[Edit]) -> int:
    """Return the room that a list with these edits leaves, its repairs counted."""
    repairs = job.repair(())
    return job.aim_tokens - (
        job.tokens_before + job.edits_delta(repairs.merge(edits)) + job.repair_tokens(repairs)
    )


def spare(job: CompressionJob, pruned: Pruned) -> Pruned:
    """Take back what a ceiling leaves room for, the newest first; what does not fit whole stays in part."""
    if not job.has_ceiling:
        return pruned
    left = _left(job, pruned.edits)
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
    """Say more of a result or of a call's arguments than its stub does, as far as `room` goes."""
    message = job.layout.messages[edit.index]
    if len(edit.parts) != 1 or job.policy.style is not Style.STUB:
        return edit
    [(ordinal, part)] = edit.parts
    [(position, _)] = edit.positions(message)
    original = message.parts[position]
    chars = room * _FIRST_GUESS_CHARS_PER_TOKEN
    for _ in range(_LENGTHEN_ROUNDS):
        longer = _say_more(job, original, part, chars)
        if longer is None:
            return edit
        lengthened = Edit(edit.index, ((ordinal, longer),))
        excess = job.edit_delta(lengthened) - job.edit_delta(edit) - room
        if excess <= 0:
            return lengthened
        chars = int(chars * room / (room + excess) * _TIGHT)
    return edit


def _say_more(job: CompressionJob, original: Part, part: Part, chars: int) -> Part | None:
    """Return the part with so many characters of what was cut from it; `None` where there is no such form."""
    if isinstance(original, ToolResult) and isinstance(part, ToolResult) and not original.media:
        return replace(part, text=excerpt(job.redact(original.text), chars // 2, chars // 2))
    if isinstance(original, ToolCall) and isinstance(part, ToolCall):
        arguments = redact_arguments(original.arguments, job.redact)
        return replace(part, arguments=shorten_strings(arguments, max(chars, LEAF_CHARS)))
    return None


def choose_fold(job: CompressionJob, plan: FoldPlan, pruned: Pruned) -> FoldChoice:
    """Choose what to fold by strategy, at most what `plan` folds."""
    shrunk = _shorten_kept(job, plan)
    if job.is_short:
        return make_choice(job, FoldPlan(plan.head_stop, plan.tail_start, ()), shrunk)
    if job.folds_all:
        return make_choice(job, plan, shrunk)
    return _choose_staged(job, plan, (*pruned.edits, *shrunk))


def _shorten_kept(job: CompressionJob, plan: FoldPlan) -> tuple[Edit, ...]:
    """Shorten what stays and is too large: results of the tail, and a request that takes all the room."""
    shrunk = shrink_results(job, plan, job.tail_budget)
    pasted = excerpt_messages(job.layout, job.layout.request, job.request_excess, job.count, job.redact)
    edited = {edit.index for edit in shrunk}
    return (*shrunk, *(edit for edit in pasted if edit.index not in edited))


def shrink_results(job: CompressionJob, plan: FoldPlan, budget: int) -> tuple[Edit, ...]:
    """Shorten the results of a tail that is larger than even the slack allows."""
    tail = Span(plan.tail_start, len(job.layout.messages))
    kept = {*tail, *find_printed(job.layout, tail)}
    if sum(job.layout.sizes[index] for index in kept) <= budget * TAIL_SLACK:
        return ()
    # Where a ceiling leaves nothing to fold, the tail has all the room there is.
    allowed = job.room if job.has_ceiling and not plan.spans else budget
    return shrink_tail(job.layout, tail, allowed, job.count, job.redact)


def _choose_staged(job: CompressionJob, plan: FoldPlan, edits: Sequence[Edit]) -> FoldChoice:
    """Fold the oldest part of the middle, no more than it takes to reach the target."""
    layout = job.layout
    lifted = [edit for edit in edits if edit.index in layout.request]
    others = [edit for edit in edits if edit.index not in layout.request]
    before = job.tokens_before + job.edits_delta(lifted)
    deltas = [0] * (len(layout.messages) + 1)
    for edit in others:
        deltas[edit.index] = job.edit_delta(edit)
    saved_from = [*accumulate(reversed(deltas))][::-1]
    for stop in stops_between(layout, plan):
        spans = shorten_fold(layout, plan, stop).spans
        folded = sum(map(layout.tokens, spans))
        kept = before - folded + saved_from[stop]
        if kept + job.summary_budget(spans) <= job.aim_tokens:
            break
    else:
        stop = plan.tail_start
    kept_edits = [*lifted, *(edit for edit in others if edit.index >= stop)]
    return make_choice(job, shorten_fold(layout, plan, stop), kept_edits)


def make_choice(job: CompressionJob, plan: FoldPlan, edits: Sequence[Edit]) -> FoldChoice:
    """Work out how much room a plan leaves for the summary."""
    layout = job.layout
    folded_tokens = sum(layout.tokens(span) for span in plan.spans)
    repairs = job.repair(plan.spans)
    kept = job.tokens_before - folded_tokens + job.edits_delta(repairs.merge(edits))
    kept += job.repair_tokens(repairs) + (job.note_tokens if plan.spans else 0)
    room = job.aim_tokens - kept
    if not job.has_ceiling:
        # Only a ceiling is filled up. What was paid for is kept: padding never makes a fold not worth it.
        worth = ceil(max(MIN_SAVED_TOKENS, job.tokens_before * MIN_SAVED_PART))
        room = min(job.summary_budget(plan.spans), job.tokens_before - kept - worth)
    asked = job.redact(active_task(layout.messages, layout.summary, layout.observations))
    most_chars = max(int(max(room, 0) * _TASK_PART * _FIRST_GUESS_CHARS_PER_TOKEN), _SHORT_TASK_CHARS)
    progress = _describe_progress(job, plan.spans)
    frame = SummaryFrame(
        task=f"{cut_words(asked, most_chars) if job.has_ceiling else asked}{progress}",
        folded=_number_folded(layout, plan.spans, repairs),
        key=job.key,
    )
    frame_tokens = job.count(frame.wrap(""))
    if job.has_ceiling and frame_tokens > room * _FRAME_PART:
        frame = replace(frame, prefix=prompts.BRIEF_PREFIX)
        frame_tokens = job.count(frame.wrap(""))
    if room - frame_tokens < MIN_SUMMARY_TOKENS:
        # The request itself follows the summary; where room is short, its first words point at it.
        is_done = layout.answered is not None
        frame = replace(frame, task=f"{cut_words(asked, _SHORT_TASK_CHARS)}{progress if is_done else ''}")
        frame_tokens = job.count(frame.wrap(""))
    return FoldChoice(
        head_stop=plan.head_stop,
        spans=plan.spans,
        edits=tuple(edits),
        repairs=repairs,
        frame=frame,
        frame_tokens=frame_tokens,
        folded_tokens=folded_tokens,
        kept_tokens=kept,
        summary_tokens=room,
    )


def _describe_progress(job: CompressionJob, spans: Sequence[Span]) -> str:
    """Say on a line of its own how far the work on the newest request has come."""
    layout = job.layout
    if layout.asked is None or layout.asked == layout.summary:
        return ""
    answer = "" if layout.answered is None else layout.messages[layout.answered].text
    said = describe_progress(
        layout.numbers,
        {index for span in spans for index in span},
        asked=layout.asked,
        answered=layout.answered,
        answer=job.redact(answer),
    )
    return f"\n{said}" if said else ""


def _number_folded(layout: Layout, spans: Sequence[Span], repairs: Repairs) -> FoldedNumbers:
    """Say by their numbers which messages leave, and where one is put in to make the list legal."""
    gone = {index for span in spans for index in span}
    return layout.folded_before.join(
        (layout.numbers[index] for index in {*gone, *repairs.drops} - {layout.summary}),
        (layout.numbers[insert.after] for insert in repairs.inserts),
    )
