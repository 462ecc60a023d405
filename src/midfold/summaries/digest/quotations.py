"""Entries of words: what a model said, sentence by sentence, and which of it still holds.

A model's last words of a turn say what was found, decided and done. What later ones say about the same
matter is the state of things, so of two sentences about one matter the later is never left out before the
earlier.
"""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from midfold.provenance import Author
from midfold.summaries.digest.entries import AGENT_LABEL, TOLD_LABEL, DigestEntry, EntryKind, Unit, cost
from midfold.summaries.digest.factors import WeightFactors
from midfold.summaries.ledger.values import Ledger, Statement
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
_WORD = re.compile(r"[^\W\d_\u2e80-\uffff]{4,}|\d{2,}|[\u2e80-\u9fff\uac00-\ud7af]{2}")

_NOT_QUOTED = (Author.PERSON, Author.PROJECT, Author.HOST, Author.TOOL)
"""a person is quoted as such, and what clients and files say again is not worth quoting"""
_SPEAKERS = {Author.AGENT: AGENT_LABEL, Author.SUMMARY: "(an earlier summary) "}


def quote_words(ledger: Ledger, factors: WeightFactors, seen: set[str]) -> list[DigestEntry]:
    """Quote the model and whoever speaks in its place; sentences that were `seen` say nothing again."""
    standings = find_standings(ledger)
    entries = []
    told = []
    for statement in ledger.statements:
        if statement.author not in _NOT_QUOTED and (news := _find_news(statement, seen)):
            entries.append(_quote(statement, news, factors, standings.get(statement.index, 1.0)))
            if statement.is_final:
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
        if statement.is_final:
            names = set(find_names(statement.text[:_TEXT_CHARS]))
            said_again = len(names & named) / max(len(names), 1)
            standings[statement.index] = 1.0 - (1.0 - _OVERTAKEN) * said_again
            named |= names
    return standings


def pair_matters(turns: Sequence[Sequence[Unit]]) -> None:
    """Let a sentence weigh, for its size, as much as an earlier one about the same matter, and a little more.

    Where only one of them has room, it is the later. Both meet in the middle.
    """
    words = [[_read_words(unit.text) for unit in units] for units in turns]
    usual = _find_usual(words)
    words = [[found - usual for found in sentences] for sentences in words]
    for at, sentences in enumerate(words):
        for unit, said in zip(turns[at], sentences, strict=True):
            if len(said) >= _LEAST_SHARED:
                following = range(at + 1, min(at + 1 + _LATER_TURNS, len(turns)))
                later = _find_later(
                    said, (pair for turn in following for pair in zip(turns[turn], words[turn], strict=True))
                )
                if later is not None:
                    _level(unit, later)


def _sentences_of(
    turns: Sequence[Sequence[Unit]], words: Sequence[Sequence[frozenset[str]]], start: int
) -> Iterator[tuple[Unit, frozenset[str]]]:
    for turn in range(start, min(start + _LATER_TURNS, len(turns))):
        yield from zip(turns[turn], words[turn], strict=True)


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
    heaviest = max(map(_density, earlier))
    most = max(_density(best), (heaviest * _density(best)) ** 0.5)
    best.weight = most * cost(best.text)
    for unit in earlier:
        unit.weight = min(unit.weight, most / _LATER_LEAD * cost(unit.text))


def _density(unit: Unit) -> float:
    return unit.weight / cost(unit.text)


def _find_later(said: frozenset[str], following: Iterable[tuple[Unit, frozenset[str]]]) -> Unit | None:
    """Return the last sentence that speaks of the same matter."""
    least = max(_LEAST_SHARED, len(said) * _SAME_MATTER)
    found = None
    for unit, words in following:
        if len(said & words) >= least:
            found = unit
    return found


def _level(earlier: Unit, later: Unit) -> None:
    if _density(later) < _density(earlier) * _LATER_LEAD:
        middle = (_density(earlier) * _density(later)) ** 0.5
        earlier.weight = middle * cost(earlier.text)
        later.weight = middle * cost(later.text) * _LATER_LEAD


def _read_words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.lower()))


def _find_usual(turns: Sequence[Sequence[frozenset[str]]]) -> frozenset[str]:
    """Return the words that stand in so many turns that they tell no matter apart."""
    if len(turns) < _LEAST_TURNS:
        return frozenset()
    counts = Counter(word for sentences in turns for word in frozenset().union(*sentences))
    return frozenset(word for word, count in counts.items() if count > len(turns) * _USUAL_PART)


def _find_news(statement: Statement, seen: set[str]) -> list[tuple[str, float, bool]]:
    """Return the sentences of a statement that nobody said before; of very many, the heaviest."""
    news = [each for each in statement.words.sentences if each[0] not in seen]
    seen.update([text for text, _, _ in news])
    most = _MOST_SENTENCES * (_SUMMARY_FACTOR if statement.author is Author.SUMMARY else 1)
    if len(news) <= most:
        return news
    least = sorted((weight for _, weight, _ in news), reverse=True)[most - 1]
    return [each for each in news if each[1] >= least][: 2 * most]


def _quote(
    statement: Statement, news: Sequence[tuple[str, float, bool]], factors: WeightFactors, standing: float
) -> DigestEntry:
    index, is_final = statement.index, statement.is_final
    by_kind = [factors.of_words(index, decides=it, is_final=is_final) for it in (False, True)]
    weights = [weight * by_kind[decides] * standing for _, weight, decides in news]
    units = [
        Unit(text, _SENTENCE_WEIGHT * weight, is_conclusion=is_final or decides)
        for (text, _, decides), weight in zip(news, weights, strict=True)
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
