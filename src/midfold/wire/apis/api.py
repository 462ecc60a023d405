"""What an API is: where to send, how to spell a request, how to read a reply."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from midfold.messages import Message, ToolCall
from midfold.wire.apis.completion import Chunk, Completion, Finish
from midfold.wire.dialect import Item, Unreadable, as_item
from midfold.wire.dialects import get_dialect
from midfold.wire.request import Request
from midfold.wire.usage import normalize_usage


@dataclass(frozen=True, slots=True)
class Quirks:
    """What compatible servers differ in; the defaults suit the most."""

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
    """Spell a request that is in this dialect already."""
    read: Callable[[Item, int | None], Completion]
    """Read a plain reply, given the output cap that was asked for, if any; raises `Unreadable`."""
    collector: Callable[[], Collector]
    end_events: frozenset[str] = frozenset()
    """Types of events after which nothing comes; `[DONE]` ends any stream."""


def base_body(request: Request, *handled: str) -> Item:
    """Return the fields of the caller's own body that nothing here spells, and the model."""
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
    if finish is Finish.STOP and _has_calls(messages):
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


def _has_calls(messages: Sequence[Message]) -> bool:
    return any(isinstance(part, ToolCall) for message in messages for part in message.parts)


def first_object(value: object, what: str) -> Item:
    """Return the first element of a list of objects, or raise `Unreadable`."""
    if not isinstance(value, list) or not value:
        raise Unreadable(f"the reply has no {what}")
    return as_item(value[0])


def place_of(event: Item, key: str) -> int:
    """Return the place that an event is about; the first where it names none."""
    place = event.get(key)
    return place if isinstance(place, int) else 0


def text_of(value: object) -> str:
    """Return a text, and nothing for all that is none."""
    return value if isinstance(value, str) else ""
