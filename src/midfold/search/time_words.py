"""Words that say when something happens: what answers a question for a time has one, or a date."""

from functools import cache
from importlib.resources import files

from midfold.search.terms import word_terms


def says_when(terms: frozenset[str]) -> bool:
    """Whether one of the terms of a text is of a word for a time, or a year."""
    return not terms.isdisjoint(_time_terms())


@cache
def _time_terms() -> frozenset[str]:
    lines = (files("midfold.search") / "data" / "time_words.txt").read_text("utf-8").splitlines()
    words = [word for line in lines if not line.startswith("#") for word in line.split()]
    years = map(str, range(1900, 2100))
    return frozenset(term for word in (*words, *years) for term in word_terms(word))
