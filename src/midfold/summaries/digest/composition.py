"""Turns a ledger into entries, and says how much each weighs.

What a thing weighs by its kind is multiplied by factors around one: newer things weigh more, and so do those
still in use and those still broken.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from midfold.messages import Message, Text, ToolCall, ToolResult
from midfold.summaries.digest.entries import (
    CHANGED_MARK,
    MUST,
    PIN_LABEL,
    Entry,
    Kind,
    Unit,
    cost,
    spell_indices,
)
from midfold.summaries.ledger.files import find_names
from midfold.summaries.ledger.values import Act, Deed, Ledger, Rule, Saying
from midfold.summaries.ledger.words import Words

# What things are worth, relative to one another: a line of output is about one.
_REQUEST_PER_BYTE, _RULING_REQUEST_PER_BYTE = 1.0, 3.0
_RULE_IN_REQUEST_WORTH = 30.0
_REQUEST_LINE_WORTH = 4.0
_STEP_WORTH = 20.0
_DEED_WORTH = 16.0
_FAILED_DEED_WORTH = 18.0
_PLAN_WORTH = 3.0
_CHANGED_FILE_WORTH = MUST / 100
_READ_FILE_WORTH = 9.0
_DETAIL_WORTH = 3.0
_PLAN_DETAIL_WORTH = 0.6
_STATUS_WORTH = 6.0
_FAILURE_WORTHS = (12.0, 8.0, 5.0, 3.0, 2.0)
_FIRST_SENTENCE_WORTH = 3.0
_SENTENCE_WORTH = 2.0
_READ_LINE_FACTOR = 0.6
"""what a file says can be read again"""
_CONTENT_WORTH, _LATER_CONTENT_WORTH = 1.5, 0.8
_FIRST_CONTENT_LINES = 3

_DETAILS_IN_HEAD_CHARS = 160
_FULL_DETAIL_CHARS = 12
_MOST_SENTENCES = 24
_FINISHED = ("completed", "done", "cancelled", "canceled")
_FILE_KINDS = ("read", "edit", "write", "")

_OLDEST, _NEWEST = 0.85, 1.15
_IN_USE = 1.35
"""for what the messages that stay speak of"""
_BROKEN = 1.4
_MENDED = 0.9
_DECIDED = 1.6
_SHORTEST_NAME = 5
_TEXT_CHARS = 40_000


@dataclass(frozen=True, slots=True)
class Importance:
    """What the rest of a conversation says about the worth of one thing in it."""

    newest: int = 1
    in_use: frozenset[str] = field(default_factory=frozenset)
    """names that occur in the messages that stay"""
    broken: frozenset[int] = field(default_factory=frozenset)
    """messages with a call that failed and was not mended"""
    mended: frozenset[int] = field(default_factory=frozenset)

    def of_deed(self, deed: Deed) -> float:
        factor = self._recency(deed.index)
        if not self.in_use.isdisjoint(deed.act.names):
            factor *= _IN_USE
        if deed.index in self.broken:
            factor *= _BROKEN
        return factor * (_MENDED if deed.index in self.mended else 1.0)

    def of_words(self, index: int, *, decides: bool) -> float:
        return self._recency(index) * (_DECIDED if decides else 1.0)

    def _recency(self, index: int) -> float:
        return _OLDEST + (_NEWEST - _OLDEST) * min(1.0, index / max(self.newest, 1))


def weigh(ledger: Ledger, kept: Iterable[Message], newest: int) -> Importance:
    """Look at what stays in the context, and at how things ended."""
    return Importance(
        newest=newest,
        in_use=frozenset(name for message in kept for name in _names_in(message)),
        broken=frozenset(ledger.deeds[place].index for place in ledger.open_failures),
        mended=frozenset(ledger.deeds[place].index for place in ledger.fixes),
    )


def compose(ledger: Ledger, *, pins: Sequence[Rule], importance: Importance, most_lines: int) -> list[Entry]:
    """Write down everything a digest of this ledger could say."""
    writer = _Writer(ledger, importance, most_lines)
    return [
        *(_pin(number, rule) for number, rule in enumerate(pins)),
        *_requests(ledger, {rule.text for rule in pins}),
        *writer.words(),
        *_steps(ledger),
        *writer.deeds(),
    ]


def _pin(number: int, rule: Rule) -> Entry:
    if rule.index is None:
        return Entry(Kind.RULE, number - MUST, f"{PIN_LABEL}{rule.text}", MUST)
    return Entry(Kind.RULE, rule.index, f"[{rule.index}] {rule.text}", MUST)


def _requests(ledger: Ledger, said: set[str]) -> Iterator[Entry]:
    """Quote what the user said: a short message whole, a long one by its start, its rules, its lines."""
    rules: dict[int | None, list[str]] = {}
    for rule in ledger.rules:
        rules.setdefault(rule.index, []).append(rule.text)
    for saying in ledger.sayings:
        if saying.role != "user" or saying.text in said:
            continue
        said.add(saying.text)
        kind = Kind.ASK if saying.index in ledger.asks else Kind.REQUEST
        opening = saying.text[: saying.words.opening_chars]
        head = f"[{saying.index}] {opening.strip()}"
        units = _request_units(saying.words, rules.get(saying.index, []), said)
        per_byte = _RULING_REQUEST_PER_BYTE if saying.index in rules else _REQUEST_PER_BYTE
        yield Entry(kind, saying.index, head, cost(head) * per_byte, units)


def _request_units(words: Words, found: Sequence[str], said: set[str]) -> list[Unit]:
    """Quote what follows the opening of a request: the rules it sets, then its lines."""
    rest = words.text[words.opening_chars :] if found else ""
    rules = [rule for rule in found if rule not in said and rule in rest]
    return [
        *(Unit(rule, _RULE_IN_REQUEST_WORTH) for rule in rules),
        *(
            Unit(line, _REQUEST_LINE_WORTH * tells)
            for line, tells in words.lines
            if line not in said and line not in rules
        ),
    ]


def _steps(ledger: Ledger) -> Iterator[Entry]:
    for step in ledger.steps:
        if step.state not in _FINISHED:
            kind = Kind.DOING if step.state.startswith("in") else Kind.STEP
            yield Entry(kind, step.index, f"[{step.index}] {step.text}", _STEP_WORTH)


@dataclass(slots=True)
class _Writer:
    """Writes entries about words and deeds; a line that was offered once says nothing a second time."""

    ledger: Ledger
    importance: Importance
    most_lines: int
    seen: set[str] = field(default_factory=set)
    factors: list[float] = field(default_factory=list)
    """how much each deed matters beside what it is"""

    def words(self) -> Iterator[Entry]:
        """Quote the model: the first sentence leads, the others follow by what they say."""
        for saying in self.ledger.sayings:
            news = [] if saying.role == "user" else self._news(saying)
            if news:
                plain, decisive = (self.importance.of_words(saying.index, decides=it) for it in (False, True))
                worths = [tells * (decisive if decides else plain) for _, tells, decides in news]
                units = [
                    Unit(text, _SENTENCE_WORTH * worth)
                    for (text, _, _), worth in zip(news[1:], worths[1:], strict=True)
                ]
                head = f"[{saying.index}] {news[0][0]}"
                yield Entry(Kind.WORDS, saying.index, head, _FIRST_SENTENCE_WORTH * worths[0], units)

    def deeds(self) -> Iterator[Entry]:
        """Join deeds with one aim, and all that happened to one file."""
        self.factors = [self.importance.of_deed(deed) for deed in self.ledger.deeds]
        runs: dict[str, list[int]] = {}
        files: dict[str, list[int]] = {}
        for place, deed in enumerate(self.ledger.deeds):
            for path in (*deed.act.changes, *deed.act.reads):
                files.setdefault(path, []).append(place)
            if not _is_about_files(deed.act):
                runs.setdefault(deed.act.aim, []).append(place)
        yield from (self._run(places) for places in runs.values())
        yield from (self._file(path, places) for path, places in files.items())

    def _news(self, saying: Saying) -> list[tuple[str, float, bool]]:
        """Return the sentences of a saying that nobody said before."""
        news = [each for each in saying.words.sentences if each[0] not in self.seen]
        self.seen.update([text for text, _, _ in news])
        return news[:_MOST_SENTENCES]

    def _run(self, places: Sequence[int]) -> Entry:
        deeds = [self.ledger.deeds[place] for place in places]
        first = deeds[0].act
        head, units = _introduce(first, [deed.index for deed in deeds])
        for place in places:
            units += self._outcome(place)
        worth = _FAILED_DEED_WORTH if any(deed.act.has_failed for deed in deeds) else _DEED_WORTH
        worth = _PLAN_WORTH if first.kind == "plan" else worth
        kind = Kind.BROKEN if places[-1] in self.ledger.open_failures else Kind.DEED
        return Entry(kind, deeds[0].index, head, worth * self.factors[places[-1]], units)

    def _file(self, path: str, places: Sequence[int]) -> Entry:
        deeds = [self.ledger.deeds[place] for place in places]
        uses: dict[str, list[int]] = {}
        for deed in deeds:
            uses.setdefault(deed.act.tool, []).append(deed.index)
        said = ", ".join([f"{tool} {spell_indices(indices)}" for tool, indices in uses.items()])
        about = [place for place in places if _is_about_files(self.ledger.deeds[place].act)]
        units = [unit for place in about for unit in self._outcome(place)]
        if any(path in deed.act.changes for deed in deeds):
            kind, worth, mark = Kind.CHANGED, _CHANGED_FILE_WORTH, CHANGED_MARK
        else:
            kind, worth, mark = Kind.READ, _READ_FILE_WORTH, ": "
        worth *= self.factors[places[-1]]
        return Entry(kind, deeds[0].index, f"{path}{mark}{said}", worth, units)

    def _outcome(self, place: int) -> list[Unit]:
        """Say how a deed ended, what went wrong, what it printed, and what it was given at length."""
        deed, factor = self.ledger.deeds[place], self.factors[place]
        act, answered, units = deed.act, deed.answered, []
        if act.status and (act.has_failed or not act.status.rstrip(">)]").endswith(" 0")):
            units.append(Unit(act.status, _STATUS_WORTH, answered))
        for number, failure in enumerate(act.failures[: len(_FAILURE_WORTHS)]):
            if number == 0 or failure not in self.seen:
                self.seen.add(failure)
                units.append(Unit(failure, _FAILURE_WORTHS[number] * factor, answered))
        factor *= _READ_LINE_FACTOR if act.kind == "read" else 1.0
        for line, tells in act.lines(self.most_lines, self.seen):
            if line not in self.seen:
                self.seen.add(line)
                units.append(Unit(line, tells * factor, answered))
        for number, (line, tells) in enumerate(act.content_lines(self.most_lines)):
            if line not in self.seen:
                self.seen.add(line)
                worth = _CONTENT_WORTH if number < _FIRST_CONTENT_LINES else _LATER_CONTENT_WORTH
                units.append(Unit(line, worth * tells * factor, deed.index))
        return units


def _is_about_files(act: Act) -> bool:
    return bool(act.changes or act.reads) and act.kind in _FILE_KINDS


def _introduce(act: Act, indices: Sequence[int]) -> tuple[str, list[Unit]]:
    """Name a call by what it is about; a call without a subject by its arguments, where these are short."""
    name = f"{spell_indices(indices)} {act.tool}"
    details = ", ".join(act.details)
    if act.subject:
        return f"{name}: {act.subject}", [Unit(each, _detail_worth(act, each)) for each in act.details]
    if len(details) <= _DETAILS_IN_HEAD_CHARS:
        return f"{name}: {details}" if details else name, []
    return name, [Unit(each, 2 * _detail_worth(act, each)) for each in act.details]


def _detail_worth(act: Act, detail: str) -> float:
    """Plans repeat themselves, and a flag says less than a name."""
    value = detail.partition("=")[2]
    worth = _PLAN_DETAIL_WORTH if act.kind == "plan" else _DETAIL_WORTH
    return worth * min(1.0, len(value) / _FULL_DETAIL_CHARS)


def _names_in(message: Message) -> Iterable[str]:
    """Yield the names of files and other things in a message, but for the shortest."""
    for part in message.parts:
        if isinstance(part, Text | ToolResult):
            text = part.text[:_TEXT_CHARS]
        elif isinstance(part, ToolCall):
            text = part.arguments[:_TEXT_CHARS]
        else:
            continue
        yield from (name for name in find_names(text) if len(name) >= _SHORTEST_NAME)
