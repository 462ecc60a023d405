"""How much a line or a sentence tells, and which lines of a tool's output tell most: its two ends."""

import re
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass

from midfold.summaries.tool_calls.excerpts import read_outcome

LEAST_LINES = 8
"""How many lines of every output are looked at, however many outputs there are."""
_LINE_CHARS = 240
_LONGEST_LINE_CHARS = 12 * _LINE_CHARS
_SHORTEST_CHARS = 4
_READ_CHARS_PER_LINE = 400
_END_LINES = 3
_END_FACTOR = 1.6
_NAMING_FACTOR = 1.5
_FULL_LINE_WORDS = 4
_FULL_SENTENCE_WORDS = 12
_WORD = re.compile(r"[^\W\d_]{3,}|[\u3040-\u9fff\uac00-\ud7af]{2}")
_PLAIN_WORD = re.compile(r"[A-Za-z]{3,}")
"""the same where all is ASCII, in half the time"""
_NAMING_SIGN = re.compile(r"[0-9_/]")
_FIELD_BREAK = re.compile(r",\s{0,4}(?=[\"{\[])|(?<=[\[{}\]])\s{0,4}(?=\")")
_BREAKS = (". ", ", ", "; ", "。", " ")


@dataclass(frozen=True, slots=True)
class Lines:
    """Lines of a text, and how much each tells: about one. In columns, for there are very many."""

    texts: tuple[str, ...]
    tells: tuple[float, ...]

    def __iter__(self) -> Iterator[tuple[str, float]]:
        return zip(self.texts, self.tells, strict=True)


def telling_lines(output: str, most: int, said: Container[str] = ()) -> Lines:
    """Return up to `most` lines of both ends; those that were `said` before tell nothing."""
    is_json = output.startswith(("{", "["))
    text = read_outcome(output).text if is_json else output
    reach = most * _READ_CHARS_PER_LINE
    if len(text) > 2 * reach:
        text = f"{text[:reach]}\n{text[-reach:]}"
    lines = list(_fields(text) if text.startswith(("{", "[")) else _lines(text, most))
    if len(lines) > most:
        lines = [*lines[: most // 2], *lines[-(most - most // 2) :]]
    inner = range(_END_LINES, len(lines) - _END_LINES)
    tells = [
        0.0 if line in said else tell(line) * (1.0 if number in inner else _END_FACTOR)
        for number, line in enumerate(lines)
    ]
    return Lines(tuple(lines), tuple(tells))


def weigh_lines(lines: Iterable[str]) -> Lines:
    """Say of each line how much it tells."""
    texts = tuple(lines)
    return Lines(texts, tuple(map(tell, texts)))


def tell(line: str) -> float:
    """Say how much a line tells for its size: full worth takes a few words, names and figures count more."""
    words = _count_words(line)
    return min(words, _FULL_LINE_WORDS) / _FULL_LINE_WORDS * _naming(line)


def tell_prose(sentence: str) -> float:
    """Say how much a sentence tells: twice what a line does when it is long enough to say something."""
    words = _count_words(sentence)
    return min(words, _FULL_SENTENCE_WORDS) * 2 / _FULL_SENTENCE_WORDS * _naming(sentence)


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
        elif len(bare) >= _SHORTEST_CHARS:
            yield bare


def _fields(text: str) -> Iterator[str]:
    """Yield the fields of JSON as they are spelled."""
    for field in _FIELD_BREAK.split(text):
        bare = field.strip().strip("{}[]").strip()
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
