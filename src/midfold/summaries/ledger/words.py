"""The content of a text: lines and sentences, and the weight of each.

A weight of one is a full line. Of a tool's output, the two ends weigh most.
"""

from collections.abc import Callable, Container, Iterable, Iterator

from midfold.late_dataclasses import dataclass, field
from midfold.late_patterns import compile_late
from midfold.summaries.ledger.sentences import (
    NAMING_FACTOR,
    Claims,
    WeightedSentences,
    count_words,
    is_tag,
    read_claims,
    split_sentences,
)
from midfold.summaries.tool_calls.frames import is_import, says_nothing, unframe, without_number
from midfold.summaries.tool_calls.output import read_outcome

LEAST_LINES = 8
"""The lines of every output that are looked at, however many outputs there are."""
_LINE_CHARS = 240
_LONGEST_LINE_CHARS = 12 * _LINE_CHARS
_SHORTEST_CHARS = 4
_READ_CHARS_PER_LINE = 400
_END_LINES = 3
_END_FACTOR = 1.6
_FULL_LINE_WORDS = 4
_NAMING_SIGN = compile_late(r"[0-9_/]")
_FIELD_BREAK = compile_late(r",\s{0,4}(?=[\"{\[])|(?<=[\[{}\]])\s{0,4}(?=\")")
_BREAKS = (". ", ", ", "; ", "。", " ")
_WHOLE_REQUEST_CHARS = 1_500
_REQUEST_START_CHARS = 700
_MOST_REQUEST_LINES = 200
DEFINITION = compile_late(
    r"(?:export\s|pub(?:\(\w+\))?\s|public\s|private\s|protected\s|static\s|async\s|default\s|abstract\s|final\s){0,4}"
    r"(?:def|func|fn|function|class|struct|interface|type|enum|trait|impl|const|module|record|protocol|CREATE\sTABLE)"
    r"\s.{0,80}?\w"
)
"""how a line begins that gives something a name"""
COMMIT = compile_late(r"\[[\w./-]{1,100} (?:\(root-commit\) )?[0-9a-f]{7,40}\] \S")
"""how git begins the line that tells of a commit"""


@dataclass(frozen=True, slots=True)
class WeightedLines:
    """Lines of a text, and how much each weighs: about one. In columns, for there are very many."""

    texts: tuple[str, ...]
    weights: tuple[float, ...]

    def __iter__(self) -> Iterator[tuple[str, float]]:
        return zip(self.texts, self.weights, strict=True)


@dataclass(frozen=True, slots=True)
class Words:
    """The words of one text, without secrets; with its parts where these were worked out ahead."""

    text: str
    known_sentences: WeightedSentences | None = field(default=None, compare=False, repr=False)
    known_lines: WeightedLines | None = field(default=None, compare=False, repr=False)
    known_claims: Claims | None = field(default=None, compare=False, repr=False)

    @property
    def sentences(self) -> WeightedSentences:
        """The sentences that say something, each once."""
        return self.known_sentences or split_sentences(self.text)

    @property
    def claims(self) -> Claims:
        """What works, as these words say."""
        return self.known_claims or read_claims(self.text)

    @property
    def opening_chars(self) -> int:
        """The characters of a request that are quoted in one piece: a short one whole."""
        if len(self.text) <= _WHOLE_REQUEST_CHARS:
            return len(self.text)
        return max(self.text.rfind("\n", 0, _REQUEST_START_CHARS), _REQUEST_START_CHARS // 2)

    @property
    def lines(self) -> WeightedLines:
        """The first lines after the opening of a request, as far as they say something."""
        return self.known_lines or _split_lines(self.text[self.opening_chars :])


def read_words(text: str, redact: Callable[[str], str]) -> Words:
    """Read the words of a model."""
    return Words(redact(text).strip())


def weigh_output(
    output: str, most: int, said: Container[str] = (), *, is_file: bool = False
) -> WeightedLines:
    """Return up to `most` lines of both ends; a line that was `said` before weighs nothing.

    Of a file, the numbers of its lines are left out, and lines that only import.
    """
    output = unframe(output)
    text = read_outcome(output).text if output.startswith(("{", "[")) else output
    reach = most * _READ_CHARS_PER_LINE
    if len(text) > 2 * reach:
        text = f"{text[:reach]}\n{text[-reach:]}"
    lines = list(_fields(text) if text.startswith(("{", "[")) else _lines(text, most, is_file=is_file))
    if len(lines) > most:
        lines = [*lines[: most // 2], *lines[-(most - most // 2) :]]
    inner = range(_END_LINES, len(lines) - _END_LINES)
    weights = [
        0.0 if line in said else weigh_line(line) * (1.0 if number in inner else _END_FACTOR)
        for number, line in enumerate(lines)
    ]
    return WeightedLines(tuple(lines), tuple(weights))


def weigh_lines(lines: Iterable[str]) -> WeightedLines:
    """Weigh each line."""
    texts = tuple(lines)
    return WeightedLines(texts, tuple(map(weigh_line, texts)))


def weigh_line(line: str) -> float:
    """Say how much a line says for its size: full weight takes a few words, names and figures count more."""
    words = count_words(line)
    return min(words, _FULL_LINE_WORDS) / _FULL_LINE_WORDS * _naming(line)


def _split_lines(text: str) -> WeightedLines:
    lines = [line.strip() for line in text.split("\n", _MOST_REQUEST_LINES)[:_MOST_REQUEST_LINES]]
    return weigh_lines(line for line in lines if line)


def _naming(text: str) -> float:
    return NAMING_FACTOR if _NAMING_SIGN.search(text) else 1.0


_PROMPT_ENDS, _LONGEST_PROMPT_CHARS = "$#", 60


def _lines(text: str, most: int, *, is_file: bool) -> Iterator[str]:
    lines = text.split("\n")
    if len(lines) > 2 * most:
        lines = [*lines[:most], *lines[-most:]]
    for line in lines:
        bare = without_number(line.strip()) if is_file else line.strip()
        if is_import(bare):
            continue
        if len(bare) > _LINE_CHARS:
            yield from _pieces(bare)
        elif len(bare) >= _SHORTEST_CHARS and not is_tag(bare) and not says_nothing(bare):
            yield from () if _is_prompt(bare) else (bare,)


def _is_prompt(line: str) -> bool:
    """Whether a line is only a shell that waits."""
    is_short = line[-1] in _PROMPT_ENDS and len(line) <= _LONGEST_PROMPT_CHARS
    return is_short and line[0] not in _PROMPT_ENDS and " " not in line


def _fields(text: str) -> Iterator[str]:
    """Yield the fields of JSON as they are written."""
    for piece in _FIELD_BREAK.split(text):
        bare = piece.strip().strip("{}[]").strip()
        if len(bare) > _LINE_CHARS:
            yield from _pieces(bare)
        elif len(bare) >= _SHORTEST_CHARS and not says_nothing(bare):
            yield bare


def _pieces(line: str) -> Iterator[str]:
    """Cut a long line where a sentence or a list item ends."""
    start = 0
    while len(line) - start > _LINE_CHARS and start < _LONGEST_LINE_CHARS:
        low, high = start + _LINE_CHARS // 3, start + _LINE_CHARS
        stop = next((at + 1 for mark in _BREAKS if (at := line.rfind(mark, low, high)) >= 0), high)
        yield line[start:stop].strip()
        start = stop
    if start < _LONGEST_LINE_CHARS:
        yield line[start:].strip()
