"""Sentences about one matter: of two, the later says how things are.

A matter is told by the words that two sentences share; words that stand everywhere tell none apart.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Container, Sequence
from itertools import accumulate

from midfold.summaries.digest.entries import Unit, cost
from midfold.summaries.phrases import matter_words

_LATER_TURNS = 6
"""the turns after a sentence in which the matter may come up again"""
_SAME_MATTER = 0.5
"""of a sentence's words, the part that another about the same matter has"""
_LEAST_SHARED = 2
_USUAL_PART = 0.3
"""of all turns: a word in more of them tells no matter apart"""
_LEAST_TURNS = 8
_LATER_LEAD = 1.02

_NO_WORDS: frozenset[str] = frozenset()
_RETIRED = 0.5
"""for what was said on the way and is said again later, more or less"""
_SAID_AGAIN, _LEAST_SAID_AGAIN = 0.6, 3
_NEAREST = 4
"""the next sentences with a word that are asked whether they are about its matter"""


def pair_matters(turns: Sequence[Sequence[Unit]]) -> None:
    """Let a sentence weigh, for its size, as much as an earlier one about the same matter, and a little more.

    Where only one of them has room, it is the later. Both meet in the middle.
    """
    words = [[matter_words(unit.text) for unit in units] for units in turns]
    usual = _find_usual(words)
    units = [unit for each in turns for unit in each]
    said = [found - usual for sentences in words for found in sentences]
    places: dict[str, list[int]] = {}
    for place, found in enumerate(said):
        for word in found:
            places.setdefault(word, []).append(place)
    starts = [0, *accumulate(map(len, turns))]
    for at in range(len(turns)):
        following = range(starts[at + 1], starts[min(at + 1 + _LATER_TURNS, len(turns))])
        for place in range(starts[at], starts[at + 1]):
            if len(said[place]) >= _LEAST_SHARED and units[place].weight > 0:
                later = _find_later(said[place], places, following)
                if later is not None:
                    _level(units[place], units[later])


def retire_older(statements: Sequence[Sequence[Unit]], on_the_way: Container[int]) -> None:
    """Let a later sentence take the place of what was said on the way, where it says most of it again."""
    words = [
        [matter_words(unit.text) if unit.weight > 0 else _NO_WORDS for unit in units] for units in statements
    ]
    usual = _find_usual(words)
    places: dict[str, list[int]] = {}
    met: list[Unit] = []
    for units, found in zip(reversed(statements), reversed(words), strict=True):
        for unit, sentence in zip(reversed(units), reversed(found), strict=True):
            said = sentence - usual
            later = _find_repetition(said, places) if id(units) in on_the_way else None
            if later is not None:
                met[later].weight = max(met[later].weight, density(unit) * cost(met[later].text))
                unit.weight *= _RETIRED
            for word in said:
                places.setdefault(word, []).append(len(met))
            met.append(unit)


def _find_repetition(said: frozenset[str], places: dict[str, list[int]]) -> int | None:
    """Return the latest of the sentences that follow which has most of these words."""
    least = max(_LEAST_SAID_AGAIN, len(said) * _SAID_AGAIN)
    if len(said) < least:
        return None
    shared = Counter(place for word in said for place in places.get(word, ())[-_NEAREST:])
    return min((place for place, count in shared.items() if count >= least), default=None)


def density(unit: Unit) -> float:
    """Return what a unit weighs for its size."""
    return unit.weight / cost(unit.text)


def _find_later(said: frozenset[str], places: dict[str, list[int]], following: range) -> int | None:
    """Return the last of the sentences that follow which speaks of the same matter."""
    least = max(_LEAST_SHARED, len(said) * _SAME_MATTER)
    shared: dict[int, int] = {}
    for word in said:
        where = places[word]
        for place in where[bisect_left(where, following.start) : bisect_left(where, following.stop)]:
            shared[place] = shared.get(place, 0) + 1
    return max((place for place, count in shared.items() if count >= least), default=None)


def _level(earlier: Unit, later: Unit) -> None:
    if density(later) < density(earlier) * _LATER_LEAD:
        middle = (density(earlier) * density(later)) ** 0.5
        earlier.weight = middle * cost(earlier.text)
        later.weight = middle * cost(later.text) * _LATER_LEAD


def _find_usual(turns: Sequence[Sequence[frozenset[str]]]) -> frozenset[str]:
    """Return the words that stand in so many turns that they tell no matter apart."""
    if len(turns) < _LEAST_TURNS:
        return frozenset()
    counts = Counter(word for sentences in turns for word in frozenset().union(*sentences))
    return frozenset(word for word, count in counts.items() if count > len(turns) * _USUAL_PART)
