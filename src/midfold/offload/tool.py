"""The tool with which a model reads offloaded output back: its schema, and what answers its calls.

A call never fails and never gives more than it promises: what is wrong with it is said in the answer.
"""

import json
import math
from collections.abc import Callable, Mapping
from datetime import UTC, datetime

from midfold.offload.budgets import MAX_READ_CHARS, READER
from midfold.offload.output_search import (
    MAX_MATCHES,
    BadPattern,
    OutputMatches,
    literal,
    regex,
    search_output,
    search_outputs,
)
from midfold.offload.outputs import Output, OutputInfo, OutputSink, Slice, read_end, read_lines, read_slice
from midfold.summaries.tool_calls import one_line
from midfold.texts import read_text

DEFAULT_READ_CHARS = 10_000
DEFAULT_LINES = 200
MAX_LISTED = 100
_REFERENCE_CHARS = 80


def read_tool_schema() -> dict[str, object]:
    """Return name, description and parameters as JSON schema; the caller renders them for its API."""
    schema: dict[str, object] = json.loads(read_text("midfold.offload", "texts/tool.json"))
    return schema


class OutputReader:
    """Answers calls of `read_persisted_output` from the sink of one session."""

    name = READER

    def __init__(self, sink: OutputSink) -> None:
        self._sink = sink

    def handle(self, arguments: Mapping[str, object]) -> str:
        """Answer a call; the answer quotes at most `MAX_READ_CHARS` characters of offloaded output."""
        try:
            return self._answer(_Arguments(arguments))
        except (BadPattern, _BadArgument) as error:
            return f"Error: {error}."
        except FileNotFoundError:
            return "Error: nothing is kept under this reference. Call without arguments to list what is."
        except OSError as error:
            return f"Error: this output cannot be read ({error.strerror})."

    def _answer(self, arguments: "_Arguments") -> str:
        reference = arguments.text("reference")
        pattern = arguments.text("pattern")
        find = (regex if arguments.switch("regex") else literal)(pattern) if pattern else None
        if not reference:
            return _say_found(search_outputs(self._sink, find)) if find else _say_list(self._sink.outputs())
        with self._sink.open(reference) as output:
            if find:
                return _say_found(search_output(output, find))
            return _say_slice(output, _read(output, arguments))


class _BadArgument(ValueError):
    """An argument is not what it should be."""


class _Arguments:
    """Reads what a model wrote, which may say "20" for 20 and null for nothing."""

    def __init__(self, values: Mapping[str, object]) -> None:
        self._values = values

    def text(self, name: str) -> str:
        value = self._values.get(name)
        if value is not None and not isinstance(value, str):
            raise _BadArgument(f"{name} must be text")
        return value or ""

    def switch(self, name: str) -> bool:
        return self._values.get(name) in (True, "true", "True")

    def whole(self, name: str, default: int, *, least: int, most: float = math.inf) -> int:
        value = self._values.get(name)
        if value is None:
            return default
        try:
            number = int(value) if isinstance(value, int | float | str) else None
        except (ValueError, OverflowError):
            number = None
        if number is None or number < least:
            raise _BadArgument(f"{name} must be a whole number, at least {least}")
        return int(min(number, most))


def _read(output: Output, arguments: _Arguments) -> Slice:
    limit = arguments.whole("limit", DEFAULT_READ_CHARS, least=1, most=MAX_READ_CHARS)
    line = arguments.whole("line", 0, least=1)
    if line:
        lines = arguments.whole("lines", DEFAULT_LINES, least=1)
        return read_lines(output, line, lines, limit)
    offset = arguments.whole("offset", 0, least=0)
    how: Callable[[Output, int, int], Slice] = read_end if arguments.switch("from_end") else read_slice
    return how(output, offset, limit)


def _say_slice(output: Output, part: Slice) -> str:
    reference = one_line(output.info.reference, _REFERENCE_CHARS)
    if part.start == part.stop:
        return f"[{reference}: nothing there; it has {part.chars:,} characters, {output.info.lines:,} lines]"
    more = f"; go on with offset {part.stop}" if part.stop < part.chars else "; this is its end"
    return f"[{reference}: characters {part.start} to {part.stop} of {part.chars}{more}]\n{part.text}"


def _say_found(found: OutputMatches) -> str:
    if not found.matches:
        return "[no match]" if found.is_complete else "[no match in what could be searched; not all could]"
    more = "" if found.is_complete else f"; there may be more than these, {MAX_MATCHES} are shown at most"
    lines = [
        f"{match.reference} offset {match.offset} line {match.line}: {match.text}" for match in found.matches
    ]
    return "\n".join([f"[matches: {len(lines)}{more}]", *lines])


def _say_list(infos: list[OutputInfo]) -> str:
    if not infos:
        return "[nothing was offloaded in this session]"
    lines = [
        f"{info.reference}: {info.tool or 'a tool'}, {info.chars:,} characters, {info.lines:,} lines, "
        f"{_say_time(info.at_seconds)}: {info.first_line}"
        for info in infos[:MAX_LISTED]
    ]
    return "\n".join([f"[results offloaded: {len(infos)}, the newest first]", *lines])


def _say_time(at_seconds: float) -> str:
    return datetime.fromtimestamp(at_seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")
