"""Fold upon fold: a conversation is replayed in pieces and folded after each, as an agent would live it."""

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from midfold.evaluation.baselines import METHODS, Method
from midfold.evaluation.conversations import Conversation
from midfold.evaluation.probes import TASK, Kind, Probe
from midfold.evaluation.run import ceiling_of, follow_up, owes_must_keep
from midfold.evaluation.texts import Context, holds, index_context, spellings
from midfold.wire import parse

LENGTHS = (1, 2, 5, 10)


@dataclass(frozen=True, slots=True)
class Tally:
    """How many of some probes are in context."""

    kept: int = 0
    asked: int = 0

    def __add__(self, other: "Tally") -> "Tally":
        return Tally(self.kept + other.kept, self.asked + other.asked)

    @property
    def part(self) -> float | None:
        return self.kept / self.asked if self.asked else None


@dataclass(frozen=True, slots=True)
class Link:
    """What is left at the end of a chain of folds, in all zones."""

    conversation: str
    method: str
    ratio: float
    length: int
    folds: int
    """how many of the folds changed something"""
    everything: Tally
    task: Tally
    constraints: Tally
    must_keep: Tally
    owes_must_keep: bool


def chain_folds(
    conversation: Conversation,
    ratio: float,
    methods: Mapping[str, Method] = METHODS,
    lengths: Sequence[int] = LENGTHS,
) -> list[Link]:
    """Replay a conversation in as many pieces as each chain has folds."""
    return [
        _replay(conversation, name, method, ratio, length)
        for name, method in methods.items()
        for length in lengths
    ]


def _replay(conversation: Conversation, name: str, method: Method, ratio: float, length: int) -> Link:
    ceiling = ceiling_of(conversation, ratio)
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
    return Link(
        conversation=conversation.name,
        method=name,
        ratio=ratio,
        length=length,
        folds=folds,
        everything=_tally(probes, context),
        task=_tally([probe for probe in probes if probe.kind in TASK], context),
        constraints=_tally([probe for probe in probes if probe.kind is Kind.CONSTRAINT], context),
        must_keep=_tally([probe for probe in probes if probe.must_keep], context),
        owes_must_keep=owes_must_keep(conversation, ceiling),
    )


def cut_pieces(conversation: Conversation, count: int, ratio: float) -> Iterator[tuple[int, int]]:
    """Cut a conversation into pieces of about equal size, never between a call and its result.

    The first is at least twice the ceiling, so that the first fold has something to do. A conversation with
    few places to cut gives fewer pieces.
    """
    reached = list(accumulate(conversation.sizes))
    first = max(1 / count, min(2 * ratio, 1.0))
    parts = [first + (1 - first) * place / max(1, count - 1) for place in range(count - 1)]
    wanted = [bisect_left(reached, reached[-1] * part) + 1 for part in parts]
    legal = _whole_cuts(conversation)
    cuts = [legal[min(bisect_left(legal, place), len(legal) - 1)] for place in wanted]
    return pairwise(sorted({0, *cuts, len(conversation.messages)}))


def _whole_cuts(conversation: Conversation) -> list[int]:
    total = len(conversation.messages)
    cuts = set(range(1, total + 1))
    for call, result in conversation.pairing.answers.items():
        cuts.difference_update(range(call.message + 1, result.message + 1))
    return sorted(cuts | {total})


def _tally(probes: Sequence[Probe], context: Context) -> Tally:
    kept = sum(holds(context.joined, spellings(probe.answer)) for probe in probes)
    return Tally(kept, len(probes))
