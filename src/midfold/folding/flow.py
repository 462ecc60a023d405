"""A compression from end to end, as a generator: it asks for summaries and returns what it did.

`fold` folds the whole middle. `prune` only prunes. `staged` prunes, and folds only as much of the oldest part
as it must. With a hard ceiling, what pruning alone cannot do is done by folding everything between head and
tail, and the digest gets all the room that is left.
"""

from collections.abc import Generator, Iterable, Sequence
from dataclasses import replace
from typing import TypeAlias, TypeVar

from midfold.folding.choose import (
    FoldChoice,
    choose_fold,
    fits_pruned,
    prune_middle,
    prunes_in_vain,
    spare,
)
from midfold.folding.compression import Compression
from midfold.folding.fold import Edit, Fold, splice
from midfold.folding.job import CompressionJob
from midfold.folding.layout import lay_out
from midfold.folding.policy import CompressionPolicy
from midfold.folding.pressure import note_attempt, note_outcome
from midfold.folding.prune import PruneCounts, Pruned
from midfold.folding.state import CompressionState
from midfold.messages import Message, MessageDigest, texts_of
from midfold.ports import Count
from midfold.settings import Strategy
from midfold.summaries import Draft, Retention, SummaryJob, SummaryRequest, draft_summary
from midfold.summaries.ledger import LedgerCache

MIN_SAVED_PART = 0.10
MIN_SAVED_TOKENS = 500
"""A pass that saves less costs more than it brings: a cold cache, and detail for nothing."""
PINS_PART = 0.02
"""Of the budget, the most that pinned rules may take."""
_FIT_ROUNDS = 4

M = TypeVar("M")
Flow: TypeAlias = Generator[SummaryRequest, str, Compression[M]]


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
) -> Flow[Message]:
    """Compress a conversation. Yields `SummaryRequest`, is sent the summary, returns `Compression`.

    `overhead_tokens` is what travels beside the messages: a system prompt kept apart, tool schemas. `sizes`
    spare counting again, a `ledger_cache` with the same `key` reading, `digests` hashing. Without `use_model`
    nothing is yielded and the built-in digest summarises. Whatever happens, the input stays as it was; an
    answer that is refused or fails is replaced by the digest.
    """
    sizes = [count(message) for message in messages] if sizes is None else sizes
    layout = lay_out(messages, sizes, policy)
    job = CompressionJob(
        layout=layout,
        policy=policy,
        count=count,
        state=state or CompressionState(),
        overhead_tokens=overhead_tokens,
        tokens_before=overhead_tokens + sum(sizes),
        focus=focus,
        use_model=use_model,
        is_manual=is_manual,
        is_emergency=is_emergency,
        key=key,
        ledger_cache=ledger_cache or LedgerCache(key),
        digests=digests,
    )
    return (yield from _compress(job))


def _compress(job: CompressionJob) -> Flow[Message]:
    """Do as little as the job allows: nothing, pruning, or a fold."""
    refusal = job.find_refusal()
    if refusal is not None:
        return _unchanged(job, refusal, note_attempt(job.state))
    plan = job.make_plan()
    only_prunes = job.policy.strategy is Strategy.PRUNE
    skips_pruning = job.folds_all or (not only_prunes and prunes_in_vain(job, plan))
    pruned = Pruned() if skips_pruning else prune_middle(job, plan)
    if only_prunes or (not skips_pruning and fits_pruned(job, pruned)):
        pruned = spare(job, pruned)
        return _finish(job, job.make_fold(pruned.edits, job.repair(())), pruned, None)
    choice = choose_fold(job, plan, pruned)
    if choice.spans:
        return (yield from _fold(job, choice, pruned))
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
    enough = saved >= MIN_SAVED_TOKENS and saved >= job.tokens_before * MIN_SAVED_PART
    if job.policy.max_tokens is None and not enough:
        return f"it would save {saved:,} tokens, too little to be worth it"
    return None


def _summary_job(job: CompressionJob, choice: FoldChoice) -> SummaryJob:
    """Name what the summary stands for, and on which terms it is drafted."""
    layout, policy = job.layout, job.policy
    folded = [index for span in choice.spans for index in span]
    gone = set(folded)
    return SummaryJob(
        messages=layout.messages,
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
        model_tokens=policy.summary_budget_tokens(choice.folded_tokens),
        window_tokens=policy.summarizer_window,
        is_manual=job.is_manual,
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
        retention=_check(job, fold, draft) if draft else None,
        warning=_warning(job, tokens_after, draft),
        system_note=job.note if is_fold and not job.layout.lead else None,
    )


def _check(job: CompressionJob, fold: Fold, draft: Draft) -> Retention:
    """Check which facts survived, in the summary or beside it."""
    beside = [message for message in splice(fold, job.layout.messages) if message is not fold.summary]
    return draft.check(
        fold.summary.text if fold.summary else "",
        elsewhere=lambda: _join_texts(beside),
        source=lambda: _join_texts(job.layout.messages),
    )


def _join_texts(messages: Iterable[Message]) -> str:
    return "\n".join([text for message in messages for text in texts_of(message)])


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
