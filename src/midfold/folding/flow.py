"""A compression from end to end, as a generator: it asks for summaries and returns what it did.

`fold` folds the whole middle. `prune` only prunes. `staged` prunes, and folds only as much of the oldest part
as it must. With a hard ceiling, what pruning alone cannot do is done by folding everything between head and
tail, and the digest gets all the room that is left.
"""

from collections.abc import Generator, Iterable, Sequence
from dataclasses import replace
from typing import TypeAlias, TypeVar

from midfold.folding.assemble import make_fold
from midfold.folding.choose import (
    Choice,
    Job,
    add_edits,
    choose_fold,
    is_short,
    prune_middle,
    prunes_in_vain,
    spare,
    why_not,
)
from midfold.folding.compression import Compression, PruneCounts, texts_of
from midfold.folding.fold import Edit, Fold, splice
from midfold.folding.layout import lay_out
from midfold.folding.policy import CompressionPolicy, Strategy
from midfold.folding.pressure import note_attempt, note_outcome
from midfold.folding.prune import Pruned
from midfold.folding.state import CompressionState
from midfold.folding.summary_message import frame_summary, make_summary_message
from midfold.messages import Message, MessageDigest, Text, ToolCall, ToolResult
from midfold.ports import Count
from midfold.summaries import Draft, Retention, SummaryJob, SummaryRequest, draft_summary
from midfold.summaries.ledger import LedgerCache

MIN_SAVED_PART = 0.10
MIN_SAVED_TOKENS = 500
"""A pass that saves less costs more than it brings: a cold cache, and detail for nothing."""
NOTHING_PRUNED = Pruned((), 0, 0, 0, 0)
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
    memory: LedgerCache | None = None,
    digests: Sequence[MessageDigest] | None = None,
) -> Flow[Message]:
    """Compress a conversation. Yields `SummaryRequest`, is sent the summary, returns `Compression`.

    `overhead_tokens` is what travels beside the messages: a system prompt kept apart, tool schemas. `sizes`
    spare counting again, a `memory` with the same `key` reading, `digests` hashing. Without `use_model`
    nothing is yielded and the built-in digest summarises. Whatever happens, the input stays as it was; an
    answer that is refused or fails is replaced by the digest.
    """
    sizes = [count(message) for message in messages] if sizes is None else sizes
    layout = lay_out(messages, sizes, policy)
    job = Job(
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
        memory=memory or LedgerCache(key),
        digests=digests,
    )
    return (yield from _compress(job))


def _compress(job: Job) -> Flow[Message]:
    """Do as little as the job allows: nothing, pruning, or a fold."""
    refusal = why_not(job)
    if refusal is not None:
        return _unchanged(job, refusal, note_attempt(job.state))
    only_prunes = job.policy.strategy is Strategy.PRUNE
    skips = job.folds_all or (prunes_in_vain(job) and not only_prunes)
    pruned = NOTHING_PRUNED if skips else prune_middle(job)
    if only_prunes or (not skips and job.fits_pruned(pruned)):
        pruned = spare(job, pruned)
        return _finish(job, _light_fold(job, pruned), pruned, None)
    choice = choose_fold(job, pruned)
    if choice.spans and (refusal := _why_vain(job, _most_saved(job, choice))):
        return _vain(job, refusal)
    if choice.spans:
        draft = yield from draft_summary(_summary_job(job, choice), use_model=job.use_model)
        fold = _fit(job, choice, draft)
        warning = draft.warning or _warn_of_focus(job, draft, fold)
        return _finish(job, fold, pruned, replace(draft, warning=warning))
    pruned = add_edits(prune_middle(job), choice.edits)
    if pruned.edits:
        return _finish(job, _light_fold(job, pruned), pruned, None)
    return (
        _unchanged(job, "there is too little to fold", note_attempt(job.state))
        if is_short(job)
        else _vain(job, "nothing can be folded")
    )


def _most_saved(job: Job, choice: Choice) -> int:
    """Return what a fold saves whose summary says nothing; where that is too little, nobody is asked."""
    shell = choice.summary_tokens - choice.body_tokens
    return choice.folded_tokens - shell - sum(map(job.edit_delta, choice.edits))


def _why_vain(job: Job, saved: int) -> str | None:
    """Say why saving so many tokens is not worth a pass, if that is so; under a ceiling everything is."""
    if saved <= 0:
        return "the result would not be smaller"
    enough = saved >= MIN_SAVED_TOKENS and saved >= job.tokens_before * MIN_SAVED_PART
    if job.policy.max_tokens is None and not enough:
        return f"it would save {saved:,} tokens, too little to be worth it"
    return None


def _light_fold(job: Job, pruned: Pruned) -> Fold:
    """Make the fold of a pass that only pruned: no span, no summary, no note."""
    layout = job.layout
    return make_fold(
        layout,
        spans=(),
        at=layout.lead,
        summary=None,
        edits=pruned.edits,
        digests=job.digests,
    )


def _summary_job(job: Job, choice: Choice) -> SummaryJob:
    """Name what the summary stands for, and on which terms it is draft."""
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
        ledger_cache=job.memory,
        earlier=layout.summary,
        previous=layout.previous,
        pins=job.state.pins,
        unpinned=job.state.unpinned,
        focus=job.focus,
        model_tokens=policy.summary_budget_tokens(choice.folded_tokens),
        window_tokens=policy.summarizer_window,
        is_manual=job.is_manual,
    )


def _warn_of_focus(job: Job, draft: Draft, fold: Fold) -> str | None:
    """Say so if little of the topic that a compression was to keep is left."""
    folded = (job.layout.messages[index] for index in draft.job.folded)
    body = fold.summary.text if fold.summary else ""
    return draft.check_focus(body, lambda: [text for message in folded for text in texts_of(message)])


def _fit(job: Job, choice: Choice, draft: Draft) -> Fold:
    """Put the summary in its place; where it is larger than its room, shorten it until it fits."""
    budget = choice.body_tokens
    for _ in range(_FIT_ROUNDS):
        body = draft.write(max(budget, 0))
        message = make_summary_message(
            frame_summary(body, choice.task, choice.folded), choice.digest, job.key
        )
        excess = job.count(message) - choice.summary_tokens
        if excess <= 0:
            break
        budget -= excess + max(budget, 0) // 100
    return make_fold(
        job.layout,
        spans=choice.spans,
        at=choice.head_stop,
        summary=message,
        edits=choice.edits,
        note=job.note,
        digests=job.digests,
    )


def _finish(job: Job, fold: Fold, pruned: Pruned, draft: Draft | None) -> Compression[Message]:
    """Accept the fold if it is worth it; a result that is not smaller is thrown away."""
    tokens_after = job.tokens_after(fold)
    refusal = _why_vain(job, job.tokens_before - tokens_after)
    if refusal is not None:
        return _vain(job, refusal)
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


def _check(job: Job, fold: Fold, draft: Draft) -> Retention:
    """Say what survived, in the summary or beside it."""
    beside = [message for message in splice(fold, job.layout.messages) if message is not fold.summary]
    return draft.check(
        fold.summary.text if fold.summary else "",
        elsewhere=lambda: _spell_out(beside),
        source=lambda: _spell_out(job.layout.messages),
    )


def _spell_out(messages: Iterable[Message]) -> str:
    return "\n".join([text for message in messages for text in texts_of(message)])


def _warning(job: Job, tokens_after: int, draft: Draft | None) -> str | None:
    over = tokens_after - job.policy.target_tokens if job.policy.max_tokens is not None else 0
    if over > 0:
        fixed = job.overhead_tokens + job.fixed_tokens
        said = (
            f"{over:,} tokens over the ceiling: system prompt, tools and newest request alone take {fixed:,}"
        )
        bare = tokens_after - fixed
        return said if fixed > job.policy.target_tokens else f"{said}, and the shortest summary {bare:,}"
    return draft.warning if draft else None


def _vain(job: Job, reason: str) -> Compression[Message]:
    """Leave everything as it was, and remember that a pass was of no use."""
    state = note_outcome(job.state, effective=False, is_fold=False, tokens=job.tokens_before)
    return _unchanged(job, reason, state)


def _unchanged(job: Job, reason: str, state: CompressionState) -> Compression[Message]:
    return Compression.unchanged(
        list(job.layout.messages),
        tuple(job.layout.messages),
        reason,
        state=state,
        tokens=job.tokens_before,
        budget_tokens=job.policy.target_tokens,
    )


def _counts(edits: Iterable[Edit], pruned: Pruned) -> PruneCounts:
    """Count what is still to be seen of the pruning; duplicates are told apart only where all of it is."""
    kept = set(edits)
    if all(edit in kept for edit in pruned.edits):
        return PruneCounts(pruned.results, pruned.duplicates, pruned.arguments, pruned.media)
    parts = [part for edit in pruned.edits if edit in kept for _, part in edit.parts]
    return PruneCounts(
        results=sum(isinstance(part, ToolResult) for part in parts),
        arguments=sum(isinstance(part, ToolCall) for part in parts),
        media=sum(isinstance(part, Text) for part in parts),
    )
