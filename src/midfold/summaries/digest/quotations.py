"""Entries of words: what a model said, sentence by sentence, and which of it still holds.

A model's last words of a turn say what was found, decided and done. What later ones say about the same
matter is the state of things, so of two sentences about one matter the later is never left out before the
earlier.
"""

from bisect import bisect_left
from collections.abc import Callable, Collection, Container, Sequence
from typing import TypeAlias

from midfold.late_dataclasses import dataclass
from midfold.late_patterns import compile_late
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
from midfold.summaries.digest.matters import density, pair_matters, retire_older
from midfold.summaries.ledger.open_failures import claimed_aims
from midfold.summaries.ledger.sentences import (
    Tone,
    announces,
    count_words,
    depends,
    leans,
    names_something,
    relates,
    tells_what_comes,
    turns_back,
    weigh_sentence,
)
from midfold.summaries.ledger.values import Ledger, Statement
from midfold.summaries.ledger.welcomes import is_cheer, only_welcomes
from midfold.summaries.tool_calls.output import find_names

_JOINED_CHARS = 320
_FIRST_SENTENCE_WEIGHT = 1.5
_SENTENCE_WEIGHT = 2.0
_MOST_SENTENCES = 24
_SUMMARY_FACTOR = 5
"""somebody's summary stands for many messages"""

_OVERTAKEN = 0.5
"""for words of which later ones name everything"""
_TEXT_CHARS = 40_000

_LATER_TURNS = 6
"""the turns after a sentence in which its files may be changed again"""
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
_PLAIN_WORDS = 6
"""the same where nobody and nothing has a name"""
_TELLING_WORDS = 8
"""Fewer words that cheer, or that relate no names, tell little."""
_REASON = 1.5
"""for the last words before a change"""
_SHORT_ASIDE = 0.4
"""for a few words that relate no names: a model says so what it sees"""
_UNREPORTED = 1.3
"""for what was said on the way after the last report: nothing else tells of it"""
_LAST_THOUGHTS, _EARLIER_THOUGHT = 3, 0.5
"""Who thinks at length comes to the point at last; what a thought before the last ones weighs."""
_ANNOUNCED_ITEM = 0.3
_CONCLUDING = 0.6
"""So much of a sentence must be new for a conclusion."""
_TOLD_TONES = {Tone.DOUBTS: 0.7, Tone.ANNOUNCES: 1.0, Tone.SHOWS: 0.6}
"""where this is different for the last words of a turn"""
_TAKEN_BACK = 0.2
"""for what stands before a sentence that begins with "Actually" """
_FRAGMENT = 0.2
"""for half of what was said"""
_REFUTED = 0.1
"""for the word that all is well with something that failed since"""
_PROPER_NAME = compile_late(r"(?<=[^A-Za-z#*_-])[A-Z][a-z]{2,}")
_CUT_OFF = (":", "：")

_NOT_QUOTED = (Author.PERSON, Author.PROJECT, Author.HOST, Author.TOOL)
"""a person is quoted as such, and what clients and files say again is not worth quoting"""
_SPEAKERS = {Author.AGENT: AGENT_LABEL, Author.SUMMARY: "(an earlier summary) "}


WeighFreshness: TypeAlias = Callable[[int, Statement, Sequence[str]], list[float]]
"""Says of each sentence of a statement, by its ordinal, how much of it is new."""
FindOutcome: TypeAlias = Callable[[Statement, Container[int]], str]
"""Says what came of a statement on the way; beside the messages of those that only go on."""


def quote_words(
    ledger: Ledger,
    factors: WeightFactors,
    seen: set[str],
    weigh_freshness: WeighFreshness,
    find_outcome: FindOutcome,
) -> list[DigestEntry]:
    """Quote the model and whoever speaks in its place; sentences that were `seen` say nothing again."""
    standings, turns = find_standings(ledger), _Turns.of(ledger)
    entries = []
    told = []
    on_the_way: list[tuple[Statement, DigestEntry]] = []
    for ordinal, statement in enumerate(ledger.statements):
        news = [] if statement.author in _NOT_QUOTED else _find_news(statement, seen)
        fresh = weigh_freshness(ordinal, statement, [each[0] for each in news])
        if news:
            tones = _weigh_tones(statement, news, ledger, is_over=turns.are_over(statement))
            if turns.are_told_of_since(statement):
                tones = [0.0 if _is_over(each) else tone for each, tone in zip(news, tones, strict=True)]
            lead = 1.0 if statement.is_told or statement.index < turns.told else _UNREPORTED
            tones = [tone * part * lead for tone, part in zip(tones, fresh, strict=True)]
            entry = _quote(statement, news, tones, factors, standings.get(statement.index, 1.0))
            entries.append(entry)
            if statement.is_told:
                told.append(entry)
            elif statement.author is Author.MODEL:
                on_the_way.append((statement, entry))
    retire_older([entry.units for entry in entries], {id(entry.units) for _, entry in on_the_way})
    _tell_outcomes(on_the_way, find_outcome)
    pair_matters([entry.units for entry in told])
    _pair_files(told, ledger)
    return entries


def _tell_outcomes(on_the_way: Sequence[tuple[Statement, DigestEntry]], find_outcome: FindOutcome) -> None:
    """Say with what the model said on its way what it changed because of it."""
    says_something = {statement.index for statement, entry in on_the_way if any(map(_weighs, entry.units))}
    idle = {statement.index for statement, _ in on_the_way} - says_something
    for statement, entry in on_the_way:
        if statement.index in says_something:
            entry.outcome = find_outcome(statement, idle)
        if entry.outcome:
            _raise_reason(entry)


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
    best = max(later, key=density)
    if not best.weight:
        return
    heaviest = max(map(density, earlier))
    most = max(density(best), (heaviest * density(best)) ** 0.5)
    best.weight = most * cost(best.text)
    for unit in earlier:
        unit.weight = min(unit.weight, most / _LATER_LEAD * cost(unit.text))


def _raise_reason(entry: DigestEntry) -> None:
    """Let the words right before a change say why, though they add few words to what was said."""
    said = [unit for unit in entry.units if unit.weight > 0]
    for unit in said:
        unit.is_conclusion = True
    last = said[-1]
    last.weight = max(last.weight, _REASON * _SENTENCE_WEIGHT * weigh_sentence(last.text))


def _weighs(unit: Unit) -> bool:
    return unit.weight > 0


_News: TypeAlias = tuple[str, float, bool, Tone, str]
"""a sentence, its weight, whether it decides, what it does, and its lead"""


def _find_news(statement: Statement, seen: set[str]) -> list[_News]:
    """Return the sentences of a statement that nobody said before; of very many, the heaviest."""
    news = [each for each in statement.words.sentences if each[0] not in seen]
    seen.update([each[0] for each in news])
    if statement.author is Author.MODEL:
        news = _join_leaning(news)
    most = _MOST_SENTENCES * (_SUMMARY_FACTOR if statement.author is Author.SUMMARY else 1)
    if len(news) <= most:
        return news
    least = sorted((each[1] for each in news), reverse=True)[most - 1]
    return [each for each in news if each[1] >= least][: 2 * most]


def _join_leaning(news: Sequence[_News]) -> list[_News]:
    """Write a sentence that says little without the one before it together with that."""
    joined: list[_News] = []
    for each in news:
        before = joined[-1] if joined and leans(each[0]) else None
        is_whole = before is not None and _states(before) and _states(each)
        if before is not None and is_whole and len(before[0]) + len(each[0]) < _JOINED_CHARS:
            weight, tone = max(before[1], each[1]), max(before[3], each[3])
            joined[-1] = (f"{before[0]} {each[0]}", weight, before[2] or each[2], tone, "")
        else:
            joined.append(each)
    return joined


def _states(news: _News) -> bool:
    """Whether a sentence of prose states something, be it with a doubt."""
    return news[3] in (Tone.STATES, Tone.DOUBTS) and not news[-1]


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

    def are_told_of_since(self, statement: Statement) -> bool:
        """Whether a turn ended behind what a report or a summary says of the work to come."""
        is_report = statement.is_told or statement.author is Author.SUMMARY
        return is_report and statement.index < self.told

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
    factors = [_weigh_whole(each) * factor for each, factor in zip(news, factors, strict=True)]
    if not statement.is_told:
        taken_back = _turned_back(news)
        factors = _lower_first_thoughts(news, factors)
        factors = [
            _weigh_aside(each) * factor * (_TAKEN_BACK if at < taken_back else 1.0)
            for at, (each, factor) in enumerate(zip(news, factors, strict=True))
        ]
    failed = ledger.course.failed_aims
    if statement.index not in ledger.course.claiming or max(failed.values(), default=-1) < statement.index:
        return factors
    for at, each in enumerate(news):
        if any(failed.get(aim, -1) > statement.index for aim in claimed_aims(each[0])):
            factors[at] *= _REFUTED
    return factors


def _lower_first_thoughts(news: Sequence[_News], factors: Sequence[float]) -> list[float]:
    """Lower what comes before the last sentences that state something; items belong to what they list."""
    stating = [at for at, factor in enumerate(factors) if factor >= 1.0 and not news[at][-1]]
    first = set(stating[:-_LAST_THOUGHTS])
    return [factor * _EARLIER_THOUGHT if at in first else factor for at, factor in enumerate(factors)]


def _is_over(news: _News) -> bool:
    """Whether a sentence belongs to what was still to come, or to how things stood then."""
    return tells_what_comes(news[-1]) or tells_what_comes(news[0])


def _turned_back(news: Sequence[_News]) -> int:
    """Return how many sentences stand before one that takes back what was said."""
    return max((at for at, each in enumerate(news) if turns_back(each[0])), default=0)


def _weigh_aside(news: _News) -> float:
    """Lower what is said on the way if it is hardly a sentence, or an item of what is only announced."""
    if _is_idle(news[0]):
        return 0.0
    lead = news[-1].rstrip("".join(_CUT_OFF))
    factor = _ANNOUNCED_ITEM if lead and announces(lead) else 1.0
    is_short = count_words(news[0]) < _TELLING_WORDS and not claimed_aims(news[0])
    return factor * (_SHORT_ASIDE if is_short and not relates(news[0]) else 1.0)


def _is_idle(sentence: str) -> bool:
    """Whether a sentence on the way names nothing, claims nothing and is short, the more so if it cheers."""
    if only_welcomes(sentence):
        return True
    if names_something(sentence) or claimed_aims(sentence):
        return False
    if is_cheer(sentence):
        return count_words(sentence) < _TELLING_WORDS
    return count_words(sentence) < (_LEAST_WORDS if _PROPER_NAME.search(sentence) else _PLAIN_WORDS)


def _opens(news: _News, leads: Collection[str], *, is_final: bool) -> bool:
    """Whether a sentence only opens what follows: items that are quoted with it, or a call."""
    bare = news[0].strip("#*_ ")
    if not bare.endswith(_CUT_OFF):
        return False
    is_quoted = any(lead and bare.endswith(lead) for lead in leads)
    return is_quoted or not (is_final or _finds(bare, news[3]))


def _weigh_whole(news: _News) -> float:
    """Leave out a sentence, or an item, without the case that it holds in; lower one without its end."""
    if depends(news[0]) or depends(news[-1]):
        return 0.0
    return _FRAGMENT if news[0].endswith((",", "，", "、")) else 1.0


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
