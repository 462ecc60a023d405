"""An API as a value: where to send, how to write a request, how to read a reply and its chunks."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from enum import Enum
from typing import Protocol, TypeAlias

from midfold.late_dataclasses import dataclass, field
from midfold.messages import Message, Part, Reasoning, Text, ToolCall
from midfold.tokens import CanonicalUsage
from midfold.wire.dialect import Item, Unreadable, as_item
from midfold.wire.dialects import Request, get_dialect
from midfold.wire.usage import normalize_usage, reported_cost


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
    """The answer of a model.

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
        """The turn as the provider wrote it."""
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


@dataclass(frozen=True, slots=True)
class Quirks:
    """The ways in which compatible servers differ; the defaults suit the most."""

    output_cap_field: str = "max_tokens"
    """OpenAI's own models want `max_completion_tokens`."""
    asks_for_stream_usage: bool = True
    """Streams report usage only when asked, and a few servers refuse to be asked."""
    alternates: bool = False
    """Two messages of one role in a row are refused: they are joined on the way out."""


class Collector(Protocol):
    """Puts the events of a stream together into the body that a plain reply would have been."""

    is_finished: bool
    """whether the model said that it stopped; a stream that ends before was cut"""

    def take(self, event: Item) -> Sequence[Chunk]:
        """Take in one event and say what it adds; an event of no known kind adds nothing."""
        ...

    def body(self) -> Item:
        """Return what has come so far as a reply."""
        ...


@dataclass(frozen=True, slots=True)
class Api:
    """One of the APIs. Its name is that of the dialect it speaks."""

    name: str
    path: str
    """to be appended to a base URL"""
    headers: Callable[[str], Mapping[str, str]]
    """The headers that carry a key, and those that the API demands beside it; the key may be empty."""
    build: Callable[[Request, Quirks], Item]
    """Write a request that is in this dialect already."""
    read: Callable[[Item, int | None], Completion]
    """Read a plain reply, given the output cap that was asked for, if any; raises `Unreadable`."""
    collector: Callable[[], Collector]
    end_events: frozenset[str] = frozenset()
    """Types of events after which nothing comes; `[DONE]` ends any stream."""
    demands_output_cap: bool = False
    cache_route: str = ""
    """The route that `caching_applies` knows this API by; empty where the provider is the route."""


def base_body(request: Request, *handled: str) -> Item:
    """Return the fields of the caller's own body that nothing here writes, and the model."""
    kept = {key: value for key, value in (request.raw or {}).items() if key not in handled}
    return {**kept, "model": request.model}


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"} if key else {}


def make_completion(
    dialect: str, body: Item, items: Sequence[object], finish: Finish, finish_reason: str
) -> Completion:
    """Read the assistant's wire items, and what the reply says beside them."""
    read = get_dialect(dialect).read
    messages = tuple(read(as_item(item)) for item in items)
    if finish is Finish.STOP and any(any(message.calls) for message in messages):
        finish = Finish.CALLS  # not every server says so
    model = body.get("model")
    return Completion(
        dialect=dialect,
        messages=messages,
        finish=finish,
        usage=normalize_usage(body, dialect),
        raw_usage=body.get("usage"),
        finish_reason=finish_reason,
        model=model if isinstance(model, str) else "",
    )


def first_object(value: object, what: str) -> Item:
    """Return the first element of a list of objects, or raise `Unreadable`."""
    if not isinstance(value, list) or not value:
        raise Unreadable(f"the reply has no {what}")
    return as_item(value[0])


def index_in(event: Item, key: str) -> int:
    """Return the index that an event is about; the first where it names none."""
    index = event.get(key)
    return index if isinstance(index, int) else 0


def text_of(value: object) -> str:
    """Return a text, and nothing for all that is none."""
    return value if isinstance(value, str) else ""
