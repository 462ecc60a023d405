"""The fate of each probe: in context, in context where it belongs, one search away, or lost."""

import re
from collections.abc import Sequence
from enum import StrEnum

from midfold.evaluation.conversations import MeasuredConversation
from midfold.evaluation.probes import Probe
from midfold.evaluation.texts import (
    CompressedContext,
    ContextEntry,
    Find,
    SourceTexts,
    escaped_forms,
    holds,
    read_strings,
)
from midfold.late_dataclasses import dataclass
from midfold.messages import Location, Message, ToolCall

SEARCH_HITS = 5
"""The number of search matches that a reader looks at."""
_LEAST_CLUE_CHARS = 3
_COMPANION_CHARS = range(6, 601)  # shorter ones stand anywhere by chance
_QUOTED = re.compile(r'"([^"\n]{3,})"|`([^`\n]{3,})`')
_BLANK_CONTEXT_CHARS = 30


class ProbeFate(StrEnum):
    """The fate of a probe; the first that holds."""

    ASSOCIATED = "associated"
    """word for word, in one entry with its call, its file or its message index"""
    VERBATIM = "verbatim"
    """word for word somewhere in the context"""
    RETRIEVABLE = "retrievable"
    """not in the context; one search over what was folded gives it back"""
    LOST = "lost"

    @property
    def in_context(self) -> bool:
        return self in (ProbeFate.ASSOCIATED, ProbeFate.VERBATIM)


@dataclass(frozen=True, slots=True)
class ProbeVerdict:
    """A probe and its fate. `by_question`: a search with the question's own words finds it again."""

    probe: Probe
    fate: ProbeFate
    by_question: bool = False


@dataclass(frozen=True, slots=True)
class Belongings:
    """Messages and strings of which an entry has to name one for a probe to stand where it belongs."""

    indices: frozenset[int]
    """the messages that hold it, and those that their calls and results stand in"""
    companions: tuple[str, ...]
    """other arguments of its calls: the file, the command"""
    tools: tuple[str, ...]
    """the tools that were called with it"""


def classify(
    probes: Sequence[Probe],
    context: CompressedContext,
    belongings: Sequence[Belongings],
    source: SourceTexts,
    find: Find | None,
) -> list[ProbeVerdict]:
    """Find the fate of each probe in a compressed conversation.

    `belongings` are those of `probes`, in order. Without `find` nothing that left can be had again.
    """
    return [
        _find_fate(probe, context, belongs, source, find)
        for probe, belongs in zip(probes, belongings, strict=True)
    ]


def find_belongings(conversation: MeasuredConversation) -> list[Belongings]:
    """Look up, once for all methods, what each probe belongs to."""
    calls = _Calls(conversation)
    return [calls.belongings(probe) for probe in conversation.probes]


def _find_fate(
    probe: Probe, context: CompressedContext, belongs: Belongings, source: SourceTexts, find: Find | None
) -> ProbeVerdict:
    forms = escaped_forms(probe.answer)
    if holds(context.joined, forms):
        entries = [entry for entry in context.entries if holds(entry.text, forms)]
        is_placed = any(_names_origin(entry, belongs) for entry in entries)
        return ProbeVerdict(probe, ProbeFate.ASSOCIATED if is_placed else ProbeFate.VERBATIM)
    if find is None:
        return ProbeVerdict(probe, ProbeFate.LOST)
    if any(holds(source.texts[index], forms) for clue in clues(probe) for index in find(clue)[:SEARCH_HITS]):
        return ProbeVerdict(probe, ProbeFate.RETRIEVABLE, by_question=True)
    return ProbeVerdict(probe, ProbeFate.RETRIEVABLE if find(probe.answer) else ProbeFate.LOST)


def _names_origin(entry: ContextEntry, belongs: Belongings) -> bool:
    """Whether an entry says where the string belongs; a message that was kept does by being there."""
    if not entry.is_summary:
        return True
    return (
        not belongs.indices.isdisjoint(entry.references())
        or any(re.search(rf"(?<!\w){re.escape(tool)}(?!\w)", entry.text) for tool in belongs.tools)
        or any(holds(entry.text, escaped_forms(companion)) for companion in belongs.companions)
    )


def clues(probe: Probe) -> list[str]:
    """Return the words of a question that a reader would search with, the most informative first.

    They are what it quotes; of a line with a blank, what stands beside the blank.
    """
    quoted = [match[1] or match[2] for match in _QUOTED.finditer(probe.question)]
    words: list[str] = []
    for quote in quoted:
        before, blank, after = quote.partition("____")
        pieces = (before[-_BLANK_CONTEXT_CHARS:], after[:_BLANK_CONTEXT_CHARS]) if blank else (quote,)
        words += [piece.rstrip("…").strip() for piece in pieces]
    informative = [word for word in words if len(word) >= _LEAST_CLUE_CHARS]
    return sorted(informative, key=len, reverse=True)[:1]


class _Calls:
    """The calls of a conversation by the messages that they and their results stand in."""

    def __init__(self, conversation: MeasuredConversation) -> None:
        self._source = conversation.source
        self._messages = conversation.messages
        self._partners: dict[int, set[int]] = {}
        self._calls: dict[int, list[ToolCall]] = {}
        for call, result in conversation.pairing.answers.items():
            self._partners.setdefault(call.message, set()).add(result.message)
            self._partners.setdefault(result.message, set()).add(call.message)
            self._calls.setdefault(result.message, []).append(_call_at(self._messages, call))

    def belongings(self, probe: Probe) -> Belongings:
        holders = {*self._source.holders(probe.answer), *probe.evidence}
        own = [call for index in sorted(holders) for call in self._own_calls(index)]
        made = [call for call in own if holds(call.arguments, escaped_forms(probe.answer))]
        answered = [call for index in sorted(holders) for call in self._calls.get(index, ())]
        companions = [
            value
            for call in (*made, *answered)
            for value in read_strings(call.parse_arguments())
            if len(value) in _COMPANION_CHARS and value not in probe.answer
        ]
        return Belongings(
            indices=frozenset(holders.union(*(self._partners.get(index, ()) for index in holders))),
            companions=tuple(dict.fromkeys(companions)),
            tools=tuple(dict.fromkeys(call.name for call in made if call.name)),
        )

    def _own_calls(self, index: int) -> list[ToolCall]:
        return list(self._messages[index].calls) if index < len(self._messages) else []


def _call_at(messages: Sequence[Message], location: Location) -> ToolCall:
    part = messages[location.message].parts[location.part]
    assert isinstance(part, ToolCall)  # noqa: S101 - pairing says so
    return part
