"""Parts and messages: frozen values, read from a wire item and never written back onto it.

`canonical` writes what a digest covers of a part: each free text behind its length, so that no two parts can
look like one, and nothing where the part is not covered. Clients drop thinking and empty text as they like,
so neither is covered: `is_covered` says which parts are. `tag` names the kind of a part where one is stored.
"""

import json
from collections.abc import Iterator, Sequence
from typing import ClassVar, TypeAlias

from midfold.late_dataclasses import dataclass, field, replace


@dataclass(frozen=True, slots=True)
class Text:
    """Words of the speaker of the message."""

    tag: ClassVar[str] = "text"

    text: str

    @property
    def is_covered(self) -> bool:
        return bool(self.text)

    def canonical(self) -> str:
        return f"t{len(self.text)}:{self.text}" if self.text else ""


@dataclass(frozen=True, slots=True)
class Reasoning:
    """A model's thinking. A signed one is byte-exact or gone: providers check the signature."""

    tag: ClassVar[str] = "reasoning"

    text: str
    signature: str = ""

    @property
    def is_covered(self) -> bool:
        return False

    def canonical(self) -> str:
        return ""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A model's request to run a tool. `arguments` is JSON text, or free text for custom tools."""

    tag: ClassVar[str] = "call"

    id: str
    name: str
    arguments: str

    def parse_arguments(self) -> object:
        """Read the arguments as JSON; the text itself where they are not."""
        try:
            return json.loads(self.arguments)
        except (ValueError, RecursionError):
            return self.arguments

    @property
    def is_covered(self) -> bool:
        return True

    def canonical(self) -> str:
        arguments = _canonical_arguments(self.arguments)
        return f"c{len(self.id)}:{self.id}{len(self.name)}:{self.name}{len(arguments)}:{arguments}"


@dataclass(frozen=True, slots=True)
class Media:
    """An image, a sound or a document.

    `source` is base64 data, the words of a `text/` file, a URL, or a provider's file id; the last two may
    come without a `mime`.
    """

    tag: ClassVar[str] = "media"

    kind: str
    mime: str
    source: str
    detail: str = ""

    @property
    def is_covered(self) -> bool:
        return True

    def canonical(self) -> str:
        return f"m{self.kind}{len(self.source)}:{self.source}"


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The output of a tool for the call `call_id`."""

    tag: ClassVar[str] = "result"

    call_id: str
    text: str
    is_error: bool = False
    media: tuple[Media, ...] = ()
    name: str = ""

    @property
    def is_covered(self) -> bool:
        return True

    def canonical(self) -> str:
        media = "".join([item.canonical() for item in self.media]) if self.media else ""
        return f"r{len(self.call_id)}:{self.call_id}{len(self.text)}:{self.text}{media}"


@dataclass(frozen=True, slots=True)
class Opaque:
    """Something no reader knows; carried along untouched. `text` is its JSON, to count and compare."""

    tag: ClassVar[str] = "opaque"

    kind: str
    text: str

    @property
    def is_covered(self) -> bool:
        return True

    def canonical(self) -> str:
        return f"o{len(self.kind)}:{self.kind}{len(self.text)}:{self.text}"


@dataclass(frozen=True, slots=True)
class Removed:
    """A part that was taken out; it stays so that the other parts keep their positions."""

    tag: ClassVar[str] = "removed"

    @property
    def is_covered(self) -> bool:
        return False

    def canonical(self) -> str:
        return ""


Part: TypeAlias = Text | Reasoning | ToolCall | ToolResult | Media | Opaque | Removed
PARTS: dict[str, type[Part]] = {
    kind.tag: kind for kind in (Text, Reasoning, ToolCall, ToolResult, Media, Opaque, Removed)
}
SYSTEM_ROLES = ("system", "developer")

_NOTHING_EDITED: frozenset[int] = frozenset()


@dataclass(slots=True)
class MessageFacts:
    """Facts that were worked out about a message, kept so that nothing is worked out twice."""

    digest: bytes | None = None
    """of what the message says; see `own_digest`"""
    tokens: int = 0
    tokens_for: str | None = None
    """the model that the tokens were counted for"""
    segments: tuple[object, ...] | None = None
    """the pieces of its text with their authors, as `midfold.provenance` read them"""


@dataclass(frozen=True, slots=True)
class Message:
    """One wire item.

    `raw` is the caller's own object and is handed back by identity while `edited` is empty; `None` marks a
    message made here, which its dialect writes when it is rendered. `edited` holds the positions of the
    parts that differ from `raw`.
    """

    role: str
    parts: tuple[Part, ...]
    raw: object = field(default=None, compare=False, repr=False)
    edited: frozenset[int] = _NOTHING_EDITED
    _facts: MessageFacts | None = field(default=None, init=False, compare=False, repr=False)

    @property
    def facts(self) -> MessageFacts:
        """The facts that were worked out about this message."""
        if self._facts is None:
            object.__setattr__(self, "_facts", MessageFacts())
        return self._facts  # type: ignore[return-value]

    def with_raw(self, raw: object) -> "Message":
        """Return the same message as read from another item that says the same."""
        message = Message(self.role, self.parts, raw)
        object.__setattr__(message, "_facts", self.facts)
        return message

    @property
    def text(self) -> str:
        """The words of this message, one text part a line; results and thinking are not among them."""
        return "\n".join(part.text for part in self.parts if isinstance(part, Text))

    @property
    def calls(self) -> Iterator[ToolCall]:
        """The tool calls of this message, in order."""
        return (part for part in self.parts if isinstance(part, ToolCall))

    @property
    def results(self) -> Iterator[ToolResult]:
        """The tool results of this message, in order."""
        return (part for part in self.parts if isinstance(part, ToolResult))

    @property
    def is_silent(self) -> bool:
        """Whether a digest covers nothing of this message: it is thinking alone, or empty."""
        return not any(part.is_covered for part in self.parts)

    @property
    def covered(self) -> list[int]:
        """The positions of the parts that a digest covers."""
        return [position for position, part in enumerate(self.parts) if part.is_covered]

    def with_part(self, position: int, part: Part) -> "Message":
        """Return a copy in which `part` stands at `position`; `raw` stays as it is until rendering.

        The position after the last one appends.
        """
        if position < 0:
            position += len(self.parts)
        if self.parts[position : position + 1] == (part,):
            return self
        parts = (*self.parts[:position], part, *self.parts[position + 1 :])
        return replace(self, parts=parts, edited=self.edited | {position})

    def without_part(self, position: int) -> "Message":
        """Return a copy that lacks the part at `position`."""
        return self.with_part(position, Removed())


def newest_request(messages: Sequence[Message]) -> int | None:
    """Return the index of the newest message in which the user says something."""
    for index in range(len(messages) - 1, -1, -1):
        if is_request(messages[index]):
            return index
    return None


def is_request(message: Message) -> bool:
    """Whether the user says or shows something; results that ride in user messages are not the user's."""
    return message.role == "user" and any(
        isinstance(part, Media) or (isinstance(part, Text) and part.text.strip()) for part in message.parts
    )


def _read_float(text: str) -> float | int:
    """Read a whole number as one: clients that know a single kind of number dump 1.0 as 1."""
    number = float(text)
    return int(number) if number.is_integer() else number


_sorted_json = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode
# A third of the time of json.loads on texts this short.
_read_json = json.JSONDecoder(parse_float=_read_float).raw_decode


def _canonical_arguments(arguments: str) -> str:
    """Write arguments by keys in order, as clients parse and dump them anew; odd text stays as it is."""
    text = arguments.strip()
    try:
        found, end = _read_json(text)
        if end != len(text):
            return arguments
        return _canonical_object(found) if type(found) is dict else _canonical_value(found)
    except (ValueError, RecursionError):
        return arguments


def _canonical_object(fields: dict[str, object]) -> str:
    entries = []
    for key in sorted(fields):
        value = fields[key]
        # Nearly all arguments are texts and numbers, and to encode each would cost more than to hash it.
        if type(value) is str:
            entries.append(f"{len(key)}:{key}s{len(value)}:{value}")
        else:
            entries.append(f"{len(key)}:{key}{_canonical_value(value)}")
    return "".join(entries)


def _canonical_value(value: object) -> str:
    if isinstance(value, str):
        return f"s{len(value)}:{value}"
    return repr(value) if value is None or isinstance(value, (int, float)) else _sorted_json(value)


def texts_of(message: Message) -> Iterator[str]:
    """Yield the texts of a message; arguments as they are written, and the strings in them."""
    for part in message.parts:
        if isinstance(part, ToolCall):
            yield part.arguments
            if "\\" in part.arguments:
                yield "\n".join(_strings(part.parse_arguments()))
        elif isinstance(part, Text | Reasoning | ToolResult | Opaque):
            yield part.text


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _strings(inner)
