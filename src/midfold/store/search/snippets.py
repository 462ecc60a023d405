"""Shows where a message matches: a piece of what it says, in its own words, and which parts of it match.

The piece is made from the message and not by the database, whose index holds no texts. It can be printed:
nothing in it moves a cursor, colours a line or turns its direction.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import TypeAlias
from unicodedata import normalize

from midfold.folding import Span, join_spans
from midfold.store.search.query import Query, Term
from midfold.store.search.words import UNSPACED

SNIPPET_CHARS = 160

_LEAD_FRACTION = 0.25
# A message of many megabytes is looked at up to here, and a word that is everywhere so many times.
_SEARCHED_CHARS = 1 << 18
_TRIES_PER_TERM = 1_000
_MORE = "…"

_ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\^_])")
_UNPRINTABLE = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\u061c\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]"
)
_SURROGATE = re.compile("[\ud800-\udfff]")
_BLANK = re.compile(r"\s+")
# Where a word of the index may begin or end, inside of what people take for one word, too.
_EDGE = re.compile(
    rf"(?<![^\W_])|(?![^\W_])|(?<=[{UNSPACED}])|(?=[{UNSPACED}])|(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])"
    r"|(?<=[A-Za-z])(?=[0-9])|(?<=[0-9])(?=[A-Za-z])"
)

Finder: TypeAlias = Callable[[str, str], Iterator[Span]]
"""Yields where a text, given as it is and folded, has what was looked for."""


@dataclass(frozen=True, slots=True)
class Snippet:
    """A piece of a message on one line, and the parts of `text` that match."""

    text: str
    marks: tuple[Span, ...]


def make_snippet(texts: Iterable[str], query: Query, *, chars: int = SNIPPET_CHARS) -> Snippet:
    """Return the piece of a message that shows most of what was looked for; its beginning if none shows."""
    return _make(texts, [partial(_find_term, _pattern(term), term) for term in query.terms], chars)


def make_substring_snippet(texts: Iterable[str], substring: str, *, chars: int = SNIPPET_CHARS) -> Snippet:
    """Return the piece of a message around a text that was looked for letter by letter."""
    return _make(texts, [partial(_find_substring, re.compile(re.escape(_fold(substring))))], chars)


@dataclass(frozen=True, slots=True)
class _Cut:
    """The start of a snippet in a text, and how many of the things looked for show there."""

    text: str
    start: int
    shown: int


def _make(texts: Iterable[str], finders: Sequence[Finder], chars: int) -> Snippet:
    cuts = [_best_cut(text[:_SEARCHED_CHARS], finders, chars) for text in texts]
    if not cuts:
        return Snippet("", ())
    best = max(cuts, key=lambda cut: cut.shown)
    text = _cut(best.text, best.start, chars)
    return Snippet(text, join_spans(span for find in finders for span in find(text, _fold(text))))


def _best_cut(text: str, finders: Sequence[Finder], chars: int) -> _Cut:
    """Part a text into cells as long as a snippet, and choose the first that shows the most."""
    folded = _fold(text)
    cells: dict[int, set[int]] = {}
    starts: dict[int, int] = {}
    for index, find in enumerate(finders):
        for span in find(text, folded):
            cell = span.start // max(1, chars)
            cells.setdefault(cell, set()).add(index)
            starts[cell] = min(span.start, starts.get(cell, span.start))
    if not cells:
        return _Cut(text, 0, 0)
    best = min(cells, key=lambda cell: (-len(cells[cell]), cell))
    return _Cut(text, starts[best], len(cells[best]))


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


def _pattern(term: Term) -> re.Pattern[str]:
    return re.compile(r"[\W_]*".join(re.escape(_fold(word)) for word in term.words))


def _find_term(pattern: re.Pattern[str], term: Term, text: str, folded: str) -> Iterator[Span]:
    for span in _find_substring(pattern, text, folded):
        if _EDGE.match(text, span.start) and (term.is_prefix or _EDGE.match(text, span.stop)):
            yield span


def _find_substring(pattern: re.Pattern[str], _: str, folded: str) -> Iterator[Span]:
    for found in islice(pattern.finditer(folded), _TRIES_PER_TERM):
        yield Span(*found.span())


def _fold(text: str) -> str:
    """Return a text in small letters without accents, character for character."""
    return text.lower() if text.isascii() else text.translate(_FOLDS)


class _Folds(dict[int, str]):
    """The folded form of each character, worked out when it is first seen."""

    def __missing__(self, code: int) -> str:
        bare = [sign for sign in normalize("NFKD", chr(code).lower()) if not "\u0300" <= sign <= "\u036f"]
        self[code] = bare[0] if len(bare) == 1 else chr(code)
        return self[code]


_FOLDS = _Folds()
