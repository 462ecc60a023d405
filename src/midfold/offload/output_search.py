"""Searches offloaded output, of one result or of a whole session, within bounds that no pattern can break.

A pattern is plain text unless it is asked to be a regular expression. Those run in linear time, on re2; where
re2 is missing they are refused, as a hostile one could hold everything up.
"""

from collections.abc import Callable, Iterator
from itertools import islice

from midfold.late_dataclasses import dataclass
from midfold.offload.outputs import CHUNK_CHARS, Output, OutputSink
from midfold.redact import Pattern, choose_engine, compile_bounded

MAX_PATTERN_CHARS = 500
MAX_MATCHES = 50
MAX_SCANNED_CHARS = 50_000_000
"""About a quarter of a second's work."""

_SHOWN_CHARS = 300
_BEFORE_CHARS = 100
# Matches this near to the end of a chunk are left to the next piece, which shows all that is around them.
_MARGIN_CHARS = max(_SHOWN_CHARS, MAX_PATTERN_CHARS)


@dataclass(frozen=True, slots=True)
class OutputMatch:
    """A match: its position, and the line around it."""

    reference: str
    offset: int
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class OutputMatches:
    """The matches of a search; `is_complete` is false where a bound ended it."""

    matches: tuple[OutputMatch, ...]
    is_complete: bool


class BadPattern(ValueError):
    """A pattern cannot be used; the text says why."""


Find = Callable[[str, int], int]
"""Returns where the first match from a position on starts; below 0 where there is none."""


def literal(pattern: str) -> Find:
    """Find a text."""
    _check_length(pattern)
    return lambda text, start: text.find(pattern, start)


def regex(pattern: str) -> Find:
    """Find a regular expression in the syntax of re2; `^` and `$` match at lines.

    It sees a question mark for every character that is not ASCII.
    """
    _check_length(pattern)
    engine = choose_engine()
    if engine is compile_bounded:
        raise BadPattern("regular expressions need google-re2, which is not installed; search for plain text")
    if not pattern.isascii():
        raise BadPattern("regular expressions are ASCII only; search for plain text")
    try:
        compiled = engine(f"(?m)(?:{pattern})".encode())
    except Exception as error:  # what engines raise has no narrower base in common
        raise BadPattern(f"not a regular expression: {pattern!r}") from error
    return _Regex(compiled)


class _Regex:
    """Looks at the ASCII form of a text, made once for all matches in it."""

    def __init__(self, compiled: Pattern) -> None:
        self._compiled = compiled
        self._text = ""
        self._data = b""

    def __call__(self, text: str, start: int) -> int:
        if text is not self._text:
            self._text, self._data = text, text.encode("ascii", "replace")
        match = self._compiled.search(self._data, start)
        return match.start() if match else -1


def _check_length(pattern: str) -> None:
    if not 0 < len(pattern) <= MAX_PATTERN_CHARS:
        raise BadPattern(f"a pattern has 1 to {MAX_PATTERN_CHARS} characters; this has {len(pattern):,}")


def search_output(output: Output, find: Find, *, limit: int = MAX_MATCHES) -> OutputMatches:
    """Search one offloaded text."""
    matches = tuple(islice(_matches(output, find), limit + 1))
    is_complete = len(matches) <= limit and output.info.chars <= MAX_SCANNED_CHARS
    return OutputMatches(matches[:limit], is_complete)


def search_outputs(sink: OutputSink, find: Find, *, limit: int = MAX_MATCHES) -> OutputMatches:
    """Search all that a session keeps, the newest first; what cannot be read makes it incomplete."""
    matches: list[OutputMatch] = []
    is_complete = True
    left_chars = MAX_SCANNED_CHARS
    for info in sink.outputs():
        left_chars -= info.chars
        if left_chars < 0 or len(matches) >= limit:
            return OutputMatches(tuple(matches), is_complete=False)
        try:
            with sink.open(info.reference) as output:
                found = search_output(output, find, limit=limit - len(matches))
        except OSError:
            is_complete = False
            continue
        matches += found.matches
        is_complete = is_complete and found.is_complete
    return OutputMatches(tuple(matches), is_complete)


def _matches(output: Output, find: Find) -> Iterator[OutputMatch]:
    """Walk through pieces of one chunk and what is before it; `resume` is where nothing was looked at yet."""
    resume = 0
    before = ""
    chunks = min(len(output.lines_before), MAX_SCANNED_CHARS // CHUNK_CHARS + 1)
    for number in range(chunks):
        piece = before + output.chunk(number)
        piece_start = number * CHUNK_CHARS - len(before)
        stop = len(piece) - (_MARGIN_CHARS if number + 1 < chunks else 0)
        lines = _LineCounter(piece, output.lines_before[number] - before.count("\n"))
        position = find(piece, resume - piece_start)
        while 0 <= position < stop:
            shown = _Shown(piece, position)
            yield OutputMatch(output.info.reference, piece_start + position, lines.at(position), shown.text)
            resume = piece_start + shown.stop
            position = find(piece, shown.stop) if shown.stop < len(piece) else -1
        resume = max(resume, piece_start + stop)
        before = piece[-_MARGIN_CHARS - _BEFORE_CHARS :]


class _LineCounter:
    """Numbers lines in a piece, asked from its start to its end."""

    def __init__(self, piece: str, lines_before: int) -> None:
        self._piece = piece
        self._line = lines_before + 1
        self._counted = 0

    def at(self, position: int) -> int:
        self._line += self._piece.count("\n", self._counted, position)
        self._counted = position
        return self._line


class _Shown:
    """The line around a match, or a part of it; the next match is looked for behind it."""

    def __init__(self, piece: str, position: int) -> None:
        start = max(piece.rfind("\n", 0, position) + 1, position - _BEFORE_CHARS)
        line_end = piece.find("\n", position, start + _SHOWN_CHARS)
        end = min(start + _SHOWN_CHARS, len(piece)) if line_end < 0 else line_end
        self.text = piece[start:end]
        self.stop = max(end, position) + 1
