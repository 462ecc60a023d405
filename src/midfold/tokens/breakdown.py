"""The contents of the window, counted by speaker, by kind, by tool, and which messages are the largest."""

from collections import Counter
from collections.abc import Sequence
from typing import assert_never

from midfold.late_dataclasses import dataclass
from midfold.messages import (
    Location,
    Media,
    Message,
    Opaque,
    Part,
    Reasoning,
    Removed,
    Text,
    ToolCall,
    ToolResult,
    pair_calls,
)
from midfold.ports import Count

SYSTEM = "system prompt"
SCHEMAS = "tool schemas"
RESULTS = "tool results"
NAMELESS = "(no name)"


@dataclass(frozen=True, slots=True)
class TokenShare:
    """The part of the window that something takes, and how many times it occurs."""

    name: str
    tokens: int
    items: int


@dataclass(frozen=True, slots=True)
class ToolShare:
    """The tokens of one tool: the calls the model wrote and the results that came back."""

    name: str
    calls: int
    call_tokens: int
    result_tokens: int
    largest_result_tokens: int

    @property
    def tokens(self) -> int:
        return self.call_tokens + self.result_tokens


@dataclass(frozen=True, slots=True)
class MessageSize:
    """One message and its size."""

    index: int
    role: str
    holds: str
    tokens: int


@dataclass(frozen=True, slots=True)
class Breakdown:
    """A request taken apart. Speakers add up to `tokens`, and so do kinds; everything is largest first."""

    tokens: int
    speakers: tuple[TokenShare, ...]
    kinds: tuple[TokenShare, ...]
    tools: tuple[ToolShare, ...]
    largest: tuple[MessageSize, ...]
    sizes: tuple[int, ...] = ()
    """of each message, in their order"""
    system_tokens: int = 0
    schema_tokens: int = 0
    """what travels beside the messages"""


def break_down(
    messages: Sequence[Message],
    count: Count,
    *,
    system_tokens: int = 0,
    schema_tokens: int = 0,
    largest: int = 5,
) -> Breakdown:
    """Take a request apart; `system_tokens` and `schema_tokens` are what travels beside the messages."""
    answers = pair_calls(messages).answers
    speakers: Counter[str] = Counter({SYSTEM: system_tokens, SCHEMAS: schema_tokens})
    kinds: Counter[str] = Counter({SYSTEM: system_tokens, SCHEMAS: schema_tokens})
    speaker_items: Counter[str] = Counter()
    kind_items: Counter[str] = Counter()
    part_tokens: dict[Location, int] = {}
    sizes = []
    for index, message in enumerate(messages):
        framing = count(Message(message.role, ()))
        speaker = _speaker_of(message)
        speakers[speaker] += framing
        speaker_items[speaker] += 1
        kinds["framing"] += framing
        size = framing
        for position, part in enumerate(message.parts):
            tokens = count(Message(message.role, (part,))) - framing
            part_tokens[Location(index, position)] = tokens
            speakers[RESULTS if isinstance(part, ToolResult) else speaker] += tokens
            kinds[_kind_of(part)] += tokens
            kind_items[_kind_of(part)] += 1
            size += tokens
        sizes.append(size)
    return Breakdown(
        tokens=sum(sizes) + system_tokens + schema_tokens,
        speakers=_shares(speakers, speaker_items),
        kinds=_shares(kinds, kind_items),
        tools=_tool_shares(messages, part_tokens, answers),
        largest=_largest(messages, sizes, answers, largest),
        sizes=tuple(sizes),
        system_tokens=system_tokens,
        schema_tokens=schema_tokens,
    )


def share_by_tool(messages: Sequence[Message], count: Count) -> tuple[ToolShare, ...]:
    """Say what each tool takes, the largest first; nothing else is counted."""
    part_tokens = {
        Location(index, position): count(Message(message.role, (part,))) - count(Message(message.role, ()))
        for index, message in enumerate(messages)
        for position, part in enumerate(message.parts)
        if isinstance(part, ToolCall | ToolResult)
    }
    return _tool_shares(messages, part_tokens, pair_calls(messages).answers)


def _speaker_of(message: Message) -> str:
    if message.role in ("system", "developer"):
        return SYSTEM
    if message.parts and all(isinstance(part, ToolResult) for part in message.parts):
        return RESULTS
    return RESULTS if message.role == "tool" else message.role


def _kind_of(part: Part) -> str:
    match part:
        case Text():
            return "text"
        case ToolCall():
            return "tool calls"
        case ToolResult():
            return RESULTS
        case Reasoning():
            return "thinking"
        case Media():
            return "media"
        case Opaque() | Removed():
            return "other"
        case _:
            assert_never(part)


def _shares(tokens: Counter[str], items: Counter[str]) -> tuple[TokenShare, ...]:
    return tuple(TokenShare(name, size, items[name]) for name, size in tokens.most_common() if size)


def _tool_shares(
    messages: Sequence[Message], part_tokens: dict[Location, int], answers: dict[Location, Location]
) -> tuple[ToolShare, ...]:
    """Add up calls by name; a result belongs to the tool whose call it answers."""
    calls: dict[str, list[Location]] = {}
    for index, message in enumerate(messages):
        for position, part in enumerate(message.parts):
            if isinstance(part, ToolCall):
                calls.setdefault(_tool_name(part), []).append(Location(index, position))
    shares = []
    for name, locations in calls.items():
        results = [part_tokens[answers[call]] for call in locations if call in answers]
        call_tokens = sum(part_tokens[call] for call in locations)
        shares.append(ToolShare(name, len(locations), call_tokens, sum(results), max(results, default=0)))
    return tuple(sorted(shares, key=lambda share: share.tokens, reverse=True))


def _largest(
    messages: Sequence[Message], sizes: list[int], answers: dict[Location, Location], wanted: int
) -> tuple[MessageSize, ...]:
    callers = {
        result: _tool_name(messages[call.message].parts[call.part]) for call, result in answers.items()
    }
    order = sorted(range(len(messages)), key=lambda index: sizes[index], reverse=True)[:wanted]
    return tuple(
        MessageSize(index, messages[index].role, _describe(messages[index], index, callers), sizes[index])
        for index in order
    )


def _describe(message: Message, index: int, callers: dict[Location, str]) -> str:
    """Name what is in a message, in the order of its parts and without saying anything twice."""
    holds = []
    for position, part in enumerate(message.parts):
        if isinstance(part, ToolResult):
            holds.append(f"{callers.get(Location(index, position)) or part.name or 'unknown'} result")
        elif isinstance(part, ToolCall):
            holds.append(f"{_tool_name(part)} call")
        else:
            holds.append(f"{message.role} {_kind_of(part)}")
    return ", ".join(dict.fromkeys(holds)) or "nothing"


def _tool_name(part: Part) -> str:
    return part.name or NAMELESS if isinstance(part, ToolCall) else NAMELESS
