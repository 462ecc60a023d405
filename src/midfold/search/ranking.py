"""One ranking for all that is searched: what is in memory, what a store holds, what was offloaded.

A collection says which documents have a term; that chooses some dozens of them, which are then read and
compared: rarity of words, how often and how close together they stand, length, who said it, and what was said
right before and after, since an answer seldom repeats its question. The weights were chosen on labelled
queries over agents' sessions in five languages; see docs/search.md for what they reach.
"""

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping

from midfold.search.documents import Collected, Document, Origin, Ranked
from midfold.search.outlines import CHOSEN_BY_LENGTH, Outlines
from midfold.search.query import Query
from midfold.search.query_hints import Ordinal
from midfold.search.scoring import Asked, Reading
from midfold.search.weights import estimate

COMPARED = 64
"""So many documents are read to answer a query."""

_RECENCY = 0.05
_ORDINAL = {Ordinal.EARLY: 0.25, Ordinal.LATE: 0.25}
_SHORT_TERMS = 100
# What was said right before and right after counts for a short document. A model says again what it was told,
# and the output of a tool is known by its call.
_NEAR = {"user": (0.6, 0.6), "tool": (0.7, 0.12), "assistant": (0.2, 0.1)}
_NEAR_OTHERS = (0.5, 0.2)
# In a chat without tools two people talk: each answers what the other one just said, and goes on with what
# they said themselves before that.
_NEAR_IN_CHAT = (0.5, 0.2)
_OWN_BEFORE_IN_CHAT = 0.3
# Where a model works with tools, it says what it found when it calls none. A chat without any has only words.
_CONCLUSION_WEIGHT = 1.5
# Who asks about a person in a chat asks for what that person said.
_NAMED_SPEAKER_WEIGHT = 1.35
_ALIKE = 0.7
_LEAST_ALIKE_TERMS = 8


def rank(
    query: Query, collected: Collected, limit: int = 5, *, within: Collection[int] | None = None
) -> list[Ranked]:
    """Return the documents that answer a query best; `within` are those that may, where it has operators."""
    if not query.keys or limit <= 0:
        return []
    outlines = Outlines(query, collected, within)
    asked = Asked(query, outlines.rarities)
    readings: dict[int, Reading] = {}
    documents: dict[int, Document] = {}
    count = max(COMPARED, limit)  # the order of the first does not hang on how many are shown
    chosen = outlines.choose(count if query.asks else max(count, CHOSEN_BY_LENGTH))
    # What an operator requires is known when a document was read, so more may have to be.
    for first in range(0, len(chosen), 2 * count):
        some = collected.read(chosen[first : first + 2 * count])
        documents |= some
        for number, document in some.items():
            reading = asked.read(document, outlines.weigh(number))
            if reading is not None:
                readings[number] = reading
        if len(readings) >= limit:
            break
    found = list(_compare(asked, outlines, collected, readings, documents))
    found.sort(key=lambda each: (-each.score, -each.number))
    kept = _once(found, documents)
    return (_alike_last(kept, readings, limit) if query.asks else kept)[:limit]


def _compare(
    asked: Asked,
    outlines: Outlines,
    collected: Collected,
    readings: Mapping[int, Reading],
    documents: Mapping[int, Document],
) -> Iterator[Ranked]:
    near = collected.neighbours(readings) if asked.asks else {}
    works = any(document.carried for document in documents.values())
    befores = {before for before, _ in near.values() if before is not None}
    # Of several that say the same, each lends to the next; that must not hide the first.
    earlier = {} if works or asked.ordinal is not Ordinal.ANY else collected.neighbours(befores)
    pairs = (*near.values(), *earlier.values())
    unread = {each for pair in pairs for each in pair if each is not None and each not in readings}
    lengths = collected.lengths([number for number in unread if outlines.weigh(number)])

    def worth(number: int | None) -> float:
        if number is None or (number in documents and documents[number].role == "system"):
            return 0.0
        reading = readings.get(number)
        return reading.own if reading else estimate(outlines.weigh(number), lengths.get(number, 0))

    for place, number in enumerate(sorted(readings)):
        reading, document = readings[number], documents[number]
        before, after = near.get(number, (None, None))
        before_share, after_share = _near_shares(document) if works else _NEAR_IN_CHAT
        near_by = before_share * worth(before) + after_share * worth(after)
        if before is not None and before in earlier:
            near_by += _OWN_BEFORE_IN_CHAT * worth(earlier[before][0])
        near_by *= _SHORT_TERMS
        score = (reading.own + near_by / (_SHORT_TERMS + reading.distinct)) * reading.weight
        if works and document.role == "assistant" and not document.carried:
            score *= _CONCLUSION_WEIGHT
        if not works and reading.is_by_named:
            score *= _NAMED_SPEAKER_WEIGHT
        if score:
            yield Ranked(number, score * _time_weight(asked.ordinal, place / len(readings)))


def _time_weight(asked: Ordinal, part: float) -> float:
    """Weigh a document by how far it is in time; of two that say the same the newer one is told first."""
    return 1 + _RECENCY * part + _ORDINAL.get(asked, 0.0) * (1 - part if asked is Ordinal.EARLY else part)


def _near_shares(document: Document) -> tuple[float, float]:
    speaker = "tool" if document.origin is Origin.TOOL_OUTPUT and document.role != "user" else document.role
    return _NEAR.get(speaker, _NEAR_OTHERS)


def _once(found: Iterable[Ranked], documents: Mapping[int, Document]) -> list[Ranked]:
    """Leave out what says again what a better one says."""
    seen: set[Hashable] = set()
    kept = []
    for each in found:
        identity = documents[each.number].identity
        if identity is None or identity not in seen:
            kept.append(each)
            seen.add(identity)
    return kept


def _alike_last(found: list[Ranked], readings: Mapping[int, Reading], limit: int) -> list[Ranked]:
    """Put behind the others what says nearly the same as a better one: versions of a plan, of a list."""
    kept: list[Ranked] = []
    alike: list[Ranked] = []
    for each in found:
        if len(kept) == limit:
            break
        terms = readings[each.number].terms
        is_alike = len(terms) >= _LEAST_ALIKE_TERMS and any(
            _are_alike(terms, readings[better.number].terms) for better in kept
        )
        (alike if is_alike else kept).append(each)
    return kept + alike


def _are_alike(terms: frozenset[str], others: frozenset[str]) -> bool:
    """Whether most of all terms of two texts are in both."""
    few, many = sorted((len(terms), len(others)))
    if few < _ALIKE * many:
        return False
    common = len(terms & others)
    return common >= _ALIKE * (few + many - common)
