"""Shows where a message matches: a piece of what it says, in its own words, and which parts of it match.

The piece is made from the message and not by the database, whose index holds no texts. It can be printed:
nothing in it moves a cursor, colours a line or turns its direction.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache, partial
from itertools import islice
from typing import NamedTuple, TypeAlias

from midfold.late_dataclasses import dataclass
from midfold.late_patterns import compile_late
from midfold.search.query import Query, Term
from midfold.search.terms import STEMS, is_unspaced
from midfold.search.words import UNSPACED, fold

SNIPPET_CHARS = 160
ANSWER_CHARS = (*[1_200] * 5, 300)
"""How long the pieces are that a model reads; twenty of them fit into 4,000 tokens."""

_LEAD_FRACTION = 0.25
# A message of many megabytes is looked at up to here, and a word that is everywhere so many times.
_SEARCHED_CHARS = 1 << 18
_TRIES_PER_TERM = 1_000
_MORE = "…"

_ESCAPE = compile_late(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\^_])")
_UNPRINTABLE = compile_late(
    "[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\u061c\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]"
)
_SURROGATE = compile_late("[\ud800-\udfff]")
_BLANK = compile_late(r"\s+")
# Where a word of the index may begin or end, inside of what people take for one word, too.
_EDGE = compile_late(
    rf"(?<![^\W_])|(?![^\W_])|(?<=[{UNSPACED}])|(?=[{UNSPACED}])|(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])"
    r"|(?<=[A-Za-z])(?=[0-9])|(?<=[0-9])(?=[A-Za-z])"
)


class Mark(NamedTuple):
    """A range of a text that matches."""

    start: int
    stop: int


Find: TypeAlias = Callable[[str, str], Iterator[Mark]]
"""Yields where a text, given as it is and folded, has what was looked for."""


@dataclass(frozen=True, slots=True)
class Snippet:
    """A piece of a message on one line, and the parts of `text` that match."""

    text: str
    marks: tuple[Mark, ...]


def make_snippet(texts: Iterable[str], query: Query, *, chars: int = SNIPPET_CHARS) -> Snippet:
    """Return the piece of a message that shows most of what was looked for; its beginning if none shows.

    Words of the same meaning are shown where none of the query's own are.
    """
    said = tuple(texts)
    heaviest = max((term.weight for term in query.terms), default=1.0)
    own = tuple(
        term for term in query.terms if term.weight > heaviest / 4
    )  # one that only asks shows nothing
    shown = _make(said, _finders(own), chars)
    if shown.marks or not query.related:
        return shown
    related = tuple(
        Term((term,), stem="" if is_unspaced(term) else term) for group in query.related for term in group
    )
    return _make(said, _finders(related), chars)


# The same for each hit of a search.
@lru_cache(maxsize=16)
def _finders(terms: tuple[Term, ...]) -> tuple["_Finder", ...]:
    return tuple(_Finder(partial(_find_term, _patterns(term), term), term.weight) for term in terms)


def make_substring_snippet(texts: Iterable[str], substring: str, *, chars: int = SNIPPET_CHARS) -> Snippet:
    """Return the piece of a message around a text that was looked for letter by letter."""
    return _make(texts, [_Finder(partial(_find_substring, re.compile(re.escape(fold(substring)))))], chars)


@dataclass(frozen=True, slots=True)
class _Finder:
    """Finds one of the things looked for, and how much it says to show it."""

    find: Find
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class _Cut:
    """The start of a snippet in a text, and how much of what was looked for shows there."""

    text: str
    start: int
    shown: float


def _make(texts: Iterable[str], finders: Sequence[_Finder], chars: int) -> Snippet:
    cuts = [_best_cut(text[:_SEARCHED_CHARS], finders, chars) for text in texts]
    if not cuts:
        return Snippet("", ())
    best = max(cuts, key=lambda cut: cut.shown)
    text = _cut(best.text, best.start, chars)
    return Snippet(text, _join(mark for each in finders for mark in each.find(text, fold(text))))


def _best_cut(text: str, finders: Sequence[_Finder], chars: int) -> _Cut:
    """Part a text into cells as long as a snippet, and choose the first that shows the most."""
    folded = fold(text)
    cells: dict[int, set[int]] = {}
    starts: dict[int, int] = {}
    for index, each in enumerate(finders):
        for span in each.find(text, folded):
            cell = span.start // max(1, chars)
            cells.setdefault(cell, set()).add(index)
            starts[cell] = min(span.start, starts.get(cell, span.start))
    if not cells:
        return _Cut(text, 0, 0)
    shown = {cell: sum(finders[index].weight for index in found) for cell, found in cells.items()}
    best = min(cells, key=lambda cell: (-shown[cell], cell))
    return _Cut(text, starts[best], shown[best])


def _cut(text: str, start: int, chars: int) -> str:
    """Return about `chars` characters around `start` that are safe to print."""
    begin = max(0, start - int(chars * _LEAD_FRACTION))
    lead = _clean(text[begin:start])
    if begin:
        lead = _MORE + lead[lead.find(" ") + 1 :]
    rest = _clean(text[start : start + 2 * chars])
    room = max(0, chars - len(lead))
    is_all = len(rest) <= room and start + 2 * chars >= len(text)
    return (lead + rest[:room]).strip() + ("" if is_all else _MORE)


def _clean(text: str) -> str:
    text = _UNPRINTABLE.sub("", _ESCAPE.sub("", text))
    return _BLANK.sub(" ", _SURROGATE.sub("\ufffd", text))


def _find_term(patterns: "_Patterns", term: Term, text: str, folded: str) -> Iterator[Mark]:
    for mark in _find_substring(patterns.exact, text, folded):
        if _EDGE.match(text, mark.start) and (term.is_prefix or _EDGE.match(text, mark.stop)):
            yield mark
    if patterns.forms is not None:
        for mark in _find_substring(patterns.forms, text, folded):
            if STEMS[folded[mark.start : mark.stop]] == term.stem:
                yield mark


class _Patterns(NamedTuple):
    """Finds a term as it is, which may be a part of a word, and the other forms of a word."""

    exact: re.Pattern[str]
    forms: re.Pattern[str] | None


def _patterns(term: Term) -> _Patterns:
    exact = re.compile(r"[\W_]*".join(re.escape(fold(word)) for word in term.words))
    if not term.stem:
        return _Patterns(exact, None)
    # The stem of a word begins it, up to the last letter, which may be another.
    return _Patterns(exact, re.compile(rf"(?<![^\W_]){re.escape(term.stem[:-1])}[^\W_]*"))


def _find_substring(pattern: re.Pattern[str], _: str, folded: str) -> Iterator[Mark]:
    for found in islice(pattern.finditer(folded), _TRIES_PER_TERM):
        yield Mark(*found.span())


def _join(marks: Iterable[Mark]) -> tuple[Mark, ...]:
    """Sort marks and join those that touch."""
    joined: list[Mark] = []
    for mark in sorted(marks):
        if joined and mark.start <= joined[-1].stop:
            joined[-1] = Mark(joined[-1].start, max(joined[-1].stop, mark.stop))
        else:
            joined.append(mark)
    return tuple(joined)
