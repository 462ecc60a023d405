"""Chooses the tail, the newest messages that stay, and with it the head and the spans between them to fold.

The output of a fold reads head, summary, newest request, recent tail. The newest request stays word for word
and after the summary, wherever it stood: the fold may lie on both sides of it.
"""

from midfold.folding.fold import Span
from midfold.folding.layout import Layout, count_head
from midfold.folding.policy import TAIL_SLACK, CompressionPolicy
from midfold.late_dataclasses import dataclass
from midfold.messages import is_request

MIN_TAIL_MESSAGES = 3
_MOST_OPENING_MESSAGES = 3
FIRST_REQUEST_PART = 0.5
"""Of a hard ceiling's room, the most that the first request may take before it is folded, too."""


@dataclass(frozen=True, slots=True)
class FoldPlan:
    """Head and tail stay; the spans between them are folded."""

    head_stop: int
    tail_start: int
    spans: tuple[Span, ...]


def make_plan(layout: Layout, policy: CompressionPolicy, tail_budget: int) -> FoldPlan:
    """Choose head and tail by the policy; everything between them, but for the newest request, is folded."""
    wanted = count_head(layout.sizes, layout.head_start, policy)
    head_stop = _head_stop(layout, layout.head_start + wanted)
    tail_start = find_tail_start(layout, head_stop, tail_budget)
    return FoldPlan(head_stop, tail_start, _spans(layout, head_stop, tail_start))


def make_ceiling_plan(layout: Layout, room: int, tail_budget: int, min_messages: int) -> FoldPlan:
    """Choose head and tail for a hard ceiling that leaves `room` for messages; the head is one request."""
    head_stop = _head_stop(layout, _opening_stop(layout, int(room * FIRST_REQUEST_PART)))
    tail_start = find_tail_start(layout, head_stop, min(tail_budget, room), min_messages)
    return FoldPlan(head_stop, tail_start, _spans(layout, head_stop, tail_start))


def _opening_stop(layout: Layout, most_tokens: int) -> int:
    """Return where the first request ends: what the user says before anybody answers, while it fits."""
    stop = start = layout.head_start
    while (
        stop < min(len(layout.messages), start + _MOST_OPENING_MESSAGES)
        and stop != layout.summary
        and is_request(layout.messages[stop])
        and layout.tokens(Span(start, stop + 1)) <= most_tokens
    ):
        stop += 1
    return stop


def shorten_fold(layout: Layout, plan: FoldPlan, stop: int) -> FoldPlan:
    """Return the plan with a fold that ends at `stop`; what lies between it and the tail stays."""
    return FoldPlan(plan.head_stop, plan.tail_start, _spans(layout, plan.head_stop, stop))


def stops_between(layout: Layout, plan: FoldPlan) -> list[int]:
    """List where a fold that starts after the head may end, nearest first."""
    return [index for index in range(plan.head_stop + 1, plan.tail_start + 1) if layout.cuts[index]]


def _head_stop(layout: Layout, wanted: int) -> int:
    """End the head at a legal cut, before an earlier summary and before the newest request."""
    limits = [wanted, len(layout.messages)]
    if layout.summary is not None and layout.summary >= layout.head_start:
        limits.append(layout.summary)
    if len(layout.request):
        limits.append(layout.request.start)
    stop = max(min(limits), layout.head_start)
    while stop > layout.head_start and not layout.cuts[stop]:
        stop -= 1
    # Without a head the summary replaces the earlier one.
    return stop if stop > layout.head_start else layout.lead


def find_tail_start(
    layout: Layout, head_stop: int, budget: int, min_messages: int = MIN_TAIL_MESSAGES
) -> int:
    """Walk back over whole groups until the budget is used; the group across it stays if the slack allows."""
    total = len(layout.messages)
    newest = min(total - min_messages, total if layout.waiting is None else layout.waiting)
    start = _legal_at_most(layout, max(newest, head_stop), head_stop)
    if layout.tokens(Span(start, total)) > budget:
        return start
    floor = head_stop if layout.summary is None else layout.summary + 1
    for index in range(start - 1, floor - 1, -1):
        if not layout.cuts[index]:
            continue
        tokens = layout.tokens(Span(index, total))
        if tokens <= budget * TAIL_SLACK:
            start = index
        if tokens > budget:
            break
    # A tail that reaches the head leaves nothing to fold: it shrinks to its minimum.
    return start if start > head_stop else _legal_at_most(layout, max(newest, head_stop), head_stop)


def _legal_at_most(layout: Layout, index: int, lowest: int) -> int:
    while index > lowest and not layout.cuts[index]:
        index -= 1
    return index


def spans_between(layout: Layout, start: int, stop: int) -> tuple[Span, ...]:
    """Return `start` to `stop` without the newest request, in as many spans as that takes."""
    pieces = []
    for kept in sorted({layout.request, layout.newest}):
        if len(kept) and kept.start < stop and kept.stop > start:
            pieces.append(Span(start, kept.start))
            start = kept.stop
    return tuple(piece for piece in (*pieces, Span(start, stop)) if len(piece))


def _spans(layout: Layout, start: int, stop: int) -> tuple[Span, ...]:
    """Return the spans to fold; an earlier summary alone is none, since there is no news to add to it."""
    pieces = spans_between(layout, start, stop)
    if layout.summary is not None and layout.summary < start:
        pieces = (Span(layout.summary, layout.summary + 1), *pieces)
        start = layout.summary
    news = sum(map(len, pieces)) - (layout.summary is not None and start <= layout.summary < stop)
    return pieces if news > 0 else ()
