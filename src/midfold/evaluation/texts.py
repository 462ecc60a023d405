"""The words of a conversation as a search sees them, and the entries in which they stand together."""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import TypeAlias

from midfold.late_dataclasses import dataclass
from midfold.messages import Message, Opaque, Reasoning, Text, ToolCall, ToolResult

Find: TypeAlias = Callable[[str], Sequence[int]]
"""Search what left the context: the indices of the messages that match, in order."""
SEPARATOR = "\n\0\n"
"""Between texts that were joined, so that nothing is found across two of them."""
# A bullet or a number at the margin begins an entry; what is indented below it goes on with it.
_ENTRY_START = re.compile(r"(?:[-*+•–]|\d{1,4}[.)])\s")
_HEADING = re.compile(r"#{1,6} ")
_REFERENCE = re.compile(r"\[(\d+(?:\s?[-–,]\s?\d+)*)\]")
_LONGEST_RANGE = 1_000


@dataclass(frozen=True)
class SourceTexts:
    """All that a conversation says, indexed once for every probe and every method."""

    texts: tuple[str, ...]
    """one for each message: everything in it, with call arguments both as sent and as meant"""
    beside: str = ""
    """a system prompt that travels beside the messages"""

    @cached_property
    def joined(self) -> str:
        return SEPARATOR.join([self.beside, *self.texts])

    def holders(self, wanted: str) -> list[int]:
        """Return the messages that hold a string in any form."""
        forms = escaped_forms(wanted)
        return [index for index, text in enumerate(self.texts) if holds(text, forms)]


@dataclass(frozen=True, slots=True)
class ContextEntry:
    """Words that a reader takes together: a kept message, or one point of a summary."""

    text: str
    is_summary: bool

    def references(self) -> set[int]:
        """Return the message indices that the entry names, as `[12]`, `[12, 14]` or `[12-14]`."""
        named: set[int] = set()
        for match in _REFERENCE.finditer(self.text):
            for piece in match[1].split(","):
                bounds = [int(number) for number in re.split("[-–]", piece)]
                if bounds[-1] - bounds[0] < _LONGEST_RANGE:
                    named.update(range(bounds[0], bounds[-1] + 1))
        return named


@dataclass(frozen=True, slots=True)
class CompressedContext:
    """The context that the next model reads: as a whole, and by entries."""

    joined: str
    entries: tuple[ContextEntry, ...]


def index_source(messages: Sequence[Message], beside: str = "") -> SourceTexts:
    """Collect the texts of a conversation."""
    return SourceTexts(tuple(SEPARATOR.join(read_texts(message)) for message in messages), beside)


def index_context(messages: Sequence[Message], summary: str | None, beside: str = "") -> CompressedContext:
    """Take a compressed conversation apart: each message is an entry, a summary one for each point."""
    texts = [beside, *(SEPARATOR.join(read_texts(message)) for message in messages)]
    entries: list[ContextEntry] = []
    for text in texts:
        before, found, after = text.partition(summary) if summary else (text, "", "")
        entries += [ContextEntry(kept, is_summary=False) for kept in (before, after) if kept]
        entries += [ContextEntry(point, is_summary=True) for point in split_points(found)] if found else []
    return CompressedContext(SEPARATOR.join(texts), tuple(entries))


def read_texts(message: Message) -> Iterator[str]:
    """Yield every text of a message; JSON arguments also as the strings in them."""
    for part in message.parts:
        match part:
            case Text(text) | Reasoning(text) | Opaque(_, text):
                yield text
            case ToolResult():
                yield part.text
            case ToolCall():
                yield part.name
                yield part.arguments
                if "\\" in part.arguments:
                    yield from read_strings(part.parse_arguments())


def read_strings(value: object) -> Iterator[str]:
    """Yield the strings in a JSON value, in order."""
    waiting = [value]
    while waiting:
        match waiting.pop():
            case str() as text:
                yield text
            case dict() as fields:
                waiting += reversed(fields.values())
            case list() as values:
                waiting += reversed(values)


def escaped_forms(wanted: str) -> tuple[str, ...]:
    """Return a string as it is and as JSON escapes it."""
    return tuple(
        dict.fromkeys(
            [wanted, json.dumps(wanted, ensure_ascii=False)[1:-1], json.dumps(wanted)[1:-1]],
        )
    )


def holds(text: str, forms: Sequence[str]) -> bool:
    """Whether a text holds a string in one of its forms."""
    return any(form in text for form in forms)


def split_points(summary: str) -> list[str]:
    """Split a summary into its points: a bullet with its continuation lines, or a paragraph.

    As in Markdown, what is not indented does not go on with a point across an empty line.
    """
    points: list[list[str]] = [[]]
    is_open = True
    for line in summary.split("\n"):
        if _starts_point(line) or (not is_open and line[:1].strip()):
            points.append([])
        points[-1].append(line)
        is_open = bool(line.strip()) and _HEADING.match(line) is None
    return ["\n".join(lines) for lines in points if lines]


def _starts_point(line: str) -> bool:
    return _ENTRY_START.match(line) is not None or _HEADING.match(line) is not None
