"""Outlines of documents from the index alone, to choose the ones that are worth reading."""

import math
from collections.abc import Collection, Iterable, Sequence
from heapq import nlargest

from midfold.search.documents import Collected
from midfold.search.query import STOP_WEIGHT, Key, Query
from midfold.search.weights import RELATED_WEIGHT, room

KNOWN_MATCHES = 3_000
"""Of a common term the newest so many documents are known, and those that have it beside another one."""
CHOSEN_BY_LENGTH = 500
"""So many are chosen from by their lengths."""

_KNOWN_RELATED = 400
_WITH_NEIGHBOURS = 16


class Outlines:
    """The index entry of each document: the weight of its terms."""

    def __init__(self, query: Query, collected: Collected, within: Collection[int] | None) -> None:
        self._collected = collected
        self._asks = query.asks
        self._within = None if within is None else frozenset(within)
        self.rarities: dict[str, float] = {}
        self.weights: dict[int, float] = {}
        common: list[Key] = []
        is_telling = any(key.weight > STOP_WEIGHT for key in query.keys)
        for key in query.keys:
            if key.weight <= STOP_WEIGHT and is_telling and query.asks:  # it is everywhere
                self.rarities[key.term] = 1.0
                continue
            numbers = self._look_up(key, KNOWN_MATCHES)
            self._add(numbers, self.rarities[key.term] * key.weight)
            if len(numbers) == KNOWN_MATCHES:
                common.append(key)
        for group in query.related:
            self._add_related(group)
        self._add_common(sorted(common, key=lambda key: -self.rarities[key.term] * key.weight))

    def _look_up(self, key: Key, most: int) -> Sequence[int]:
        numbers = self._collected.find([key], most)
        count: float = len(numbers)
        total = max(self._collected.total, len(numbers))
        if len(numbers) == most:  # as dense everywhere as among the newest
            count = max(count, min(total, total * most / (numbers[0] - numbers[-1] + 1)))
        self.rarities[key.term] = math.log(1 + (total - count + 0.5) / (count + 0.5))
        return numbers

    def _add(self, numbers: Iterable[int], weight: float) -> None:
        weights = self.weights
        if not weights:
            weights.update(dict.fromkeys(numbers, weight))
            return
        get = weights.get
        for number in numbers:
            weights[number] = get(number, 0.0) + weight

    def _add_related(self, group: Sequence[str]) -> None:
        """Let the rarest of the terms that mean the same count where several stand."""
        found = [(self._look_up(Key(term), _KNOWN_RELATED), term) for term in group]
        best: dict[int, float] = {}
        for numbers, term in sorted(found, key=lambda each: self.rarities[each[1]]):
            best.update(dict.fromkeys(numbers, RELATED_WEIGHT * self.rarities[term]))
        weights = self.weights
        get = weights.get
        for number, weight in best.items():
            weights[number] = get(number, 0.0) + weight

    def _add_common(self, common: Sequence[Key]) -> None:
        """Find older documents, too, that have several terms of which only the newest are known."""
        telling = [key for key in common if key.weight > STOP_WEIGHT] or list(common)
        tried: list[Sequence[Key]] = [telling[:count] for count in range(min(4, len(telling)), 1, -1)]
        tried += [[telling[0], telling[2]], telling[1:3]] if telling[2:] else []
        for keys in tried:
            weight = sum(self.rarities[key.term] * key.weight for key in keys)
            weights = self.weights
            get = weights.get
            for number in self._collected.find(keys, KNOWN_MATCHES):
                if get(number, 0.0) < weight:
                    weights[number] = weight

    def weigh(self, number: int | None) -> float:
        """Return the weight of the terms that a document has."""
        return 0.0 if number is None else self.weights.get(number, 0.0)

    def choose(self, count: int) -> list[int]:
        """Choose the documents that are worth reading: by their terms, and what stands next to the best."""
        weights = self.weights
        allowed = weights if self._within is None else weights.keys() & self._within
        rough = self._heaviest(max(count, CHOSEN_BY_LENGTH), allowed)
        lengths = self._collected.lengths(rough)
        best = nlargest(
            count, rough, key=lambda number: (weights[number] / room(lengths.get(number, 0)), number)
        )
        if self._within is not None or not self._asks:
            return best
        near = self._collected.neighbours(best[:_WITH_NEIGHBOURS])
        return list(
            dict.fromkeys([*best, *(each for pair in near.values() for each in pair if each is not None)])
        )

    def _heaviest(self, count: int, numbers: Collection[int]) -> list[int]:
        """Return the documents with the largest weights; of equal ones the newest."""
        weights = self.weights
        if len(numbers) <= count:
            return list(numbers)
        least = sorted(map(weights.__getitem__, numbers))[-count]
        able = [number for number in numbers if weights[number] >= least]
        return nlargest(count, able, key=lambda number: (weights[number], number))
