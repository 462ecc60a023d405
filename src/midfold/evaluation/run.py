"""Runs every method on a conversation at every ratio, and measures what came out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from midfold.evaluation.baselines import METHODS, Method, Outcome
from midfold.evaluation.checks import check_structure, find_inventions
from midfold.evaluation.conversations import Conversation, make_conversation
from midfold.evaluation.retention import Belongings, Verdict, classify, find_belongings
from midfold.evaluation.secrets import secret_kinds
from midfold.evaluation.texts import index_context
from midfold.wire import parse

MUST_KEEP_PART = 0.6
"""Must-keep strings are owed only where they and the system prompt take at most this part of the ceiling."""


@dataclass(frozen=True, slots=True)
class Score:
    """All that was measured of one method on one conversation at one ratio."""

    conversation: str
    method: str
    ratio: float
    verdicts: tuple[Verdict, ...]
    inventions: tuple[str, ...]
    problems: tuple[str, ...]
    """what is wrong with the list"""
    secrets: tuple[str, ...]
    """the kinds of credentials in summary and stubs"""
    tokens_before: int
    tokens_after: int
    ceiling: int
    cpu_ms: float
    is_idempotent: bool
    owes_must_keep: bool


def evaluate(
    conversation: Conversation, ratios: Sequence[float], methods: Mapping[str, Method] = METHODS
) -> list[Score]:
    """Measure each method at each ratio of the conversation's size."""
    belongings = find_belongings(conversation)
    return [
        _score(conversation, name, method, ratio, belongings)
        for ratio in ratios
        for name, method in methods.items()
    ]


def ceiling_of(conversation: Conversation, ratio: float) -> int:
    """Return the tokens that a compression to `ratio` may take."""
    return max(1, int(conversation.tokens * ratio))


def owes_must_keep(conversation: Conversation, ceiling: int) -> bool:
    """Whether there is room enough that no must-keep string may be missing."""
    return conversation.must_keep_tokens() <= ceiling * MUST_KEEP_PART


def _score(
    conversation: Conversation, name: str, method: Method, ratio: float, belongings: Sequence[Belongings]
) -> Score:
    ceiling = ceiling_of(conversation, ratio)
    outcome = method(conversation, ceiling)
    request = conversation.request
    messages = parse(outcome.items, request.dialect)
    context = index_context(messages, outcome.summary, request.system_text)
    verdicts = classify(conversation.probes, context, belongings, conversation.source, outcome.find)
    structure = check_structure(conversation, outcome.items, messages, outcome.summary)
    written = "\n".join([outcome.summary or "", *outcome.stubs])
    return Score(
        conversation=conversation.name,
        method=name,
        ratio=ratio,
        verdicts=tuple(verdicts),
        inventions=tuple(find_inventions(outcome.summary, conversation.source)),
        problems=structure.problems,
        secrets=tuple(secret_kinds(written)),
        tokens_before=conversation.tokens,
        tokens_after=outcome.tokens,
        ceiling=ceiling,
        cpu_ms=outcome.cpu_ms,
        is_idempotent=_is_idempotent(conversation, method, outcome, ceiling),
        owes_must_keep=owes_must_keep(conversation, ceiling),
    )


def _is_idempotent(conversation: Conversation, method: Method, outcome: Outcome, ceiling: int) -> bool:
    """Whether doing it again changes nothing."""
    return follow_up(conversation, method, outcome.items, ceiling).items == outcome.items


def follow_up(conversation: Conversation, method: Method, items: Sequence[object], ceiling: int) -> Outcome:
    """Run a method on what became of a conversation."""
    changed = replace(conversation.request, messages=list(items), raw=None)
    return method(make_conversation(conversation.name, changed, ()), ceiling)
