"""What a digest can say: entries under headings, each a head that may grow by units while there is room.

Everything is quoted from the conversation, nothing is paraphrased. An entry is one line: what is said about a
call, a file or a message stands together with it.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum

from midfold.summaries.sections import Template, quote_headings

MUST = 1e6
"""The weight of what is kept before anything else."""
SEPARATOR = " · "
LABEL = re.compile(r"^\[(\d{1,9}(?:, \d{1,9})*)\] ?")
"""the numbers of the messages an entry begins with"""
CHANGED_MARK = " (changed): "
PIN_LABEL = "[pinned] "
"""what a rule that was pinned by hand begins with"""
FILE_USES = re.compile(r"(?: \(changed\))?: (?:[^\s,\[]{1,80} \[[\d, ]{1,80}\](?:, )?){1,20}$")
"""which tools used a file, and in which messages"""
_SHOWN_INDICES = 6


class EntryKind(StrEnum):
    """What an entry is about, which decides its heading."""

    REQUEST = "request"
    RULE = "rule"
    ACTION = "deed"
    CHANGED = "changed file"
    DOING = "step under way"
    BROKEN = "open failure"
    WORDS = "words"
    OPEN_REQUEST = "open request"
    READ = "read file"
    STEP = "step to come"
    EARLIER = "earlier"


RULES_HEADING = "Constraints & Preferences"
"""What stands under it was put there by code, in every template."""
NOTED_HEADING = "Constraints & Preferences (noted)"
"""What a model wrote under that heading."""
NOTES_HEADING = "Notes"
"""What a model wrote without a heading."""
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
    },
}


REQUEST_HEADINGS = frozenset(
    names[kind] for names in KIND_HEADINGS.values() for kind in (EntryKind.REQUEST, EntryKind.OPEN_REQUEST)
)
"""Where the user's messages are quoted, line breaks and all."""
_ACTION = re.compile(r"\[[\d, ]{1,80}\] [^\s:]{1,80}(?::|$)")


@dataclass(slots=True)
class Unit:
    """One more piece of an entry, word for word."""

    text: str
    weight: float
    index: int | None = None
    """the message it comes from, where the entry has several"""


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

    @property
    def subject(self) -> str:
        """What the entry is about, without the numbers of messages."""
        bare = LABEL.sub("", self.head.removeprefix(PIN_LABEL))
        return FILE_USES.sub("", bare) if self.kind in (EntryKind.CHANGED, EntryKind.READ) else bare

    def render(self, chosen: Iterable[Unit]) -> str:
        """Write the entry as one line; a unit from another message than the one before it says which."""
        pieces = [self.head]
        index = None
        for unit in chosen:
            # A unit is one line: what a tool printed must not be able to write sections of its own.
            text = " ".join(unit.text.splitlines())
            pieces.append(text if unit.index in (None, index) else f"[{unit.index}] {text}")
            index = unit.index
        return quote_headings(f"{'- ' if self.is_bullet else ''}{SEPARATOR.join(pieces)}")


def cost(text: str) -> int:
    """Guess what a text takes, in bytes: a token is three to four of them in any script."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def format_indices(indices: Iterable[int]) -> str:
    """Name messages: the first and the newest ones where there are many."""
    numbers = list(dict.fromkeys(indices))
    if len(numbers) > _SHOWN_INDICES:
        numbers = [numbers[0], *numbers[-_SHOWN_INDICES + 1 :]]
    return f"[{', '.join(map(str, numbers))}]"


def kind_of_item(heading: str, head: str) -> EntryKind:
    """Tell what an item of an earlier summary is about, whatever the template was and whoever wrote it."""
    if heading == NOTED_HEADING:
        return EntryKind.EARLIER
    kinds = [kind for names in KIND_HEADINGS.values() for kind, name in names.items() if name == heading]
    if FILE_USES.search(head):
        return EntryKind.CHANGED if CHANGED_MARK in head else EntryKind.READ
    if EntryKind.ACTION in kinds and _ACTION.match(head):
        return EntryKind.ACTION
    return kinds[0] if kinds else EntryKind.EARLIER
