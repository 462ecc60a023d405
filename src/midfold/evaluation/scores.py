"""Runs every method on a conversation, once at every ratio and fold upon fold, and measures what came out.

For a chain a conversation is replayed in pieces and folded after each, as an agent would live it.
"""

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, pairwise

from midfold.evaluation.baselines import METHODS, Method, MethodOutcome
from midfold.evaluation.checks import find_inventions, find_problems
from midfold.evaluation.conversations import MeasuredConversation, make_conversation
from midfold.evaluation.probes import TASK, Probe, ProbeKind
from midfold.evaluation.retention import Belongings, ProbeVerdict, classify, find_belongings
from midfold.evaluation.tallies import Tally
from midfold.evaluation.texts import CompressedContext, escaped_forms, holds, index_context
from midfold.late_dataclasses import dataclass, replace
from midfold.redact import find_secrets
from midfold.wire import parse

LENGTHS = (1, 2, 5, 10)
"""Lengths of the chains, in folds."""
MUST_KEEP_PART = 0.6
"""Must-keep strings are owed only where they and the system prompt take at most this part of the ceiling."""


@dataclass(frozen=True, slots=True)
class Score:
    """All that was measured of one method on one conversation at one ratio."""

    conversation: str
    method: str
    ratio: float
    tokens_before: int
    tokens_after: int
    ceiling: int
    cpu_ms: float
    owes_must_keep: bool
    is_idempotent: bool
    """whether doing it again changes nothing"""
    inventions: tuple[str, ...]
    problems: tuple[str, ...]
    """faults of the list"""
    secrets: tuple[str, ...]
    """the kinds of credentials in summary and stubs"""
    verdicts: tuple[ProbeVerdict, ...]


def evaluate(
    conversation: MeasuredConversation, ratios: Sequence[float], methods: Mapping[str, Method] = METHODS
) -> list[Score]:
    """Measure each method at each ratio of the conversation's size."""
    belongings = find_belongings(conversation)
    return [
        _score(conversation, name, method, ratio, belongings)
        for ratio in ratios
        for name, method in methods.items()
    ]


def owes_must_keep(conversation: MeasuredConversation, ceiling: int) -> bool:
    """Whether there is room enough that no must-keep string may be missing."""
    return conversation.must_keep_tokens() <= ceiling * MUST_KEEP_PART


def _score(
    conversation: MeasuredConversation,
    name: str,
    method: Method,
    ratio: float,
    belongings: Sequence[Belongings],
) -> Score:
    ceiling = conversation.ceiling(ratio)
    outcome = method(conversation, ceiling)
    request = conversation.request
    messages = parse(outcome.items, request.dialect)
    context = index_context(messages, outcome.summary, request.system_text)
    verdicts = classify(conversation.probes, context, belongings, conversation.source, outcome.find)
    written = "\n".join([outcome.summary or "", *outcome.stubs])
    return Score(
        conversation=conversation.name,
        method=name,
        ratio=ratio,
        verdicts=tuple(verdicts),
        inventions=tuple(find_inventions(outcome.summary, conversation.source)),
        problems=find_problems(conversation, outcome.items, messages, outcome.summary),
        secrets=tuple(secret.kind for secret in find_secrets(written)),
        tokens_before=conversation.tokens,
        tokens_after=outcome.tokens,
        ceiling=ceiling,
        cpu_ms=outcome.cpu_ms,
        is_idempotent=follow_up(conversation, method, outcome.items, ceiling).items == outcome.items,
        owes_must_keep=owes_must_keep(conversation, ceiling),
    )


def follow_up(
    conversation: MeasuredConversation, method: Method, items: Sequence[object], ceiling: int
) -> MethodOutcome:
    """Run a method on what became of a conversation."""
    changed = replace(conversation.request, messages=list(items), raw=None)
    return method(make_conversation(conversation.name, changed, ()), ceiling)


@dataclass(frozen=True, slots=True)
class ChainResult:
    """Retention at the end of a chain of folds, in all zones."""

    conversation: str
    method: str
    ratio: float
    length: int
    folds: int
    """the number of folds that changed something"""
    everything: Tally
    task: Tally
    constraints: Tally
    must_keep: Tally
    owes_must_keep: bool


def chain_folds(
    conversation: MeasuredConversation,
    ratio: float,
    methods: Mapping[str, Method] = METHODS,
    lengths: Sequence[int] = LENGTHS,
) -> list[ChainResult]:
    """Replay a conversation in as many pieces as each chain has folds."""
    return [
        _replay(conversation, name, method, ratio, length)
        for name, method in methods.items()
        for length in lengths
    ]


def _replay(
    conversation: MeasuredConversation, name: str, method: Method, ratio: float, length: int
) -> ChainResult:
    ceiling = conversation.ceiling(ratio)
    items: list[object] = []
    summary: str | None = None
    folds = 0
    for start, stop in cut_pieces(conversation, length, ratio):
        items = [*items, *conversation.request.messages[start:stop]]
        outcome = follow_up(conversation, method, items, ceiling)
        folds += outcome.items != items
        items, summary = outcome.items, outcome.summary
    request = conversation.request
    context = index_context(parse(items, request.dialect), summary, request.system_text)
    probes = conversation.probes
    return ChainResult(
        conversation=conversation.name,
        method=name,
        ratio=ratio,
        length=length,
        folds=folds,
        everything=_tally(probes, context),
        task=_tally([probe for probe in probes if probe.kind in TASK], context),
        constraints=_tally([probe for probe in probes if probe.kind is ProbeKind.CONSTRAINT], context),
        must_keep=_tally([probe for probe in probes if probe.must_keep], context),
        owes_must_keep=owes_must_keep(conversation, ceiling),
    )


def cut_pieces(conversation: MeasuredConversation, count: int, ratio: float) -> Iterator[tuple[int, int]]:
    """Cut a conversation into pieces of about equal size, never between a call and its result.

    The first is at least twice the ceiling, so that the first fold has something to do. A conversation with
    few legal cuts gives fewer pieces.
    """
    reached = list(accumulate(conversation.sizes))
    first = max(1 / count, min(2 * ratio, 1.0))
    parts = [first + (1 - first) * number / max(1, count - 1) for number in range(count - 1)]
    wanted = [bisect_left(reached, reached[-1] * part) + 1 for part in parts]
    legal = conversation.whole_cuts[1:]  # nothing stands before the first
    cuts = [legal[min(bisect_left(legal, cut), len(legal) - 1)] for cut in wanted]
    return pairwise(sorted({0, *cuts, len(conversation.messages)}))


def _tally(probes: Sequence[Probe], context: CompressedContext) -> Tally:
    kept = sum(holds(context.joined, escaped_forms(probe.answer)) for probe in probes)
    return Tally(kept, len(probes))
