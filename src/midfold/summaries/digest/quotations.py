"""Entries of words: what a model said, sentence by sentence, and which of it still holds.

A model's last words of a turn say what was found, decided and done. What later ones say about the same
matter is the state of things, so of two sentences about one matter the later is never left out before the
earlier.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from itertools import accumulate
from typing import TypeAlias

from midfold.late_dataclasses import dataclass
from midfold.provenance import Author
from midfold.summaries.digest.entries import (
    AGENT_LABEL,
    TOLD_LABEL,
    DigestEntry,
    EntryKind,
    Trait,
    Unit,
    cost,
)
from midfold.summaries.digest.factors import WeightFactors
from midfold.summaries.ledger.open_failures import claimed_aims
from midfold.summaries.ledger.sentences import Tone, announces, count_words, names_something
from midfold.summaries.ledger.values import Ledger, Statement
from midfold.summaries.phrases import matter_words
from midfold.summaries.tool_calls.output import find_names

_FIRST_SENTENCE_WEIGHT = 1.5
_SENTENCE_WEIGHT = 2.0
_MOST_SENTENCES = 24
_SUMMARY_FACTOR = 5
"""somebody's summary stands for many messages"""

_OVERTAKEN = 0.5
"""for words of which later ones name everything"""
_TEXT_CHARS = 40_000

_LATER_TURNS = 6
"""the turns after a sentence in which the matter may come up again"""
_SAME_MATTER = 0.5
"""of a sentence's words, the part that another about the same matter has"""
_LEAST_SHARED = 2
_USUAL_PART = 0.3
"""of all turns: a word in more of them tells no matter apart"""
_LEAST_TURNS = 8
_LATER_LEAD = 1.02

_TONES = {
    Tone.STATES: 1.0,
    Tone.ANNOUNCES: 0.0,
    Tone.ASKS: 0.0,
    Tone.DOUBTS: 0.3,
    Tone.WAITS: 0.0,
    Tone.SHOWS: 0.0,
}
"""what a sentence weighs once the talk went on: a question was answered, a guess and a wait are over"""
_LEAST_WORDS, _FULL_WORDS = 4, 10
_ANNOUNCED_ITEM = 0.3
_CONCLUDING = 0.6
"""So much of a sentence must be new for a conclusion."""
_TOLD_TONES = {Tone.DOUBTS: 0.7, Tone.ANNOUNCES: 1.0, Tone.SHOWS: 0.6}
"""where this is different for the last words of a turn"""
_REFUTED = 0.1
"""for the word that all is well with something that failed since"""
_CUT_OFF = (":", "：")

_NOT_QUOTED = (Author.PERSON, Author.PROJECT, Author.HOST, Author.TOOL)
"""a person is quoted as such, and what clients and files say again is not worth quoting"""
_SPEAKERS = {Author.AGENT: AGENT_LABEL, Author.SUMMARY: "(an earlier summary) "}


WeighFreshness: TypeAlias = Callable[[int, Statement, Sequence[str]], list[float]]
"""Says of each sentence of a statement, by its ordinal, how much of it is new."""


def quote_words(
    ledger: Ledger, factors: WeightFactors, seen: set[str], weigh_freshness: WeighFreshness
) -> list[DigestEntry]:
    """Quote the model and whoever speaks in its place; sentences that were `seen` say nothing again."""
    standings, turns = find_standings(ledger), _Turns.of(ledger)
    entries = []
    told = []
    for ordinal, statement in enumerate(ledger.statements):
        news = [] if statement.author in _NOT_QUOTED else _find_news(statement, seen)
        fresh = weigh_freshness(ordinal, statement, [each[0] for each in news])
        if news:
            tones = _weigh_tones(statement, news, ledger, is_over=turns.are_over(statement))
            tones = [tone * part for tone, part in zip(tones, fresh, strict=True)]
            entries.append(_quote(statement, news, tones, factors, standings.get(statement.index, 1.0)))
            if statement.is_told:
                told.append(entries[-1])
    pair_matters([entry.units for entry in told])
    _pair_files(told, ledger)
    return entries


def find_standings(ledger: Ledger) -> dict[int, float]:
    """Say how much the last words of each turn still hold: less, the more they name what later ones name."""
    after = ledger.after.statements if ledger.after else ()
    standings: dict[int, float] = {}
    named: set[str] = set()
    for statement in reversed((*ledger.statements, *after)):
        if statement.is_told:
            names = set(find_names(statement.text[:_TEXT_CHARS]))
            said_again = len(names & named) / max(len(names), 1)
            standings[statement.index] = 1.0 - (1.0 - _OVERTAKEN) * said_again
            named |= names
    return standings


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


def _pair_files(told: Sequence[DigestEntry], ledger: Ledger) -> None:
    """Let the last words of a turn that changed the same files again have room before earlier ones."""
    files: list[set[str]] = [set() for _ in told]
    starts = [entry.order for entry in told]
    for action in ledger.actions:
        turn = bisect_left(starts, action.index)
        if turn < len(files) and action.run.has_changed:
            files[turn].update(action.run.changes)
    for turn in range(len(told) - 1, -1, -1):
        later = [
            other
            for other in range(turn + 1, min(turn + 1 + _LATER_TURNS, len(told)))
            if files[turn] and 2 * len(files[turn] & files[other]) >= len(files[turn])
        ]
        if later:
            _let_pass(told[turn].units, told[later[-1]].units)


def _let_pass(earlier: Sequence[Unit], later: Sequence[Unit]) -> None:
    """Give no sentence of `earlier` more weight for its size than the best of `later` has."""
    best = max(later, key=_density)
    if not best.weight:
        return
    heaviest = max(map(_density, earlier))
    most = max(_density(best), (heaviest * _density(best)) ** 0.5)
    best.weight = most * cost(best.text)
    for unit in earlier:
        unit.weight = min(unit.weight, most / _LATER_LEAD * cost(unit.text))


def _density(unit: Unit) -> float:
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
    if _density(later) < _density(earlier) * _LATER_LEAD:
        middle = (_density(earlier) * _density(later)) ** 0.5
        earlier.weight = middle * cost(earlier.text)
        later.weight = middle * cost(later.text) * _LATER_LEAD


def _find_usual(turns: Sequence[Sequence[frozenset[str]]]) -> frozenset[str]:
    """Return the words that stand in so many turns that they tell no matter apart."""
    if len(turns) < _LEAST_TURNS:
        return frozenset()
    counts = Counter(word for sentences in turns for word in frozenset().union(*sentences))
    return frozenset(word for word, count in counts.items() if count > len(turns) * _USUAL_PART)


_News: TypeAlias = tuple[str, float, bool, Tone, str]
"""a sentence, its weight, whether it decides, what it does, and its lead"""


def _find_news(statement: Statement, seen: set[str]) -> list[_News]:
    """Return the sentences of a statement that nobody said before; of very many, the heaviest."""
    news = [each for each in statement.words.sentences if each[0] not in seen]
    seen.update([each[0] for each in news])
    most = _MOST_SENTENCES * (_SUMMARY_FACTOR if statement.author is Author.SUMMARY else 1)
    if len(news) <= most:
        return news
    least = sorted((each[1] for each in news), reverse=True)[most - 1]
    return [each for each in news if each[1] >= least][: 2 * most]


@dataclass(frozen=True, slots=True)
class _Turns:
    """The newest words of a person and the newest last words of a turn: what was before them is over."""

    asked: int
    told: int

    @classmethod
    def of(cls, ledger: Ledger) -> "_Turns":
        said = (*ledger.statements, *(ledger.after.statements if ledger.after else ()))
        return cls(
            max((each.index for each in said if each.author is Author.PERSON), default=-1),
            max((each.index for each in said if each.is_told), default=-1),
        )

    def are_over(self, statement: Statement) -> bool:
        """Whether what a statement asks or waits for has come."""
        return statement.index < (self.asked if statement.is_told else max(self.asked, self.told))


def _weigh_tones(
    statement: Statement, news: Sequence[_News], ledger: Ledger, *, is_over: bool
) -> list[float]:
    """Say how much each sentence still tells now that the talk went on."""
    if statement.author is not Author.MODEL:
        return [1.0] * len(news)
    tones = {**_TONES, **_TOLD_TONES} if statement.is_told else _TONES
    if not is_over:
        tones = {**tones, Tone.WAITS: 1.0, Tone.ASKS: tones[Tone.DOUBTS]}
    leads = {each[-1] for each in news}
    factors = [0.0 if _opens(each, leads, is_final=statement.is_told) else tones[each[3]] for each in news]
    if not statement.is_told:
        factors = [_weigh_aside(each) * factor for each, factor in zip(news, factors, strict=True)]
    failed = ledger.course.failed_aims
    if statement.index not in ledger.course.claiming or max(failed.values(), default=-1) < statement.index:
        return factors
    for at, each in enumerate(news):
        if any(failed.get(aim, -1) > statement.index for aim in claimed_aims(each[0])):
            factors[at] *= _REFUTED
    return factors


def _weigh_aside(news: _News) -> float:
    """Lower what is said on the way if it is hardly a sentence, or an item of what is only announced."""
    if _is_idle(news[0]):
        return 0.0
    lead = news[-1].rstrip("".join(_CUT_OFF))
    return _ANNOUNCED_ITEM if lead and announces(lead) else 1.0


def _is_idle(sentence: str) -> bool:
    """Whether a sentence on the way is too short to say what was found, and claims nothing."""
    return (
        count_words(sentence) < _LEAST_WORDS and not names_something(sentence) and not claimed_aims(sentence)
    )


def _opens(news: _News, leads: Collection[str], *, is_final: bool) -> bool:
    """Whether a sentence only opens what follows: items that are quoted with it, or a call."""
    bare = news[0].strip("#*_ ")
    if not bare.endswith(_CUT_OFF):
        return False
    is_quoted = any(lead and bare.endswith(lead) for lead in leads)
    return is_quoted or not (is_final or _finds(bare, news[3]))


def _finds(sentence: str, tone: Tone) -> bool:
    """Whether a sentence before a block of code says in full what was found."""
    return tone is Tone.STATES and names_something(sentence) and count_words(sentence) >= _FULL_WORDS


def _quote(
    statement: Statement,
    news: Sequence[_News],
    tones: Sequence[float],
    factors: WeightFactors,
    standing: float,
) -> DigestEntry:
    index, is_final = statement.index, statement.is_told
    trait = Trait.OTHER if is_final else Trait.ASIDE
    trait = trait if statement.author is Author.MODEL else Trait.REPORTED
    by_kind = [factors.of_words(index, decides=it, is_final=is_final) for it in (False, True)]
    weights = [each[1] * by_kind[each[2]] * standing * tone for each, tone in zip(news, tones, strict=True)]
    units = [
        Unit(
            text,
            _SENTENCE_WEIGHT * weight,
            is_conclusion=tone is Tone.STATES and (is_final or (decides and part >= _CONCLUDING)),
            lead=lead,
            trait=trait,
        )
        for (text, _, decides, tone, lead), weight, part in zip(news, weights, tones, strict=True)
    ]
    speaker = TOLD_LABEL if is_final else _SPEAKERS.get(statement.author, "")
    head = f"[{index}] {speaker}".rstrip()
    if statement.author is not Author.SUMMARY:
        return DigestEntry(EntryKind.WORDS, index, head, 0.0, units)
    first = units.pop(0)
    return DigestEntry(
        EntryKind.EARLIER,
        index,
        f"{head} {first.text}",
        _FIRST_SENTENCE_WEIGHT * weights[0],
        units,
        is_conclusion=first.is_conclusion,
    )
