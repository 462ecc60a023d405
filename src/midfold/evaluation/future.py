"""The part of a fold that the future needed: names that the agent used after a cut.

A real conversation is cut, the part before the cut is folded, and the agent's own words and calls after it
say what it still needed. Only names that were rare before count: the rest is known anyhow.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from midfold.evaluation.baselines import DIGEST, fold_by_digest
from midfold.evaluation.contexts import ReadableContext, agent_names, drop_output, take_names, take_newest
from midfold.evaluation.conversations import MeasuredConversation, make_conversation
from midfold.evaluation.families import LEAST_ASKED, name_family
from midfold.evaluation.names import has_name, read_names
from midfold.evaluation.tallies import Tally
from midfold.evaluation.texts import index_context, read_texts
from midfold.late_dataclasses import dataclass, replace
from midfold.messages import SYSTEM_ROLES, Message
from midfold.wire import parse

CUTS = (0.5, 0.75)
FUTURE_RATIOS = (0.1, 0.2)
NEWEST = "newest only"
NO_OUTPUT = "no output"
NAME_LIST = "with names"
_FEW_MESSAGES = 5
"""A name is rare when it stands in at most so many messages before the cut."""

ContextMethod = Callable[[MeasuredConversation, int], ReadableContext]


@dataclass(frozen=True, slots=True)
class FutureScore:
    """One method on one conversation before one cut."""

    conversation: str
    family: str
    cut: float
    ratio: float
    method: str
    needed: Tally
    """names that the agent used after the cut, and those that the method left"""
    tokens_before: int
    tokens_after: int
    ceiling: int
    missing: tuple[str, ...]


def score_future(
    conversation: MeasuredConversation, ratios: Sequence[float] = FUTURE_RATIOS, cuts: Sequence[float] = CUTS
) -> list[FutureScore]:
    """Cut a conversation, fold what is before each cut, and look for what the agent used after it."""
    return [score for part in cuts for score in _score_cut(conversation, part, ratios)]


def _score_cut(
    conversation: MeasuredConversation, part: float, ratios: Sequence[float]
) -> Iterator[FutureScore]:
    cut = find_cut(conversation, part)
    needed = find_needed(conversation.messages, cut) if cut is not None else []
    if cut is None or not needed:
        return
    request = replace(conversation.request, messages=conversation.request.messages[:cut], raw=None)
    before = make_conversation(conversation.name, request, ())
    for ratio in ratios:
        ceiling = before.ceiling(ratio)
        for name, method in CONTEXT_METHODS.items():
            context = method(before, ceiling)
            missing = tuple(found for found in needed if not has_name(context.text, found))
            yield FutureScore(
                conversation=conversation.name,
                family=name_family(conversation.name),
                cut=part,
                ratio=ratio,
                method=name,
                needed=Tally(len(needed) - len(missing), len(needed)),
                tokens_before=before.tokens,
                tokens_after=context.tokens,
                ceiling=ceiling,
                missing=missing,
            )


def find_cut(conversation: MeasuredConversation, part: float) -> int | None:
    """Return the first cut from `part` of the messages on before an answer that waits for no result."""
    legal = [
        cut
        for cut in conversation.whole_cuts
        if conversation.lead < cut < len(conversation.messages)
        and conversation.messages[cut].role == "assistant"
    ]
    at = bisect_left(legal, part * len(conversation.messages))
    return legal[at] if at < len(legal) else None


def find_needed(messages: Sequence[Message], cut: int) -> list[str]:
    """Return the names that the agent uses after the cut, that are rare before it, in their order."""
    counts = Counter(
        name
        for message in messages[:cut]
        for name in {found for text in read_texts(message) for found in read_names(text)}
    )
    free = {
        name
        for message in messages[:cut]
        if message.role in SYSTEM_ROLES
        for name in read_names(message.text)
    }
    used = (name for message in messages[cut:] for name in agent_names(message))
    return [name for name in dict.fromkeys(used) if 0 < counts[name] <= _FEW_MESSAGES and name not in free]


def _fold(before: MeasuredConversation, ceiling: int) -> ReadableContext:
    outcome = fold_by_digest(before, ceiling)
    return ReadableContext(_read(before, outcome.items, outcome.summary), outcome.tokens)


CONTEXT_METHODS: Mapping[str, ContextMethod] = {
    DIGEST: _fold,
    NEWEST: take_newest,
    NO_OUTPUT: drop_output,
    NAME_LIST: take_names,
}


def _read(before: MeasuredConversation, items: Sequence[object], summary: str | None = None) -> str:
    return index_context(parse(items, before.request.dialect), summary, before.request.system_text).joined


@dataclass(frozen=True, slots=True)
class FutureFigures:
    """One method at one ratio, over the cuts of one family, or of all."""

    family: str | None
    ratio: float
    method: str
    cuts: int
    asked: int
    micro: float
    """the part of all names together that is in the context"""
    macro: float
    """the same, where every cut counts the same"""
    size: float
    """the part of the tokens before the cut"""
    over_ceiling: int


def summarize_future(scores: Sequence[FutureScore]) -> tuple[FutureFigures, ...]:
    """Add up by ratio and method: all cuts first, then each family."""
    families: list[str | None] = [None, *sorted({score.family for score in scores})]
    ratios = dict.fromkeys(score.ratio for score in scores)
    groups = [
        (family, [score for score in scores if score.ratio == ratio and family in (None, score.family)])
        for ratio in ratios
        for family in families
    ]
    return tuple(
        _figures(family, [score for score in group if score.method == method])
        for family, group in groups
        for method in dict.fromkeys(score.method for score in group)
    )


def find_leads(figures: Sequence[FutureFigures], ratio: float) -> dict[str | None, float]:
    """Return how far the digest is ahead of the newest messages, over all and in each family."""
    at_ratio = {(one.family, one.method): one for one in figures if one.ratio == ratio}
    return {
        family: one.micro - at_ratio[family, NEWEST].micro
        for (family, method), one in at_ratio.items()
        if method == DIGEST
    }


def find_least_lead(figures: Sequence[FutureFigures], ratio: float) -> float | None:
    """Return the lead in the family where it is the least; a family with few names has none."""
    asked = {one.family: one.asked for one in figures}
    leads = [
        lead
        for family, lead in find_leads(figures, ratio).items()
        if family is not None and asked[family] >= LEAST_ASKED
    ]
    return min(leads, default=None)


def _figures(family: str | None, scores: Sequence[FutureScore]) -> FutureFigures:
    needed = sum((score.needed for score in scores), Tally())
    parts = [score.needed.part or 0.0 for score in scores]
    return FutureFigures(
        family=family,
        ratio=scores[0].ratio,
        method=scores[0].method,
        cuts=len(scores),
        asked=needed.asked,
        micro=needed.part or 0.0,
        macro=sum(parts) / len(parts),
        size=sum(score.tokens_after for score in scores) / sum(score.tokens_before for score in scores),
        over_ceiling=sum(score.tokens_after > score.ceiling for score in scores),
    )
