"""Turns a ledger into entries, and says what each is worth."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from midfold.compression.digest.entries import (
    CHANGED_MARK,
    MUST,
    PIN_LABEL,
    Entry,
    Kind,
    Unit,
    cost,
    spell_indices,
)
from midfold.compression.digest.lines import tell, tell_prose, telling_lines
from midfold.compression.importance import Importance
from midfold.compression.ledger import Deed, Ledger, Rule, Saying

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

_WHOLE_REQUEST_CHARS = 1_500
_REQUEST_START_CHARS = 700
_MOST_REQUEST_LINES = 200
_DETAILS_IN_HEAD_CHARS = 160
_FULL_DETAIL_CHARS = 12
_SENTENCE_CHARS = 320
_SHORTEST_SENTENCE_CHARS = 4
_MOST_SENTENCES = 24
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n+")
_FINISHED = ("completed", "done", "cancelled", "canceled")
_FILE_KINDS = ("read", "edit", "write", "")


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
        start, rest = _split_request(saying.text)
        head = f"[{saying.index}] {start}"
        units = _request_units(rest, rules.get(saying.index, []), said)
        per_byte = _RULING_REQUEST_PER_BYTE if saying.index in rules else _REQUEST_PER_BYTE
        yield Entry(kind, saying.index, head, cost(head) * per_byte, units)


def _split_request(text: str) -> tuple[str, str]:
    if len(text) <= _WHOLE_REQUEST_CHARS:
        return text, ""
    stop = max(text.rfind("\n", 0, _REQUEST_START_CHARS), _REQUEST_START_CHARS // 2)
    return text[:stop].strip(), text[stop:]


def _request_units(rest: str, found: Sequence[str], said: set[str]) -> list[Unit]:
    rules = [rule for rule in found if rule not in said and rule in rest]
    lines = [line.strip() for line in rest.split("\n")[:_MOST_REQUEST_LINES]]
    known = {*rules, *said, ""}
    return [
        *(Unit(rule, _RULE_IN_REQUEST_WORTH) for rule in rules),
        *(Unit(line, _REQUEST_LINE_WORTH * tell(line)) for line in lines if line not in known),
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

    def words(self) -> Iterator[Entry]:
        """Quote the model: the first sentence leads, the others follow by what they say."""
        for saying in self.ledger.sayings:
            sentences = [] if saying.role == "user" else self._sentences(saying)
            if not sentences:
                continue
            worths = [
                tell_prose(sentence) * self.importance.of_words(saying, sentence) for sentence in sentences
            ]
            head = f"[{saying.index}] {sentences[0]}"
            units = [
                Unit(sentence, _SENTENCE_WORTH * worth)
                for sentence, worth in zip(sentences[1:], worths[1:], strict=True)
            ]
            yield Entry(Kind.WORDS, saying.index, head, _FIRST_SENTENCE_WORTH * worths[0], units)

    def deeds(self) -> Iterator[Entry]:
        """Join deeds with one aim, and all that happened to one file."""
        runs: dict[str, list[int]] = {}
        files: dict[str, list[int]] = {}
        for place, deed in enumerate(self.ledger.deeds):
            for path in (*deed.changes, *deed.reads):
                files.setdefault(path, []).append(place)
            if not _is_about_files(deed):
                runs.setdefault(deed.aim, []).append(place)
        yield from (self._run(places) for places in runs.values())
        yield from (self._file(path, places) for path, places in files.items())

    def _sentences(self, saying: Saying) -> list[str]:
        pieces = (piece.strip()[:_SENTENCE_CHARS] for piece in _SENTENCE_END.split(saying.text))
        news = [
            piece
            for piece in dict.fromkeys(pieces)
            if len(piece) >= _SHORTEST_SENTENCE_CHARS and piece not in self.seen
        ]
        self.seen.update(news)
        return news[:_MOST_SENTENCES]

    def _run(self, places: Sequence[int]) -> Entry:
        deeds = [self.ledger.deeds[place] for place in places]
        first = deeds[0]
        head, details = _introduce(first, [deed.index for deed in deeds])
        units = [*details, *(unit for deed in deeds for unit in self._outcome(deed))]
        worth = _FAILED_DEED_WORTH if any(deed.has_failed for deed in deeds) else _DEED_WORTH
        worth = _PLAN_WORTH if first.kind == "plan" else worth
        kind = Kind.BROKEN if places[-1] in self.ledger.open_failures else Kind.DEED
        return Entry(kind, first.index, head, worth * self.importance.of_deed(deeds[-1]), units)

    def _file(self, path: str, places: Sequence[int]) -> Entry:
        deeds = [self.ledger.deeds[place] for place in places]
        uses: dict[str, list[int]] = {}
        for deed in deeds:
            uses.setdefault(deed.tool, []).append(deed.index)
        said = ", ".join(f"{tool} {spell_indices(indices)}" for tool, indices in uses.items())
        units = [unit for deed in deeds if _is_about_files(deed) for unit in self._outcome(deed)]
        if any(path in deed.changes for deed in deeds):
            kind, worth, mark = Kind.CHANGED, _CHANGED_FILE_WORTH, CHANGED_MARK
        else:
            kind, worth, mark = Kind.READ, _READ_FILE_WORTH, ": "
        worth *= self.importance.of_deed(deeds[-1])
        return Entry(kind, deeds[0].index, f"{path}{mark}{said}", worth, units)

    def _outcome(self, deed: Deed) -> Iterator[Unit]:
        """Say how a deed ended, what went wrong, what it printed, and what it was given at length."""
        factor = self.importance.of_deed(deed)
        if deed.status and (deed.has_failed or not deed.status.rstrip(">)]").endswith(" 0")):
            yield Unit(deed.status, _STATUS_WORTH, deed.answered)
        for number, failure in enumerate(deed.failures[: len(_FAILURE_WORTHS)]):
            if number == 0 or failure not in self.seen:
                self.seen.add(failure)
                yield Unit(failure, _FAILURE_WORTHS[number] * factor, deed.answered)
        factor *= _READ_LINE_FACTOR if deed.kind == "read" else 1.0
        for unit in telling_lines(deed.output, self.most_lines, self.seen):
            yield Unit(unit.text, unit.worth * factor, deed.answered)
        for number, line in enumerate(deed.content[: self.most_lines]):
            if line not in self.seen:
                self.seen.add(line)
                worth = _CONTENT_WORTH if number < _FIRST_CONTENT_LINES else _LATER_CONTENT_WORTH
                yield Unit(line, worth * tell(line) * factor, deed.index)


def _is_about_files(deed: Deed) -> bool:
    return bool(deed.changes or deed.reads) and deed.kind in _FILE_KINDS


def _introduce(deed: Deed, indices: Sequence[int]) -> tuple[str, list[Unit]]:
    """Name a call by what it is about; a call without a subject by its arguments, where these are short."""
    name = f"{spell_indices(indices)} {deed.tool}"
    details = ", ".join(deed.details)
    if deed.subject:
        return f"{name}: {deed.subject}", [Unit(each, _detail_worth(deed, each)) for each in deed.details]
    if len(details) <= _DETAILS_IN_HEAD_CHARS:
        return f"{name}: {details}" if details else name, []
    return name, [Unit(each, 2 * _detail_worth(deed, each)) for each in deed.details]


def _detail_worth(deed: Deed, detail: str) -> float:
    """Plans repeat themselves, and a flag says less than a name."""
    value = detail.partition("=")[2]
    worth = _PLAN_DETAIL_WORTH if deed.kind == "plan" else _DETAIL_WORTH
    return worth * min(1.0, len(value) / _FULL_DETAIL_CHARS)
