"""How well one document answers a query: what it says, what it passes on, and who speaks."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise

from midfold.late_dataclasses import dataclass
from midfold.late_patterns import compile_late
from midfold.search.documents import Document, Origin
from midfold.search.matching import matches, words_in
from midfold.search.query import Query
from midfold.search.query_hints import asks_for_failure, find_author, find_ordinal, tells_failure
from midfold.search.terms import terms_in, word_terms
from midfold.search.time_words import says_when
from midfold.search.weights import RELATED_WEIGHT, SATURATION, estimate, room

# Messages say first what they are about; what stands further down is known to the index alone.
_READ_CHARS = 4_000
_LEAST_CARRIED_CHARS = 2_000
_GROWTH = 0.6
"""how the number of different terms grows with the length of a text"""
# A message counts as a whole and by its words alone, so that a file in the arguments of a call neither
# drowns the sentence before it nor answers in its place.
_WHOLE, _SAID, _CARRIED = 0.5, 0.5, 0.3
_PASSAGE = 0.2
_PASSAGE_TERMS = 60
_NEXT_TO = 0.4
# What a host tells a model has a word for everything, and nobody asks for it.
_ROLE_WEIGHTS = {"user": 1.2, "assistant": 1.1, "system": 0.5}
_SUMMARY_WEIGHT = 0.6
_AUTHOR_WEIGHTS = {"user": 1.7, "assistant": 1.2}
_WHEN_WEIGHT = 1.1
_FAILURE_WEIGHT = 1.3
_WHEN = compile_late(
    r"\b(?:when|what (?:date|day|month|year|time)|cuándo|quand|wann)\b|什么时候|何时|いつ|何日|언제", re.I
)
_SPEAKER = compile_late(r"([^\W\d_]{2,20}): ")

_Places = list[tuple[int, str]]


@dataclass(frozen=True, slots=True)
class Reading:
    """The terms read in a document."""

    own: float
    """how well it answers by itself"""
    weight: float
    """how much that counts, by who speaks, and where"""
    distinct: float
    """of how many terms it is made"""
    terms: frozenset[str]
    is_by_named: bool = False
    """whether it begins with the name of its speaker, as lines of a chat do, and the query has that name"""


class Asked:
    """A query with the rarity of its terms, to compare documents by."""

    def __init__(self, query: Query, rarities: Mapping[str, float]) -> None:
        self._query = query
        self._rarities = rarities
        self.asks = query.asks
        self._prefixes = [key for key in query.keys if key.is_prefix]
        self._wanted = {key.term for key in query.keys} | {term for group in query.related for term in group}
        self._groups = {term: number for number, group in enumerate(query.related) for term in group}
        self._key_weights: dict[str, float] = {}
        for key in query.keys:
            self._key_weights[key.term] = self._key_weights.get(key.term, 0.0) + key.weight
        self._following = {
            first.term: (second.term, min(first.weight, second.weight))
            for first, second in pairwise(query.keys)
        }
        self._author = find_author(query.text)
        self.ordinal = find_ordinal(query.text)
        self._asks_for_failure = asks_for_failure(query.text)
        self._asks_when = _WHEN.search(query.text) is not None

    def read(self, document: Document, known: float) -> Reading | None:
        """Read a document of which the index knows this much; `None` where it lacks what is required."""
        if not document.texts and not document.carried:  # damaged: as far as anybody knows
            return Reading(known, 1.0, 0.0, frozenset())
        if not self.asks and not self._fits(document):
            return None
        said, carried = "\n".join(document.texts), "\n".join(document.carried)
        said_terms = terms_in(said[:_READ_CHARS])
        carried_terms = terms_in(carried[: max(_LEAST_CARRIED_CHARS, _READ_CHARS - len(said))])
        terms = frozenset(said_terms).union(carried_terms)
        chars = len(said) + len(carried)
        distinct = len(terms) * max(1.0, (chars / _READ_CHARS) ** _GROWTH)
        own = self._own(said_terms, carried_terms, distinct)
        if chars > _READ_CHARS:
            own = max(own, estimate(known, int(distinct)))
        return Reading(own, self._weight(document, terms), distinct, terms, self._names_speaker(said))

    def _names_speaker(self, said: str) -> bool:
        found = _SPEAKER.match(said)
        return found is not None and self._key_weights.keys() >= set(word_terms(found[1]))

    def _fits(self, document: Document) -> bool:
        tree = self._query.loose
        return tree is not None and matches(tree, words_in((*document.texts, *document.carried)))

    def _own(self, said: Sequence[str], carried: Sequence[str], distinct: float) -> float:
        in_said, in_carried = self._places(said), self._places(carried)
        if not carried:
            counts = self._count(in_said, said)
            own = self._weigh(counts, distinct)
        else:
            counts, others = self._count(in_said, said), self._count(in_carried, carried)
            own = _WHOLE * self._weigh(counts + others, distinct)
            own += _SAID * self._weigh(counts, len(set(said))) if counts else 0.0
            own += _CARRIED * self._weigh(others, len(set(carried))) if others else 0.0
        return (
            own
            + _NEXT_TO * self._pairs(in_said, in_carried)
            + (_PASSAGE * self._passage(in_said) if self.asks else 0.0)
        )

    def _places(self, terms: Sequence[str]) -> _Places:
        wanted = self._wanted
        return [(place, term) for place, term in enumerate(terms) if term in wanted]

    def _count(self, places: _Places, terms: Sequence[str]) -> Counter[str]:
        counts = Counter(term for _, term in places)
        for key in self._prefixes:
            counts[key.term] = sum(term.startswith(key.term) for term in terms)
        return counts

    def _weigh(self, counts: Mapping[str, int], distinct: float) -> float:
        """Weigh terms by their rarity and count, in a text of so many."""
        norm = room(int(distinct)) - 1
        weights = {
            term: self._rarities.get(term, 0.0) * count * (SATURATION + 1) / (count + norm)
            for term, count in counts.items()
        }
        return self._sum(weights)

    def _sum(self, weights: Mapping[str, float]) -> float:
        """Add up the weights of terms that a text has; of terms that mean the same the best counts."""
        own = 0.0
        best: dict[int, float] = {}
        for term, weight in weights.items():
            group = self._groups.get(term)
            if group is None:
                own += weight * self._key_weights.get(term, 0.0)
            elif weight > best.get(group, 0.0):
                best[group] = weight
        return own + RELATED_WEIGHT * sum(best.values())

    def _passage(self, places: _Places) -> float:
        """Weigh the terms of the best passage: what answers stands together, however long the text is."""
        best, last = 0.0, -_PASSAGE_TERMS
        for number, (place, _) in enumerate(places):
            if place - last < _PASSAGE_TERMS // 2:
                continue
            last = place
            seen: dict[str, float] = {}
            for other, term in places[number:]:
                if other - place > _PASSAGE_TERMS:
                    break
                seen[term] = self._rarities.get(term, 0.0)
            best = max(best, self._sum(seen))
        return best

    def _pairs(self, *texts: _Places) -> float:
        """Weigh the terms that stand next to each other as in the query: an identifier, a name."""
        following = self._following
        seen: set[str] = set()
        for places in texts:
            for (place, term), (next_place, next_term) in pairwise(places):
                # The last character of a run without spaces stands between two words.
                if next_place <= place + 2 and following.get(term, ("",))[0] == next_term:
                    seen.add(term)
        return sum(
            (self._rarities.get(term, 0.0) + self._rarities.get(following[term][0], 0.0)) * following[term][1]
            for term in seen
        )

    def _weight(self, document: Document, terms: frozenset[str]) -> float:
        weight = _ROLE_WEIGHTS.get(document.role, 1.0)
        if document.origin is Origin.SUMMARY:
            return _SUMMARY_WEIGHT
        if document.role == self._author:
            weight *= _AUTHOR_WEIGHTS.get(self._author, 1.0)
        if self._asks_when and says_when(terms):
            weight *= _WHEN_WEIGHT
        is_output = document.origin is Origin.TOOL_OUTPUT and document.role == "tool"
        if self._asks_for_failure and is_output and tells_failure("\n".join(document.texts)[:_READ_CHARS]):
            weight *= _FAILURE_WEIGHT
        return weight
