"""Reads parts of a kept text: by characters, by lines, from its end. Only the chunks it needs are read."""

from bisect import bisect_left
from dataclasses import dataclass

from midfold.offload.outputs import CHUNK_CHARS, Output


@dataclass(frozen=True, slots=True)
class Slice:
    """The characters from `start` to `stop` of a kept text that has `chars`."""

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
