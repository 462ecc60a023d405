"""Offloaded texts: what is known of one, and how its parts are read without reading all of it."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from itertools import accumulate
from typing import Protocol

from midfold.late_dataclasses import dataclass
from midfold.ports import Sink
from midfold.summaries.tool_calls import one_line

CHUNK_CHARS = 65_536
"""A kept text is stored in chunks of so many characters; the last one is shorter."""
_TOOL_CHARS = 100
_CALL_CHARS = 200
_FIRST_LINE_CHARS = 120
_OPENING_CHARS = 4_000


@dataclass(frozen=True, slots=True)
class OutputInfo:
    """One line of the index. `chars` and `lines` are those of what is kept, credentials replaced."""

    reference: str
    tool: str
    call_id: str
    at_seconds: float
    chars: int
    lines: int
    first_line: str


class Output(Protocol):
    """A kept text that is open for reading."""

    @property
    def info(self) -> OutputInfo: ...

    @property
    def lines_before(self) -> Sequence[int]:
        """For each chunk, how many line breaks come before it."""
        ...

    def chunk(self, number: int) -> str:
        """Return the characters from `number * CHUNK_CHARS` on."""
        ...


class OutputSink(Sink, Protocol):
    """A sink that can be looked through."""

    def open(self, reference: str) -> AbstractContextManager[Output]:
        """Open an offloaded text; `FileNotFoundError` where this session has none under that reference."""
        ...

    def outputs(self) -> list[OutputInfo]:
        """Return the offloaded texts, the newest first."""
        ...


def describe(
    reference: str, text: str, *, breaks: int, tool: str, call_id: str, at_seconds: float
) -> OutputInfo:
    """Describe a text with so many line breaks for the index."""
    first_line = text[:_OPENING_CHARS].lstrip().partition("\n")[0]
    return OutputInfo(
        reference,
        tool,
        one_line(call_id, _CALL_CHARS),
        at_seconds,
        len(text),
        breaks + (text != "" and not text.endswith("\n")),
        one_line(first_line, _FIRST_LINE_CHARS),
    )


def shown_tool(tool: str) -> str:
    """Return the name of a tool as the index and a reference show it."""
    return one_line(tool, _TOOL_CHARS)


def split(text: str) -> Iterator[str]:
    """Cut a text into its chunks."""
    return (text[start : start + CHUNK_CHARS] for start in range(0, len(text), CHUNK_CHARS))


def count_breaks(chunks: Iterable[bytes]) -> list[int]:
    """Return, for each chunk, how many line breaks come before it, and how many there are in all."""
    return list(accumulate((chunk.count(b"\n") for chunk in chunks), initial=0))


@dataclass(frozen=True, slots=True)
class Slice:
    """The characters from `start` to `stop` of an offloaded text that has `chars`."""

    text: str
    start: int
    stop: int
    chars: int


def read_slice(output: Output, offset: int, limit: int) -> Slice:
    """Read at most `limit` characters from `offset` on; where there are none, the slice is empty."""
    chars = output.info.chars
    start = min(max(offset, 0), chars)
    stop = min(start + max(limit, 0), chars)
    if start == stop:
        return Slice("", start, stop, chars)
    first, last = start // CHUNK_CHARS, (stop - 1) // CHUNK_CHARS
    text = "".join([output.chunk(number) for number in range(first, last + 1)])
    return Slice(text[start - first * CHUNK_CHARS : stop - first * CHUNK_CHARS], start, stop, chars)


def read_end(output: Output, offset: int, limit: int) -> Slice:
    """Read at most `limit` characters of which the last has `offset` characters behind it."""
    stop = max(output.info.chars - max(offset, 0), 0)
    start = max(stop - max(limit, 0), 0)
    return read_slice(output, start, stop - start)


def read_lines(output: Output, first: int, count: int, limit: int) -> Slice:
    """Read `count` lines from the line `first` on, counted from 1, and no more than `limit` characters."""
    start = _find_line(output, max(first, 1))
    stop = _find_line(output, max(first, 1) + max(count, 0))
    return read_slice(output, start, min(stop - start, limit))


def _find_line(output: Output, line: int) -> int:
    """Return where a line begins; the end of the text for one that is not there."""
    breaks = line - 1
    if breaks == 0:
        return 0
    # The line begins behind the break number `breaks`, which is in the last chunk with fewer before it.
    number = bisect_left(output.lines_before, breaks) - 1
    if number < 0:
        return output.info.chars
    chunk = output.chunk(number)
    position = -1
    for _ in range(breaks - output.lines_before[number]):
        position = chunk.find("\n", position + 1)
        if position < 0:
            return output.info.chars
    return number * CHUNK_CHARS + position + 1
