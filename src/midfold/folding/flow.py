"""A compression from end to end, as a generator: it asks for summaries and returns what it did.

`fold` folds the whole middle. `prune` only prunes. `staged` prunes, and folds only as much of the oldest part
as it must. With a hard ceiling, what pruning alone cannot do is done by folding everything between head and
tail, and the digest gets all the room that is left.
"""

from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias, TypeVar

from midfold.errors import SummaryUnavailable
from midfold.folding.assemble import make_fold, summary_message
from midfold.folding.choose import (
    Choice,
    Job,
    add_edits,
    choose_fold,
    frame,
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
from midfold.folding.prompt_plan import Showing, explain, share_out, stated_window, window_of
from midfold.folding.prune import Pruned
from midfold.folding.sources import Sources, gather
from midfold.folding.state import CompressionState
from midfold.messages import Message, MessageDigest, Text, ToolCall, ToolResult
from midfold.ports import Count
from midfold.summaries import Retention, check, check_focus, find_inventions, prompts, repair
from midfold.summaries.answers import judge_answer
from midfold.summaries.ledger import Memory

MIN_SAVED_PART = 0.10
MIN_SAVED_TOKENS = 500
"""A pass that saves less costs more than it brings: a cold cache, and detail for nothing."""
NOTHING_PRUNED = Pruned((), 0, 0, 0, 0)
DIGEST = "digest"
MODEL = "model"
_FIT_ROUNDS = 4


@dataclass(frozen=True, slots=True)
class SummaryRequest:
    """What a summariser is asked. `facts` are exact strings that should survive."""

    prompt: str
    max_tokens: int
    facts: tuple[str, ...] = ()
    is_manual: bool = False
    """a person asked for this compression, and waits"""


@dataclass(frozen=True, slots=True)
class _Written:
    """What a summary is made from, a model's words where there are some, and what went wrong on the way."""

    sources: Sources
    words: str | None = None
    warning: str | None = None

    @property
    def by(self) -> str:
        return DIGEST if self.words is None else MODEL


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
    memory: Memory | None = None,
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
        memory=memory or Memory(key),
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
        written = yield from _summarise(job, choice)
        fold = _fit(job, choice, written)
        warning = written.warning or _check_focus(job, choice, fold)
        return _finish(job, fold, pruned, replace(written, warning=warning))
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


def _summarise(job: Job, choice: Choice) -> Generator[SummaryRequest, str, _Written]:
    """Gather what there is to say, and ask the model; where it fails, the digest says it alone."""
    sources = gather(job, choice)
    if not job.use_model:
        return _Written(sources)
    try:
        return _Written(sources, (yield from _ask_within(job, choice, sources)))
    except SummaryUnavailable as error:
        why, folded = explain(error, job), sum(map(len, choice.spans))
        return _Written(sources, warning=f"{why}; the built-in digest stands in for {folded:,} messages")


def _ask_within(job: Job, choice: Choice, sources: Sources) -> Generator[SummaryRequest, str, str]:
    """Ask with what is known of the summariser's window, and once more if it states a smaller one."""
    window = window_of(job)
    try:
        return (yield from _ask(job, sources, share_out(job, choice, sources, window)))
    except SummaryUnavailable as error:
        smaller = stated_window(error)
        if smaller is None or smaller >= window:
            raise
    return (yield from _ask(job, sources, share_out(job, choice, sources, smaller)))


def _check_focus(job: Job, choice: Choice, fold: Fold) -> str | None:
    """Say so if little of the topic that a compression was to keep is left."""
    if not job.focus or fold.summary is None:
        return None
    folded = (job.layout.messages[index] for span in choice.spans for index in span)
    texts = [text for message in folded for text in texts_of(message)]
    return check_focus(job.focus, texts, fold.summary.text).warning


def _ask(job: Job, sources: Sources, showing: Showing) -> Generator[SummaryRequest, str, str]:
    """Show the folded turns to the model piece by piece; each answer brings the notes up to date."""
    notes = showing.earlier
    for place, piece in enumerate(showing.pieces):
        prompt = showing.render(job, place, notes)
        answer = yield SummaryRequest(prompt, showing.budget_tokens, sources.facts, job.is_manual)
        judged = judge_answer(
            (prompts.find_body(answer) or answer) if isinstance(answer, str) else answer,
            prompt=prompt,
            turns=piece.turns,
            budget_tokens=showing.budget_tokens,
            count_text=job.count_text,
            template=job.policy.template,
            user_words=sources.user_words,
        )
        if judged.problem:
            raise SummaryUnavailable(judged.problem)
        notes = job.redact(judged.text)
    if notes is None:
        raise SummaryUnavailable("there was nothing to summarise")
    return notes


def _fit(job: Job, choice: Choice, written: _Written) -> Fold:
    """Put the summary in its place; where it is larger than its room, shorten it until it fits."""
    budget = choice.body_tokens
    for _ in range(_FIT_ROUNDS):
        body = _write_body(job, written, max(budget, 0))
        message = summary_message(frame(body, choice.task, choice.folded), choice.digest, job.key)
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


def _write_body(job: Job, written: _Written, budget_tokens: int) -> str:
    """Write the digest, or a model's words made whole."""
    if written.words is None:
        return written.sources.write(job, budget_tokens)
    return repair(
        written.words,
        written.sources.entries,
        facts=written.sources.facts,
        count_text=job.count_text,
        budget_tokens=budget_tokens,
        template=job.policy.template,
    )


def _finish(job: Job, fold: Fold, pruned: Pruned, written: _Written | None) -> Compression[Message]:
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
        summarizer=written.by if written else None,
        summary_tokens=job.count(fold.summary) if fold.summary else 0,
        retention=_check(job, fold, written) if written else None,
        warning=_warning(job, tokens_after, written),
        system_note=job.note if is_fold and not job.layout.lead else None,
    )


def _check(job: Job, fold: Fold, written: _Written) -> Retention:
    """Say what survived; what a model wrote is also searched for things that nobody said."""
    body = fold.summary.text if fold.summary else ""
    beside = [message for message in splice(fold, job.layout.messages) if message is not fold.summary]
    retention = check(body, written.sources.facts, elsewhere=lambda: _spell_out(beside))
    if written.words is None:
        return retention
    invented = find_inventions(written.words, lambda: _spell_out(job.layout.messages))
    return replace(retention, invented=invented)


def _spell_out(messages: Iterable[Message]) -> str:
    return "\n".join([text for message in messages for text in texts_of(message)])


def _warning(job: Job, tokens_after: int, written: _Written | None) -> str | None:
    over = tokens_after - job.policy.target_tokens if job.policy.max_tokens is not None else 0
    if over > 0:
        fixed = job.overhead_tokens + job.fixed_tokens
        said = (
            f"{over:,} tokens over the ceiling: system prompt, tools and newest request alone take {fixed:,}"
        )
        bare = tokens_after - fixed
        return said if fixed > job.policy.target_tokens else f"{said}, and the shortest summary {bare:,}"
    return written.warning if written else None


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
