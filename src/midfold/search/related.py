"""Words that people use for one another: a question seldom has the words of its answer.

The groups are data of this package, in several languages: a person asks in one, and what a tool printed is in
another. Words of scripts without spaces are known by standing in the query, the others by their stems.
"""

from collections.abc import Collection, Iterator
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from midfold.search.terms import is_unspaced, word_terms

MAX_RELATED = 40
"""So many terms are looked for beside those of a query."""

_LONGEST_UNSPACED = 6


class _Groups(NamedTuple):
    """The groups of terms, and which of them each term, and each word of a script without spaces, is in."""

    terms: tuple[tuple[str, ...], ...]
    by_term: dict[str, list[int]]
    by_run: dict[str, list[int]]


def find_related(text: str, terms: Collection[str]) -> tuple[tuple[str, ...], ...]:
    """Return for the words of a query the terms that may stand in their place, a group for each meaning."""
    groups = _read_groups()
    numbers = dict.fromkeys(number for term in terms for number in groups.by_term.get(term, ()))
    numbers |= dict.fromkeys(number for run in _runs(text, groups) for number in groups.by_run[run])
    found: list[tuple[str, ...]] = []
    left = MAX_RELATED
    seen = set(terms)
    for number in numbers:
        fresh = tuple(term for term in groups.terms[number] if term not in seen)[:left]
        seen.update(fresh)
        left -= len(fresh)
        if fresh:
            found.append(fresh)
    return tuple(found)


def _runs(text: str, groups: _Groups) -> Iterator[str]:
    if text.isascii():
        return
    for start in range(len(text)):
        for stop in range(start + 2, min(start + _LONGEST_UNSPACED, len(text)) + 1):
            if text[start:stop] in groups.by_run:
                yield text[start:stop]


@cache
def _read_groups() -> _Groups:
    lines = (files("midfold.search") / "data" / "related_words.txt").read_text("utf-8").splitlines()
    found = _Groups((), {}, {})
    terms: list[tuple[str, ...]] = []
    for line in lines:
        words = [] if line.startswith("#") else line.split()
        if words:
            for word in words:
                _note(found, word, len(terms))
            # Of a longer run the first pair stands for it; a single character stands for too much.
            firsts = [word_terms(word)[0] for word in words]
            terms.append(tuple(dict.fromkeys(term for term in firsts if len(term) > 1)))
    return found._replace(terms=tuple(terms))


def _note(found: _Groups, word: str, number: int) -> None:
    if not is_unspaced(word):
        known = found.by_term.setdefault(word_terms(word)[0], [])
    elif len(word) > 1:
        known = found.by_run.setdefault(word, [])
    else:
        return
    if number not in known:
        known.append(number)
