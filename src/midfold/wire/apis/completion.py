"""A model's reply, whichever API it came through, and the pieces in which it arrives."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum
from typing import TypeAlias

from midfold.messages import Message, Part, Reasoning, Text, ToolCall
from midfold.tokens import CanonicalUsage
from midfold.wire.usage import reported_cost


class Finish(Enum):
    """Why a model stopped."""

    STOP = "stop"
    CALLS = "calls"
    """it waits for the results of its tool calls"""
    LENGTH = "length"
    """the output cap cut it off"""
    REFUSED = "refused"
    OVERFLOW = "overflow"
    """the window was full before the output cap was reached"""
    CUT = "cut"
    """the stream broke off; what there is may end anywhere"""
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Completion:
    """What a model answered.

    `items` are the turn as wire items of `dialect`: append them to the messages to go on. `raw_usage` is the
    provider's own report, `None` where it made none.
    """

    dialect: str
    messages: tuple[Message, ...]
    finish: Finish
    usage: CanonicalUsage
    raw_usage: object = field(repr=False)
    finish_reason: str
    """the provider's own word for `finish`; empty where it has none"""
    model: str
    """which model answered, as the provider names it"""

    @property
    def text(self) -> str:
        """The words of the reply, without its thinking. Blocks are joined as they are: sources split them."""
        return "".join(part.text for part in self._parts() if isinstance(part, Text))

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The tools that the model wants run."""
        return tuple(part for part in self._parts() if isinstance(part, ToolCall))

    @property
    def reasoning(self) -> str:
        """The thinking, as far as the provider shows it."""
        return "\n".join(part.text for part in self._parts() if isinstance(part, Reasoning) and part.text)

    @property
    def items(self) -> list[object]:
        """The turn as the provider spelled it."""
        return [message.raw for message in self.messages]

    @property
    def reported_cost(self) -> Decimal | None:
        """The dollars that a gateway such as OpenRouter says it charged, where it says so."""
        return reported_cost(self.raw_usage)

    def _parts(self) -> Iterator[Part]:
        return (part for message in self.messages for part in message.parts)


@dataclass(frozen=True, slots=True)
class TextChunk:
    """More words of the reply."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningChunk:
    """More of the thinking."""

    text: str


@dataclass(frozen=True, slots=True)
class CallChunk:
    """More of a tool call. `id` and `name` come with its first piece; `arguments` are to be joined."""

    index: int
    """which call of the reply, from 0"""
    id: str = ""
    name: str = ""
    arguments: str = ""


Chunk: TypeAlias = TextChunk | ReasoningChunk | CallChunk


@dataclass(frozen=True, slots=True)
class StreamDone:
    """The last event of a stream that ended well."""

    completion: Completion


@dataclass(frozen=True, slots=True)
class StreamCut:
    """The last event of a stream that broke off: what had come until then. The error is raised after it."""

    partial: Completion


StreamEvent: TypeAlias = Chunk | StreamDone | StreamCut
