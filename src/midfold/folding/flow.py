"""A compression from end to end, as a generator: it asks for summaries and returns what it did.

`fold` folds the whole middle. `prune` only prunes. `staged` prunes, and folds only as much of the oldest part
as it must. With a hard ceiling, what pruning alone cannot do is done by folding everything between head and
tail, and the digest gets all the room that is left.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from midfold.folding.ceiling import choose_for_ceiling, round_down
from midfold.folding.choose import (
    FoldChoice,
    choose_fold,
    fits_pruned,
    prune_middle,
    prunes_in_vain,
    spare,
)
from midfold.folding.compression import Compression, Flow
from midfold.folding.fold import Edit, Fold, splice
from midfold.folding.job import CompressionJob
from midfold.folding.layout import lay_out
from midfold.folding.policy import TAIL_SLACK, CompressionPolicy, is_worth_it
from midfold.folding.pressure import note_attempt, note_outcome
from midfold.folding.prune import PruneCounts, Pruned
from midfold.folding.state import CompressionState
from midfold.late_dataclasses import replace
from midfold.messages import Message, MessageDigest, texts_of
from midfold.ports import Count
from midfold.settings import Strategy
from midfold.summaries import DIGEST, Draft, Retention, SummaryJob, draft_summary
from midfold.summaries.ledger import LedgerCache
from midfold.summaries.tool_calls import BUILT_IN, StubWriter

PINS_PART = 0.02
"""Of the budget, the most that pinned rules may take."""
_FIT_ROUNDS = 4
_GROW_ROUNDS = 3
_SMALL_REST, _SMALL_REST_TOKENS = 0.01, 60
"""Of a ceiling: what may stay unused."""
_MOST_COMPARED = 24
"""Smaller ceilings that a result which leaves room is compared with."""


def compress(
    messages: Sequence[Message],
    *,
    policy: CompressionPolicy,
    count: Count,
    state: CompressionState | None = None,
    sizes: Sequence[int] | None = None,
    overhead_tokens: int = 0,
    focus: str | None = None,
    use_model: bool = False,
    is_manual: bool = False,
    is_emergency: bool = False,
    key: bytes = b"",
    ledger_cache: LedgerCache | None = None,
    digests: Sequence[MessageDigest] | None = None,
    stub_writers: Mapping[str, StubWriter] = BUILT_IN,
    originals: Mapping[int, Message] | None = None,
) -> Flow[Message]:
    """Compress a conversation. Yields `SummaryRequest`, is sent the summary, returns `Compression`.

    `overhead_tokens` travel beside the messages. `sizes`, `digests` and a `ledger_cache` with the same `key`
    spare work. `originals` are messages, by index, before they were pruned. No model, no `SummaryRequest`.
    """
    sizes = [count(message) for message in messages] if sizes is None else sizes
    state = state or CompressionState()
    job = CompressionJob(
        layout=lay_out(messages, sizes, policy, key=key, has_folded=state.folds > 0),
        policy=policy,
        count=count,
        state=state,
        overhead_tokens=overhead_tokens,
        tokens_before=overhead_tokens + sum(sizes),
        focus=focus,
        use_model=use_model,
        is_manual=is_manual,
        is_emergency=is_emergency,
        key=key,
        ledger_cache=ledger_cache or LedgerCache(key),
        digests=digests,
        stub_writers=stub_writers,
        aim_tokens=policy.target_tokens,
        originals=originals or {},
    )
    return (yield from _run(job))


def _run(job: CompressionJob) -> Flow[Message]:
    """Refuse, or compress: under a ceiling, to what is filled and compared with less."""
    refusal = job.find_refusal()
    if refusal is not None:
        return _unchanged(job, refusal, note_attempt(job.state))
    if not job.has_ceiling:
        return (yield from _compress(job))
    job = replace(job, aim_tokens=round_down(job.aim_tokens))
    if not job.use_model:
        return _settle(job)
    # Nobody asks a model twice, so only the digest can be compared with what less room gives.
    made = yield from _compress(job)
    if made.summarizer != DIGEST:
        return made
    stand_in = _settle(replace(job, use_model=False))
    return replace(stand_in, warning=made.warning) if stand_in.fold else made


def _settle(job: CompressionJob) -> Compression[Message]:
    """Return the largest result for this ceiling or one below it: asking for less never gives more.

    Nearly always the digest fills its room, and no smaller ceiling can give as much.
    """
    best = _fill(job)
    if best.tokens_after > job.policy.target_tokens:
        return best
    aim = job.aim_tokens
    for _ in range(_MOST_COMPARED):
        aim = round_down(aim - 1)
        if aim <= best.tokens_after:
            break
        other = _fill(replace(job, aim_tokens=aim))
        best = other if best.tokens_after < other.tokens_after <= aim else best
    return best


def _fill(job: CompressionJob) -> Compression[Message]:
    """Compress with the digest; room that it has no use for goes to the newest messages."""
    best = _finish_flow(_compress(job))
    for _ in range(_GROW_ROUNDS):
        left = job.aim_tokens - best.tokens_after
        if left <= max(job.aim_tokens * _SMALL_REST, _SMALL_REST_TOKENS) or best.summary is None:
            break
        job = replace(job, tail_extra=job.tail_extra + int(left / TAIL_SLACK))
        other = _finish_flow(_compress(job))
        best = other if best.tokens_after < other.tokens_after <= job.aim_tokens else best
    return best


def _finish_flow(flow: Flow[Message]) -> Compression[Message]:
    """Run a flow that asks nobody."""
    try:
        next(flow)
    except StopIteration as stop:
        result: Compression[Message] = stop.value
        return result
    raise AssertionError("a digest asks nobody")


def _compress(job: CompressionJob) -> Flow[Message]:
    """Do as little as the job allows: nothing, pruning, or a fold."""
    plan = job.make_plan()
    only_prunes = job.policy.strategy is Strategy.PRUNE
    folds = job.folds_all or job.policy.strategy is Strategy.FOLD
    skips_pruning = not only_prunes and (folds or prunes_in_vain(job, plan))
    pruned = Pruned() if skips_pruning else prune_middle(job, plan)
    if only_prunes or (not skips_pruning and fits_pruned(job, pruned)):
        pruned = spare(job, pruned)
        return _finish(job, job.make_fold(pruned.edits, job.repair(())), pruned, None)
    choice = choose_for_ceiling(job) if job.has_ceiling else choose_fold(job, plan, pruned)
    if choice.spans:
        return (yield from _fold(job, choice, pruned))
    edits = choice.edits
    if not (job.has_ceiling and edits):
        pruned = prune_middle(job, plan) if skips_pruning else pruned
        # Pruning and the shortening of a tail never touch the same message.
        edits = tuple(sorted((*pruned.edits, *choice.edits), key=lambda edit: edit.index))
    if edits:
        return _finish(job, job.make_fold(edits, choice.repairs), replace(pruned, edits=edits), None)
    if job.is_short:
        return _unchanged(job, "there is too little to fold", note_attempt(job.state))
    return _ineffective(job, "nothing can be folded")


def _fold(job: CompressionJob, choice: FoldChoice, pruned: Pruned) -> Flow[Message]:
    """Have the summary written and put it in, unless that cannot save enough."""
    # What a fold saves whose summary says nothing; where that is too little, nobody is asked.
    frame_tokens = choice.summary_tokens - choice.body_tokens
    refusal = _why_too_small(job, choice.folded_tokens - frame_tokens - job.edits_delta(choice.edits))
    if refusal is not None:
        return _ineffective(job, refusal)
    draft = yield from draft_summary(_summary_job(job, choice), use_model=job.use_model)
    fold = _fit_summary(job, choice, draft)
    warning = draft.warning or _warn_of_focus(job, draft, fold)
    return _finish(job, fold, pruned, replace(draft, warning=warning))


def _why_too_small(job: CompressionJob, saved: int) -> str | None:
    """Say why saving so many tokens is not worth a pass, if that is so; under a ceiling everything is."""
    if saved <= 0:
        return "the result would not be smaller"
    if not job.has_ceiling and not is_worth_it(saved, job.tokens_before):
        return f"it would save {saved:,} tokens, too little to be worth it"
    return None


def _summary_job(job: CompressionJob, choice: FoldChoice) -> SummaryJob:
    """Name what the summary stands for, and on which terms it is drafted."""
    layout, policy = job.layout, job.policy
    folded = [index for span in choice.spans for index in span]
    gone = set(folded)
    return SummaryJob(
        messages=[job.originals.get(at, message) for at, message in enumerate(layout.messages)],
        pairing=layout.pairing,
        numbers=layout.numbers,
        folded=folded,
        kept=[layout.messages[at] for at in range(layout.lead, len(layout.messages)) if at not in gone],
        template=policy.template,
        body_tokens=choice.body_tokens,
        rules_tokens=policy.target_tokens * PINS_PART if policy.pins else 0.0,
        redact=job.redact,
        count_text=job.count_text,
        ledger_cache=job.ledger_cache,
        earlier=layout.summary,
        previous=layout.previous,
        pins=job.state.pins,
        unpinned=job.state.unpinned,
        focus=job.focus,
        model_tokens=job.summary_budget(choice.spans),
        window_tokens=policy.summarizer_window,
        is_manual=job.is_manual,
        readings=job.readings,
    )


def _warn_of_focus(job: CompressionJob, draft: Draft, fold: Fold) -> str | None:
    """Say so if little of the topic that a compression was to keep is left."""
    folded = (job.layout.messages[index] for index in draft.job.folded)
    body = fold.summary.text if fold.summary else ""
    return draft.check_focus(body, lambda: [text for message in folded for text in texts_of(message)])


def _fit_summary(job: CompressionJob, choice: FoldChoice, draft: Draft) -> Fold:
    """Put the summary in; where it is larger than its room, shorten it until it fits."""
    budget = choice.body_tokens
    for _ in range(_FIT_ROUNDS):
        message = choice.frame.wrap(draft.write(max(budget, 0)))
        excess = job.count(message) - choice.summary_tokens
        if excess <= 0:
            break
        budget -= excess + max(budget, 0) // 100
    else:
        message = choice.frame.wrap("") if job.has_ceiling else message
    return job.make_fold(
        choice.edits, choice.repairs, spans=choice.spans, at=choice.head_stop, summary=message
    )


def _finish(job: CompressionJob, fold: Fold, pruned: Pruned, draft: Draft | None) -> Compression[Message]:
    """Accept the fold if it is worth it; a result that is not smaller is thrown away."""
    tokens_after = job.tokens_after(fold)
    refusal = _why_too_small(job, job.tokens_before - tokens_after)
    if refusal is not None:
        return _ineffective(job, refusal)
    is_fold = fold.summary is not None
    return Compression(
        messages=splice(fold, job.layout.messages),
        before=tuple(job.layout.messages),
        fold=fold,
        reason="folded" if is_fold else "pruned",
        state=note_outcome(job.state, effective=True, is_fold=is_fold, tokens=tokens_after),
        tokens_before=job.tokens_before,
        tokens_after=tokens_after,
        budget_tokens=job.policy.target_tokens,
        pruned=_counts(fold.edits, pruned),
        summarizer=draft.by if draft else None,
        summary_tokens=job.count(fold.summary) if fold.summary else 0,
        model_tokens=_count_words(job, fold, draft),
        retention=_check(job, fold, draft) if draft else None,
        warning=_warning(job, tokens_after, draft),
        system_note=job.note if is_fold and not job.layout.lead else None,
    )


def _count_words(job: CompressionJob, fold: Fold, draft: Draft | None) -> int:
    """Count the lines of a summary that are a model's own, as it wrote them."""
    if draft is None or draft.words is None or fold.summary is None:
        return 0
    written = {line.strip() for line in draft.words.split("\n") if line.strip()}
    kept = [line for line in fold.summary.text.split("\n") if line.strip() in written]
    return job.count_text("\n".join(kept)) if kept else 0


def _check(job: CompressionJob, fold: Fold, draft: Draft) -> Retention:
    """Check which facts survived, in the summary or beside it."""
    beside = [message for message in splice(fold, job.layout.messages) if message is not fold.summary]
    return draft.check(
        fold.summary.text if fold.summary else "",
        elsewhere=lambda: _texts(beside),
        source=lambda: _texts(job.layout.messages),
    )


def _texts(messages: Iterable[Message]) -> Iterator[str]:
    return (text for message in messages for text in texts_of(message))


def _warning(job: CompressionJob, tokens_after: int, draft: Draft | None) -> str | None:
    over = tokens_after - job.policy.target_tokens if job.policy.max_tokens is not None else 0
    if over > 0:
        fixed = job.overhead_tokens + job.fixed_tokens
        said = (
            f"{over:,} tokens over the ceiling: system prompt, tools and newest request alone take {fixed:,}"
        )
        bare = tokens_after - fixed
        return said if fixed > job.policy.target_tokens else f"{said}, and the shortest summary {bare:,}"
    return draft.warning if draft else None


def _ineffective(job: CompressionJob, reason: str) -> Compression[Message]:
    """Leave everything as it was, and remember that a pass was of no use."""
    state = note_outcome(job.state, effective=False, is_fold=False, tokens=job.tokens_before)
    return _unchanged(job, reason, state)


def _unchanged(job: CompressionJob, reason: str, state: CompressionState) -> Compression[Message]:
    return Compression.unchanged(
        list(job.layout.messages),
        tuple(job.layout.messages),
        reason,
        state=state,
        tokens=job.tokens_before,
        budget_tokens=job.policy.target_tokens,
    )


def _counts(edits: Iterable[Edit], pruned: Pruned) -> PruneCounts:
    """Count the pruning that is still to be seen; duplicates are counted apart only where all of it is."""
    kept = set(edits)
    if all(edit in kept for edit in pruned.edits):
        return pruned.counts
    return PruneCounts.of_edits(edit for edit in pruned.edits if edit in kept)
