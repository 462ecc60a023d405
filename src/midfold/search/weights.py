"""Weights of terms in a document of some length."""

SATURATION = 1.2
"""From which count on it says little more that a document has a term again."""
RELATED_WEIGHT = 0.35
"""The weight of a word that may mean the same."""

_LENGTH_SHARE = 0.75
_USUAL_TERMS = 60
_LONGEST_TERMS = 3_000


def room(terms: int) -> float:
    """How much a term weighs less in a document of so many terms."""
    return 1 + SATURATION * (1 - _LENGTH_SHARE + _LENGTH_SHARE * min(terms, _LONGEST_TERMS) / _USUAL_TERMS)


def estimate(known: float, terms: int) -> float:
    """Say what a document of so many terms is worth, of which the index alone tells."""
    return known * (SATURATION + 1) / room(terms)
