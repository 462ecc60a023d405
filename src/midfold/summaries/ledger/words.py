"""The content of a text: lines and sentences, and the weight of each.

A weight of one is a full line. Of a tool's output, the two ends weigh most.
"""

import re
from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache

from midfold.summaries.tool_calls.output import read_outcome
from midfold.texts import read_text

LEAST_LINES = 8
"""The lines of every output that are looked at, however many outputs there are."""
_LINE_CHARS = 240
_LONGEST_LINE_CHARS = 12 * _LINE_CHARS
_SHORTEST_CHARS = 4
_READ_CHARS_PER_LINE = 400
_END_LINES = 3
_END_FACTOR = 1.6
_NAMING_FACTOR = 1.5
_FULL_LINE_WORDS = 4
_FULL_SENTENCE_WORDS = 12
# Scripts without blanks are counted by pairs, Korean by short words: as many to a token as elsewhere.
_WORD = re.compile(r"[\u3040-\u9fff]{2}|[\uac00-\ud7af]{2,3}|[^\W\d_\u3040-\u9fff\uac00-\ud7af]{3,}")
_PLAIN_WORD = re.compile(r"[A-Za-z]{3,}")
"""the same where all is ASCII, in half the time"""
_NAMING_SIGN = re.compile(r"[0-9_/]")
_SENTENCE_NAMING_SIGN = re.compile(r"[0-9_/`]|[a-z][A-Z]|\w\.\w|\(\)")
"""the same in a sentence: also code, joined words and dotted names"""
_SHORT_SENTENCE_WORDS, _SHORT_FACTOR = 5, 0.5
"""Fewer words that name nothing only keep a talk going."""
_FIELD_BREAK = re.compile(r",\s{0,4}(?=[\"{\[])|(?<=[\[{}\]])\s{0,4}(?=\")")
_BREAKS = (". ", ", ", "; ", "。", " ")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n+")
_SENTENCE_CHARS = 320
_SHORTEST_SENTENCE_CHARS = 4
_WHOLE_REQUEST_CHARS = 1_500
_REQUEST_START_CHARS = 700
_MOST_REQUEST_LINES = 200
DEFINITION = re.compile(
    r"(?:export\s|pub(?:\(\w+\))?\s|public\s|private\s|protected\s|static\s|async\s|default\s|abstract\s|final\s){0,4}"
    r"(?:def|func|fn|function|class|struct|interface|type|enum|trait|impl|const|module|record|protocol|CREATE\sTABLE)"
    r"\s.{0,80}?\w"
)
"""how a line begins that gives something a name"""
COMMIT = re.compile(r"\[[\w./-]{1,100} (?:\(root-commit\) )?[0-9a-f]{7,40}\] \S")
"""how git begins the line that tells of a commit"""
# How a sentence ends that only says what comes next.
_ANNOUNCING_ENDS = (":", "：", "...", "…")
_ANNOUNCING_CHARS = 12
_LEAD_IN_CHARS = 40
_LEAD_IN = re.compile(r"^(?:(?:now|first|next|then|ok|okay|great|good|so|and|finally)[,.!]?\s+){1,3}")
_TAG_CHARS = 48
_ANNOUNCED_FACTOR = 0.35


@dataclass(frozen=True, slots=True)
class WeightedLines:
    """Lines of a text, and how much each weighs: about one. In columns, for there are very many."""

    texts: tuple[str, ...]
    weights: tuple[float, ...]

    def __iter__(self) -> Iterator[tuple[str, float]]:
        return zip(self.texts, self.weights, strict=True)


@dataclass(frozen=True, slots=True)
class WeightedSentences:
    """Sentences, how much each weighs, and whether it says what was settled. In columns: there are many."""

    texts: tuple[str, ...]
    weights: tuple[float, ...]
    decides: tuple[bool, ...]

    def __iter__(self) -> Iterator[tuple[str, float, bool]]:
        return zip(self.texts, self.weights, self.decides, strict=True)


@dataclass(frozen=True, slots=True)
class Words:
    """The words of one text, without secrets; with its parts where these were worked out ahead."""

    text: str
    known_sentences: WeightedSentences | None = field(default=None, compare=False, repr=False)
    known_lines: WeightedLines | None = field(default=None, compare=False, repr=False)

    @property
    def sentences(self) -> WeightedSentences:
        """The sentences that say something, each once."""
        return self.known_sentences or _split_sentences(self.text)

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


def decides(sentence: str) -> bool:
    """Whether a sentence says what was decided, found or done, or why."""
    return not _decision_words().isdisjoint(sentence.lower().split()) or (
        not sentence.isascii() and any(map(sentence.__contains__, _decision_parts()))
    )


def announces(sentence: str) -> bool:
    """Whether a sentence only says what comes next; one that names something says more."""
    start = _LEAD_IN.sub("", sentence[:_LEAD_IN_CHARS].lower())[:_ANNOUNCING_CHARS]
    if start.startswith(_announcing_starts()):
        return True
    return sentence.endswith(_ANNOUNCING_ENDS) and _SENTENCE_NAMING_SIGN.search(sentence) is None


def weigh_output(output: str, most: int, said: Container[str] = ()) -> WeightedLines:
    """Return up to `most` lines of both ends; a line that was `said` before weighs nothing."""
    is_json = output.startswith(("{", "["))
    text = read_outcome(output).text if is_json else output
    reach = most * _READ_CHARS_PER_LINE
    if len(text) > 2 * reach:
        text = f"{text[:reach]}\n{text[-reach:]}"
    lines = list(_fields(text) if text.startswith(("{", "[")) else _lines(text, most))
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
    words = _count_words(line)
    return min(words, _FULL_LINE_WORDS) / _FULL_LINE_WORDS * _naming(line)


def weigh_sentence(sentence: str) -> float:
    """Weigh a sentence: twice what a line does when it is long enough to say something."""
    words = _count_words(sentence)
    full = min(words, _FULL_SENTENCE_WORDS) * 2 / _FULL_SENTENCE_WORDS
    if _SENTENCE_NAMING_SIGN.search(sentence):
        return full * _NAMING_FACTOR
    return full * (_SHORT_FACTOR if words < _SHORT_SENTENCE_WORDS else 1.0)


def _split_sentences(text: str) -> WeightedSentences:
    pieces = [piece.strip()[:_SENTENCE_CHARS] for piece in _SENTENCE_END.split(text)]
    texts = tuple(
        [
            piece
            for piece in dict.fromkeys(pieces)
            if len(piece) >= _SHORTEST_SENTENCE_CHARS and not _is_tag(piece)
        ]
    )
    weights = (weigh_sentence(text) * (_ANNOUNCED_FACTOR if announces(text) else 1.0) for text in texts)
    return WeightedSentences(texts, tuple(weights), tuple(map(decides, texts)))


def _split_lines(text: str) -> WeightedLines:
    lines = [line.strip() for line in text.split("\n", _MOST_REQUEST_LINES)[:_MOST_REQUEST_LINES]]
    return weigh_lines(line for line in lines if line)


def _count_words(text: str) -> int:
    return len((_PLAIN_WORD if text.isascii() else _WORD).findall(text))


def _naming(text: str) -> float:
    return _NAMING_FACTOR if _NAMING_SIGN.search(text) else 1.0


def _lines(text: str, most: int) -> Iterator[str]:
    lines = text.split("\n")
    if len(lines) > 2 * most:
        lines = [*lines[:most], *lines[-most:]]
    for line in lines:
        bare = line.strip()
        if len(bare) > _LINE_CHARS:
            yield from _pieces(bare)
        elif len(bare) >= _SHORTEST_CHARS and not _is_tag(bare):
            yield bare


def _is_tag(line: str) -> bool:
    """Whether a line only opens or closes an element."""
    return (
        line[0] == "<"
        and line[-1] == ">"
        and len(line) <= _TAG_CHARS
        and line[1:-1].strip("/-").isidentifier()
    )


def _fields(text: str) -> Iterator[str]:
    """Yield the fields of JSON as they are written."""
    for piece in _FIELD_BREAK.split(text):
        bare = piece.strip().strip("{}[]").strip()
        if len(bare) > _LINE_CHARS:
            yield from _pieces(bare)
        elif len(bare) >= _SHORTEST_CHARS:
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


@cache
def _decision_words() -> frozenset[str]:
    """Return words with which models say what they settled on, found or did, and why."""
    return frozenset(read_text(__package__, "decision_words.txt").split())


@cache
def _decision_parts() -> tuple[str, ...]:
    """Return the same for scripts that do not part words."""
    return tuple(read_text(__package__, "decision_parts.txt").split())


@cache
def _announcing_starts() -> tuple[str, ...]:
    """Return how a sentence begins that only says what comes next."""
    return tuple(read_text(__package__, "announcing_starts.txt").strip().replace("\n", ", ").split(", "))
