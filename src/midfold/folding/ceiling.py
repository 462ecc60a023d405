"""A hard ceiling: what stays, what is cut, and a result that never grows when less is asked for.

Everything between first request and tail is folded, and the digest gets the room that is left. Where that is
none, first the tail gives way, then the largest texts are cut, the newest request last of all.
"""

from collections.abc import Iterator

from midfold.folding.choose import FoldChoice, make_choice, shrink_results
from midfold.folding.excerpts import excerpt_messages
from midfold.folding.job import SHORT_MESSAGES, CompressionJob
from midfold.folding.tail import MIN_TAIL_MESSAGES, FoldPlan, make_ceiling_plan

_SIGNIFICANT_BITS = 8
_LEAST_NOTES_TOKENS = 520
"""The tail gives way to notes with less room: what a brief frame saves is theirs."""
_ANSWER_PART = 3
"""An answer that has to be cut gets one part in so many of the room beside what stays anyway."""
_RESERVE_PART = 4
"""A summary beside a request that had to be cut gets at most one part in so many of their room."""


def round_down(tokens: int) -> int:
    """Return the nearest ceiling below that results are made for: less than one part in 128 is given up.

    Results for neighbours on this grid can be compared; those for any two ceilings could not.
    """
    step = 1 << max(0, tokens.bit_length() - _SIGNIFICANT_BITS)
    return tokens // step * step


def choose_for_ceiling(job: CompressionJob) -> FoldChoice:
    """Choose what to fold so that the ceiling is met and a summary has room; else what comes nearest."""
    whole = []
    for choice in _choices(job):
        if choice.body_tokens >= _LEAST_NOTES_TOKENS if choice.spans else _fits(job, choice):
            return choice
        whole.append(choice)
    for choice in reversed(whole):
        if _fits(job, choice):
            return choice
    cut = [_cut_all(job), *(_cut_beside(job, choice) for choice in whole[-1:] if choice.spans)]
    is_short = len(job.layout.messages) - job.layout.lead <= SHORT_MESSAGES
    for choice in cut if is_short else reversed(cut):
        if _fits(job, choice):
            return choice
    return min((*whole, *cut), key=lambda choice: choice.least_tokens)


def _choices(job: CompressionJob) -> Iterator[FoldChoice]:
    """Yield the choices that are tried: ever less of a tail, no head at last."""
    # A summary must never be last: without a request to stand behind it, something of the tail has to.
    fewest = 0 if len(job.layout.request) else 1
    for share, least in ((1, MIN_TAIL_MESSAGES), (2, 1), (4, 1)):
        budget = job.tail_budget // share
        plan = make_ceiling_plan(job.layout, job.room, budget, least)
        yield make_choice(job, plan, shrink_results(job, plan, budget))
    if job.layout.answered is not None:
        yield from (_cut_answer(job, job.layout.answered, room) for room in (job.room, 0))
    for room in (job.room, 0):
        plan = make_ceiling_plan(job.layout, room, 0, fewest)
        yield make_choice(job, plan, shrink_results(job, plan, 0))


def _cut_answer(job: CompressionJob, answered: int, room: int) -> FoldChoice:
    """Cut the answer to the newest request: in front of that, it would be done again."""
    layout = job.layout
    plan = make_ceiling_plan(layout, room, 0, 1)
    whole = make_choice(job, plan, ())
    tokens = layout.sizes[answered]
    share = (job.aim_tokens - whole.least_tokens + tokens) // _ANSWER_PART
    return make_choice(job, plan, excerpt_messages(layout, [answered], tokens - share, job.count, job.redact))


def _fits(job: CompressionJob, choice: FoldChoice) -> bool:
    return choice.least_tokens <= job.aim_tokens


def _cut_beside(job: CompressionJob, choice: FoldChoice) -> FoldChoice:
    """Cut what stays beside a summary."""
    layout = job.layout
    gone = {index for span in choice.spans for index in span}
    kept = [index for index in range(layout.lead, len(layout.messages)) if index not in gone]
    plan = FoldPlan(choice.head_stop, len(layout.messages), choice.spans)
    whole = make_choice(job, plan, ())
    sizes = sum(layout.sizes[index] for index in kept)
    room = job.aim_tokens - (whole.least_tokens - sizes)
    reserve = min(_LEAST_NOTES_TOKENS, max(0, room) // _RESERVE_PART)
    excess = whole.least_tokens + reserve - job.aim_tokens
    return make_choice(job, plan, excerpt_messages(layout, kept, excess, job.count, job.redact))


def _cut_all(job: CompressionJob) -> FoldChoice:
    """Fold nothing, and cut the largest texts: all that helps where there is one message."""
    layout = job.layout
    total = len(layout.messages)
    plan = FoldPlan(layout.lead, total, ())
    excess = make_choice(job, plan, ()).least_tokens - job.aim_tokens
    kept = range(layout.lead, total)
    return make_choice(job, plan, excerpt_messages(layout, kept, excess, job.count, job.redact))
