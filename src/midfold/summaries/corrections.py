"""Corrections of a summary by its user: what they struck, changed and added stands from then on.

They are written into the summary itself, under a heading that only code writes. So they travel with the
conversation, are folded with it and undone with it, whoever keeps the list. A correction holds for what was
said before it: words that come later count again.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import StrEnum
from functools import cached_property

from midfold.late_dataclasses import dataclass, field, replace
from midfold.late_patterns import compile_late
from midfold.summaries.digest.entries import (
    FILE_USES,
    LABEL,
    PIN_LABEL,
    DigestEntry,
    EntryKind,
    kind_of_item,
    split_item,
)
from midfold.summaries.ledger.values import Rule
from midfold.summaries.sections import (
    CORRECTIONS_HEADING,
    TASK_HEADING,
    join_sections,
    quote_headings,
    split_sections,
)

STRUCK_WORDS = "[struck by the user]"
LEAD = (
    "The user corrected these notes. What is struck does not hold, what is corrected or added does, whatever"
    " else they say:"
)
_MOST_TARGET_CHARS = 300
_CUT = "…"
_INSTEAD = " (instead of: "
_LINE = compile_late(r"- \[(\d{1,9})\] (struck|corrected|added)(?: \(note (\d{1,6})\))?: (.+)")
_BULLET = compile_late(r"^\s{0,12}(?:[-*+•]|\d{1,3}[.)])\s+")
_NUMBERS = compile_late(r"\[(\d{1,9}(?:, (?:\d{1,9}|…))*)\]")
_LEAST_QUOTED_CHARS = 20
"""Shorter words may stand in a sentence that is about something else."""
_PROSE = (
    EntryKind.REQUEST,
    EntryKind.OPEN_REQUEST,
    EntryKind.ANSWERED,
    EntryKind.WORDS,
    EntryKind.EARLIER,
)
"""Entries that quote sentences; a command or a path that contains another one is something else."""


class CorrectionKind(StrEnum):
    """The ways to correct an entry."""

    STRUCK = "struck"
    CHANGED = "corrected"
    ADDED = "added"


@dataclass(frozen=True, slots=True)
class Correction:
    """One correction. `at` is the number of the message it was made before."""

    kind: CorrectionKind
    text: str
    """what holds; of a struck entry, what does not"""
    at: int
    instead: str = ""
    """what a changed entry said"""
    note: int | None = None
    """the number of the entry among the notes that it was made in; the next fold numbers them anew"""

    @property
    def target(self) -> str:
        """The words that no longer hold; none where nothing was taken away."""
        return self.text if self.kind is CorrectionKind.STRUCK else self.instead

    def render(self) -> str:
        """Write it as a line of a summary."""
        note = "" if self.note is None else f" (note {self.note})"
        instead = f"{_INSTEAD}{self.instead})" if self.instead else ""
        return f"- [{self.at}] {self.kind}{note}: {quote_headings(self.text)}{instead}"


def shorten_target(text: str) -> str:
    """Write words that are struck on one line, as much of them as tells them from others."""
    words = " ".join(text.split()).replace(_INSTEAD.strip(), "")
    return words if len(words) <= _MOST_TARGET_CHARS else words[:_MOST_TARGET_CHARS] + _CUT


def read_corrections(body: str) -> tuple[Correction, ...]:
    """Read the corrections that a summary tells of."""
    said = split_sections(body).get(CORRECTIONS_HEADING, "")
    return tuple(_read(found) for line in said.split("\n") if (found := _LINE.fullmatch(line.strip())))


def _read(found: re.Match[str]) -> Correction:
    kind, text, instead = CorrectionKind(found[2]), found[4], ""
    if kind is CorrectionKind.CHANGED and text.endswith(")") and _INSTEAD in text:
        text, _, instead = text[:-1].rpartition(_INSTEAD)
    return Correction(kind, text, int(found[1]), instead, int(found[3]) if found[3] else None)


def write_corrections(body: str, corrections: Sequence[Correction]) -> str:
    """Return a summary with these corrections after its task, instead of those that it told of."""
    sections = split_sections(body)
    sections.pop(CORRECTIONS_HEADING, None)
    if not corrections:
        return join_sections(sections)
    task = {name: sections.pop(name) for name in (TASK_HEADING,) if name in sections}
    lines = "\n".join([LEAD, *(each.render() for each in corrections)])
    return join_sections({**task, CORRECTIONS_HEADING: lines, **sections})


@dataclass(frozen=True)
class Corrections:
    """The corrections that a fold obeys: what they strike is not said again."""

    made: tuple[Correction, ...] = field(default=())

    @classmethod
    def read(cls, body: str) -> "Corrections":
        """Read those of an earlier summary; its numbers of notes end with it."""
        return cls(tuple(replace(each, note=None) for each in read_corrections(body)))

    def __bool__(self) -> bool:
        return bool(self.made)

    def write(self, body: str, *, count_text: Callable[[str], int], budget_tokens: int) -> str:
        """Put the corrections before a summary; where there is no room for all, the newest stay."""
        kept = list(self.made)
        while kept and count_text(write_corrections("", kept)) > budget_tokens:
            del kept[0]
        return write_corrections(body, kept)

    def strikes(self, text: str, numbers: Iterable[int] = ()) -> bool:
        """Whether these words, said in these messages, were taken back."""
        key, last = _normalize(text), max(numbers, default=-1)
        return any(target.matches(key) for target in self._targets if last < target.at)

    def filter_rules(self, rules: Iterable[Rule]) -> list[Rule]:
        """Leave out rules that were taken back."""
        return [
            rule for rule in rules if not self.strikes(rule.text, () if rule.index is None else (rule.index,))
        ]

    def filter_entries(self, entries: Iterable[DigestEntry]) -> list[DigestEntry]:
        """Leave out entries that were taken back, and what others quote of them."""
        if not self._targets:
            return list(entries)
        return [entry for entry in entries if self._clean_entry(entry)]

    def filter_facts(self, facts: Iterable[str]) -> list[str]:
        """Leave out facts that need not survive: they were taken back."""
        return [fact for fact in facts if not self.strikes(fact) and not self._quotes(fact)]

    def hide(self, heading: str, item: str) -> str:
        """Return an item of the notes without what was taken back; it keeps its place and its number."""
        head = split_item(item)[0]
        if self.strikes(find_subject(head), find_numbers(head)):
            label = LABEL.match(head)
            return f"{label[0].rstrip()} {STRUCK_WORDS}" if label else STRUCK_WORDS
        if kind_of_item(heading, head) in _PROSE:
            for quoted in filter(None, (each.quoted for each in self._targets)):
                item = quoted.sub(STRUCK_WORDS, item)
        return item

    def clean_words(self, body: str) -> str:
        """Leave out the lines of a model's summary that repeat what was taken back."""
        if not self.made:
            return body
        sections = split_sections(body)
        sections.pop(CORRECTIONS_HEADING, None)
        return join_sections({name: self._clean_lines(said) for name, said in sections.items()})

    @cached_property
    def _targets(self) -> tuple["_Target", ...]:
        return tuple(_Target.of(each) for each in self.made if each.target)

    def _clean_lines(self, text: str) -> str:
        lines = text.split("\n")
        return "\n".join(
            line for line in lines if not self.strikes(_BULLET.sub("", line)) and not self._quotes(line)
        )

    def _quotes(self, text: str) -> bool:
        return any(target.quoted and target.quoted.search(text) for target in self._targets)

    def _clean_entry(self, entry: DigestEntry) -> bool:
        numbers = list(find_numbers(entry.head))
        if entry.subject == STRUCK_WORDS or self.strikes(entry.subject, numbers):
            return False
        last = max(numbers, default=-1)
        if entry.kind not in _PROSE:
            return True
        for quoted in (each.quoted for each in self._targets if last < each.at):
            if quoted is not None:
                entry.head = quoted.sub(STRUCK_WORDS, entry.head)
                entry.units = [unit for unit in entry.units if not quoted.search(unit.text)]
        return True


@dataclass(frozen=True, slots=True)
class _Target:
    """Words that were taken back, in the form they are looked for in."""

    key: str
    is_cut: bool
    at: int
    quoted: re.Pattern[str] | None
    """finds them inside other words, where they are long enough to be known"""

    @classmethod
    def of(cls, correction: Correction) -> "_Target":
        is_cut = correction.target.endswith(_CUT)
        words = correction.target.removesuffix(_CUT)
        pattern = r"\s+".join(map(re.escape, words.split()))
        is_known = len(words) >= _LEAST_QUOTED_CHARS
        quoted = re.compile(pattern, re.IGNORECASE) if is_known else None
        return cls(_normalize(words), is_cut, correction.at, quoted)

    def matches(self, key: str) -> bool:
        """Whether these words are the ones, or a part of them that is long enough to be known."""
        if len(key) >= _LEAST_QUOTED_CHARS and key in self.key:
            return True
        return key.startswith(self.key) if self.is_cut else key == self.key


def find_numbers(item: str) -> Iterator[int]:
    """Yield the numbers of the messages that an entry names as its sources."""
    head, *units = split_item(item)
    uses = FILE_USES.search(head)
    labels = [found[1] for piece in (head, *units) if (found := LABEL.match(piece))]
    labels += _NUMBERS.findall(uses[0]) if uses else []
    for label in labels:
        yield from (int(number) for number in label.split(", ") if number.isdigit())


def find_subject(item: str) -> str:
    """Return what an entry is about: its head without the numbers of messages and the uses of a file."""
    bare = LABEL.sub("", split_item(item)[0].removeprefix(PIN_LABEL))
    return FILE_USES.sub("", bare)


def _normalize(text: str) -> str:
    return " ".join(LABEL.sub("", text.removeprefix(PIN_LABEL)).split()).casefold()
