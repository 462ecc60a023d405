"""Words that make a question and say nothing about its answer; their rarity alone would not tell."""

from functools import cache
from importlib.resources import files

from midfold.search.terms import word_terms


def is_stop_word(term: str) -> bool:
    """Whether a term is of a word that is in every question."""
    return term in _stop_terms()


@cache
def _stop_terms() -> frozenset[str]:
    lines = (files("midfold.search") / "data" / "stop_words.txt").read_text("utf-8").splitlines()
    words = [word for line in lines if not line.startswith("#") for word in line.split()]
    return frozenset(term for word in words for term in word_terms(word))
