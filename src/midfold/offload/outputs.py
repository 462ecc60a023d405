"""What is known of a kept text, and how its parts are reached without reading all of it."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import accumulate
from typing import Protocol

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
        """Open a kept text; `FileNotFoundError` where this session has none under that reference."""
        ...

    def outputs(self) -> list[OutputInfo]:
        """Return what is kept, the newest first."""
        ...


def describe(
    reference: str, text: str, *, breaks: int, tool: str, call_id: str, at_seconds: float
) -> OutputInfo:
    """Say what the index says of a text with so many line breaks."""
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
