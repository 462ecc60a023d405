"""The entries of a digest: each a head that may grow by units.

Everything is quoted from the conversation, nothing is paraphrased. An entry is one line: what is said about a
call, a file or a message stands together with it.
"""

import re
from collections.abc import Iterable, Sequence
from enum import StrEnum

from midfold.late_dataclasses import dataclass, field
from midfold.late_patterns import compile_late
from midfold.settings import Template
from midfold.summaries.sections import NOTED, as_noted, quote_headings

MUST = 1e6
"""The weight of what is kept before anything else."""
SEPARATOR, OUTCOME = " · ", " — "
"""what parts the pieces of an entry, and what stands before the first that a result gave"""
_BREAK = compile_late(r" · | — (?=\[\d{1,9}\] )")
LABEL = compile_late(r"^\[(\d{1,9}(?:, (?:\d{1,9}|…))*)\] ?")
"""the numbers of the messages an entry begins with"""
PIN_LABEL = "[pinned] "
"""what a rule that was pinned by hand begins with"""
TOLD_LABEL = "told: "
"""what the words begin with that the model ended a turn with"""
AGENT_LABEL = "(another agent) "
"""what the words of another agent begin with"""
BARE = compile_late(r"\[\d{1,9}(?:, \d{1,9})*\](?: told:| \(another agent\))?")
"""the head of a quotation: the number of its message, and whose words they are"""
FILE_USES = compile_late(
    r"(?: \((?:changed|not changed|deleted|reverted|stashed|moved to [^()\n]{1,300})\))?"
    r": (?:[^\s,\[]{1,80} \[[\d, …]{1,80}\](?:, )?){1,20}$"
)
"""which tools used a file, and in which messages"""
SETTLED = compile_late(
    r" \((?:refused(?: at \[\d{1,9}\])?|failed(?: at \[\d{1,9}\])?"
    r"(?:, (?:overcome|settled(?: by \[\d{1,9}\])?|(?:said to be settled|superseded) at \[\d{1,9}\]))?)\)$"
)
"""what the head of a failure ends with, or ended with in older notes"""
NOT_CHANGED = " (not changed)"
"""what stands behind a file that somebody tried to change in vain"""
OUTCOME_OF_WORDS = " → changed "
"""what stands between words and the files that were changed because of them"""
_OUTCOME_AT_END = compile_late(r" → changed ([^→\n]{1,300} \[[\d, ]{1,80}\])$")
_SHOWN_INDICES = 6


class EntryKind(StrEnum):
    """The subject of an entry, which decides its heading."""

    REQUEST = "request"
    ANSWERED = "answered request"
    RULE = "rule"
    ACTION = "action"
    CHANGED = "changed file"
    DOING = "step under way"
    BROKEN = "open failure"
    WORDS = "words"
    OPEN_REQUEST = "open request"
    READ = "read file"
    STEP = "step to come"
    EARLIER = "earlier"
    NAMES = "names"


RULES_HEADING = "Constraints & Preferences"
"""Code wrote the lines under this heading, in every template."""
ANSWERED_HEADING = "Earlier Requests"
"""Code quotes requests under this heading whose work has ended, in every template."""
NOTES_HEADING = "Notes"
"""A model wrote these lines without a heading."""
LOOKED = "looked: "
NAMES_HEADING, NAME_SEPARATOR = "Names in Use", ", "
"""Code lists names under this heading, in every template."""
KIND_HEADINGS: dict[Template, dict[EntryKind, str]] = {
    Template.HANDOFF: {
        EntryKind.REQUEST: "Goal",
        EntryKind.RULE: RULES_HEADING,
        EntryKind.ACTION: "Completed Actions",
        EntryKind.CHANGED: "Active State",
        EntryKind.DOING: "In Progress",
        EntryKind.BROKEN: "Blocked",
        EntryKind.WORDS: "Key Decisions",
        EntryKind.OPEN_REQUEST: "Pending User Asks",
        EntryKind.READ: "Relevant Files",
        EntryKind.STEP: "Remaining Work",
        EntryKind.EARLIER: "Critical Context",
        EntryKind.ANSWERED: ANSWERED_HEADING,
        EntryKind.NAMES: NAMES_HEADING,
    },
    Template.PROGRESS: {
        EntryKind.REQUEST: "Goal",
        EntryKind.RULE: RULES_HEADING,
        EntryKind.ACTION: "Progress",
        EntryKind.DOING: "Progress",
        EntryKind.BROKEN: "Progress",
        EntryKind.WORDS: "Key Decisions",
        EntryKind.CHANGED: "Relevant Files",
        EntryKind.READ: "Relevant Files",
        EntryKind.OPEN_REQUEST: "Next Steps",
        EntryKind.STEP: "Next Steps",
        EntryKind.EARLIER: "Critical Context",
        EntryKind.ANSWERED: ANSWERED_HEADING,
        EntryKind.NAMES: NAMES_HEADING,
    },
    Template.BRIEF: {
        EntryKind.REQUEST: "Task Context",
        EntryKind.RULE: RULES_HEADING,
        EntryKind.ACTION: "Task Context",
        EntryKind.BROKEN: "Task Context",
        EntryKind.EARLIER: "Task Context",
        EntryKind.WORDS: "Key Decisions Resolved",
        EntryKind.CHANGED: "Active Files",
        EntryKind.READ: "Active Files",
        EntryKind.OPEN_REQUEST: "Pending Questions",
        EntryKind.DOING: "Remaining Work",
        EntryKind.STEP: "Remaining Work",
        EntryKind.ANSWERED: ANSWERED_HEADING,
        EntryKind.NAMES: NAMES_HEADING,
    },
}


REQUEST_KINDS = (EntryKind.REQUEST, EntryKind.OPEN_REQUEST, EntryKind.ANSWERED)
REQUEST_HEADINGS = frozenset(names[kind] for names in KIND_HEADINGS.values() for kind in REQUEST_KINDS)
"""Where the user's messages are quoted, line breaks and all."""
_CODED_HEADINGS = frozenset(
    names[kind] for names in KIND_HEADINGS.values() for kind in (*REQUEST_KINDS, EntryKind.RULE)
)  # under these, code quotes people and the project's files
_ACTION = compile_late(r"\[[\d, …]{1,80}\] [^\s:]{1,80}(?::|$)")


_OUTCOME_KINDS = (EntryKind.ACTION, EntryKind.BROKEN)


class Trait(StrEnum):
    """What a piece of the notes is, as far as learnt weights tell pieces apart."""

    OTHER = "other"
    ACTION = "action"
    LOOK = "look"
    READ_FILE = "read_file"
    CAUSE = "cause"
    REPORTED = "reported"
    ASIDE = "aside"
    NAME = "name"


@dataclass(slots=True)
class Unit:
    """One more piece of an entry, word for word."""

    text: str
    weight: float
    index: int | None = None
    """the message it comes from, where the entry has several"""
    is_conclusion: bool = False
    """it says what was found, decided, told or measured last"""
    lead: str = ""
    """the line above it that says what it is an item of"""
    trait: Trait = Trait.OTHER


@dataclass(slots=True)
class DigestEntry:
    """One line of a digest."""

    kind: EntryKind
    order: float
    """where it stands in the conversation"""
    head: str
    weight: float
    units: list[Unit] = field(default_factory=list)
    is_bullet: bool = True
    """false for a line of an earlier summary that was none"""
    is_conclusion: bool = False
    """its head says what was found, decided, told or measured last"""
    is_look: bool = False
    """it is an action that only looked"""
    outcome: str = ""
    """of words: the files that were changed because of them, and where"""

    @property
    def is_quotation(self) -> bool:
        """Whether its head only says whose words follow: all that it says are its units."""
        return self.kind is EntryKind.WORDS and BARE.fullmatch(self.head) is not None

    @property
    def trait(self) -> Trait:
        """Return what its head is."""
        if self.kind is EntryKind.READ:
            return Trait.READ_FILE
        if self.kind is EntryKind.ACTION and SETTLED.search(self.head) is None:
            return Trait.LOOK if self.is_look else Trait.ACTION
        return Trait.OTHER

    @property
    def subject(self) -> str:
        """The subject of the entry, without the numbers of messages."""
        bare = SETTLED.sub("", LABEL.sub("", self.head.removeprefix(PIN_LABEL)))
        return FILE_USES.sub("", bare) if self.kind in (EntryKind.CHANGED, EntryKind.READ) else bare

    def _own_number(self) -> int | None:
        """Return the message that an action stands in, where it is one: what comes from it needs no label."""
        label = LABEL.match(self.head) if self.kind in _OUTCOME_KINDS else None
        return int(label[1]) if label and label[1].isdigit() else None

    def render(self, chosen: Iterable[Unit]) -> str:
        """Write the entry as one line; a unit from another message than the one before it says which."""
        if self.kind is EntryKind.NAMES:
            return f"- {self.head} {NAME_SEPARATOR.join([unit.text for unit in chosen])}"
        pieces, lead = [self.head], ""
        index = own = self._own_number()
        for unit in chosen:
            # A unit is one line: what a tool printed must not be able to write sections of its own.
            text = " ".join(unit.text.splitlines())
            if unit.lead != lead and unit.lead not in pieces[-1]:
                text = f"{unit.lead} {text}"
            lead = unit.lead
            is_labelled = unit.index not in (None, index)
            text = f"[{unit.index}] {text}" if is_labelled else text
            if is_labelled and index == own and self.kind in _OUTCOME_KINDS:
                pieces[-1] += f"{OUTCOME}{text}"
            else:
                pieces.append(text)
            index = unit.index
        if self.is_quotation and len(pieces) > 1:
            pieces[:2] = [f"{self.head} {pieces[1]}"]
        pieces[-1] += f"{OUTCOME_OF_WORDS}{self.outcome}" if self.outcome else ""
        return quote_headings(f"{'- ' if self.is_bullet else ''}{SEPARATOR.join(pieces)}")


def split_outcome(item: str) -> tuple[str, str]:
    """Part a quotation from the changes that came of it."""
    found = _OUTCOME_AT_END.search(item)
    return (item[: found.start()], found[1]) if found else (item, "")


def split_item(item: str) -> list[str]:
    """Part an item of the notes into its head and its pieces."""
    return _BREAK.split(item)


def join_looks(heads: Sequence[str]) -> str:
    """Write in one line what was looked at without anything to tell of it."""
    looks = []
    for head in heads:
        label = LABEL.match(head)
        subject = head[label.end() :].partition(": ")[2] if label else ""
        looks.append(f"{label[0]}{subject}" if label and subject else head)
    first = LABEL.match(looks[0])
    start = f"{first[0]}{LOOKED}{looks[0][first.end() :]}" if first else f"{LOOKED}{looks[0]}"
    return f"- {SEPARATOR.join([start, *looks[1:]])}"


def answered_at(index: int) -> str:
    """Write behind a request which message ended the work on it."""
    return f" (answered at [{index}])"


def cancelled_at(index: int) -> str:
    """Write behind a request which message marks that the work on it was stopped."""
    return f" (cancelled at [{index}])"


def cost(text: str) -> int:
    """Guess what a text takes, in bytes: a token is three to four of them in any script."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def format_indices(indices: Iterable[int]) -> str:
    """Name messages: the first and the newest ones where there are many."""
    numbers = list(dict.fromkeys(indices))
    if len(numbers) > _SHOWN_INDICES:
        newest = ", ".join(map(str, numbers[-_SHOWN_INDICES + 1 :]))
        return f"[{numbers[0]}, …, {newest}]"
    return f"[{', '.join(map(str, numbers))}]"


def note_heading(heading: str) -> str:
    """Return the heading for what somebody else than our code says under one that code writes."""
    return as_noted(heading) if heading in _CODED_HEADINGS else heading


def kind_of_item(heading: str, head: str) -> EntryKind:
    """Name the kind of an item of an earlier summary, whatever its template and its author."""
    if heading.endswith(NOTED):
        return EntryKind.EARLIER
    kinds = [kind for names in KIND_HEADINGS.values() for kind, name in names.items() if name == heading]
    uses = FILE_USES.search(head)
    if uses is not None:
        is_changed = uses[0].startswith(" (") and not uses[0].startswith(NOT_CHANGED)
        return EntryKind.CHANGED if is_changed else EntryKind.READ
    if EntryKind.ACTION in kinds and _ACTION.match(head):
        return EntryKind.ACTION
    return kinds[0] if kinds else EntryKind.EARLIER


_FOCUS = 8.0
_SHORTEST_TOPIC_WORD = 3


def focus_on(entries: Sequence[DigestEntry], topic: str) -> Sequence[DigestEntry]:
    """Raise the weight of what speaks of a topic, so that it gets most of the room."""
    said = topic.casefold()
    words = [word for word in said.split() if len(word) >= _SHORTEST_TOPIC_WORD] or [said]
    search = re.compile("|".join(map(re.escape, words))).search
    for entry in entries:
        is_named = search(entry.head.casefold()) is not None
        entry.weight *= _FOCUS if is_named else 1.0
        for unit in entry.units:
            if is_named or search(unit.text.casefold()):
                unit.weight *= _FOCUS
    return entries
