"""Plans of the lossless engine: which chunks a compression folds."""

from collections.abc import Iterator, Sequence

from midfold.engines.lossless.chunks import FEWEST_CHUNK_TOKENS, LEAF_TOKENS, cut_chunks
from midfold.engines.lossless.layers import contiguous
from midfold.folding import (
    MIN_TAIL_MESSAGES,
    CompressionJob,
    FoldPlan,
    Span,
    make_ceiling_plan,
    make_plan,
)

_FEW_LEAVES = 3
"""Under a ceiling: each summary takes some room for what it is, and many small ones say less than a few."""


def list_plans(job: CompressionJob) -> Iterator[tuple[FoldPlan, int]]:
    """Yield plans with the budgets of their tails, each with less of a tail than the one before."""
    if not job.has_ceiling:
        for share in (1.0, 0.5, 0.25, 0.0):
            budget = int(job.tail_budget * share)
            yield make_plan(job.layout, job.policy, budget), budget
        return
    for part, least in ((1, MIN_TAIL_MESSAGES), (2, 1), (4, 1)):
        budget = job.tail_budget // part
        yield make_ceiling_plan(job.layout, job.room, budget, least), budget
    # Without a request that stands behind the summaries, something of the tail has to.
    fewest = 0 if len(job.layout.request) else 1
    for room in (job.room, 0):
        yield make_ceiling_plan(job.layout, room, 0, fewest), 0


def cut_plan(job: CompressionJob, plan: FoldPlan, rest: Sequence[int], most_tokens: int) -> list[Span]:
    """Cut what a plan folds into chunks; summaries that stand between its messages part them, too.

    `rest` are the indices that its messages have in the list with the summaries.
    """
    layout = job.layout
    cuts = list(layout.cuts)
    for index in range(1, len(rest)):
        cuts[index] = cuts[index] or rest[index] != rest[index - 1] + 1
    parted = [
        Span(start, stop)
        for span in plan.spans
        for start, stop in _runs([rest[index] for index in span], span.start)
    ]
    if job.has_ceiling:
        folded = sum(layout.tokens(span) for span in parted)
        most_tokens = max(most_tokens, min(LEAF_TOKENS, folded // _FEW_LEAVES))
    return cut_chunks(parted, layout.sums, cuts, most_tokens, FEWEST_CHUNK_TOKENS)


def _runs(indices: Sequence[int], first: int) -> list[tuple[int, int]]:
    runs: list[tuple[int, int]] = []
    for span in contiguous(indices):
        runs.append((first, first + len(span)))
        first += len(span)
    return runs
