"""The notes of a summary as a reader takes them: sections by headings, entries with the messages they name.

Nothing here asks the code that writes notes: a heading is read by its words, an entry by its bullet.
"""

import re
from collections.abc import Iterator, Sequence
from enum import StrEnum

from midfold.late_dataclasses import dataclass

_HEADING = re.compile(r"^(#{2,3}) +(\S[^\n]*)$")
_BULLET = re.compile(r"^(?:[-*+•–]|\d{1,4}[.)])\s+")
_FENCE = re.compile(r"^<<<.{0,80}>>>$")
# `[12]`, `[12, 14]`, `[12–14]`, and the same with a word on who said it: `[12 project]`.
_REFERENCE = re.compile(
    r"(?<![\w\])\"'])\[(\d{1,7}(?:\s?[-–,]\s?(?:…,\s)?\d{1,7}){0,400})(?:[\s,:·][^\]\d][^\]\n]{0,40})?\]"
)
_LONGEST_RANGE = 1_000


class NoteKind(StrEnum):
    """The claim that a section makes about its entries."""

    RULE = "rule"
    """it holds for later work, and a person or the project set it"""
    BLOCKED = "blocked"
    """it is broken"""
    PENDING = "pending"
    """a person asked for it, and nobody took it up"""
    GOAL = "goal"
    """a person wants it"""
    OPEN = "open"
    """it is under way, or still to be done"""
    OTHER = "other"
    APPARATUS = "apparatus"
    """about the notes themselves"""


# The first that fits. Names of a third level are read only where they are exactly one of these.
_KINDS: tuple[tuple[NoteKind, re.Pattern[str]], ...] = (
    (NoteKind.APPARATUS, re.compile(r"folded messages|message numbers", re.IGNORECASE)),
    (NoteKind.RULE, re.compile(r"\b(?:constraints?|preferences?|rules?)\b", re.IGNORECASE)),
    (NoteKind.BLOCKED, re.compile(r"\b(?:blocked|blockers?|broken|failing)\b", re.IGNORECASE)),
    (
        NoteKind.PENDING,
        re.compile(r"\b(?:pending|unanswered)\b|\bopen (?:asks|requests|questions)\b", re.IGNORECASE),
    ),
    (NoteKind.GOAL, re.compile(r"\b(?:goals?|active task|task context)\b", re.IGNORECASE)),
    (
        NoteKind.OPEN,
        re.compile(r"\b(?:in progress|remaining|next steps?|open work|to-?dos?)\b", re.IGNORECASE),
    ),
)


@dataclass(frozen=True, slots=True)
class NoteEntry:
    """One entry of the notes."""

    kind: NoteKind
    heading: str
    text: str
    """without its bullet, and without the numbers at its beginning"""
    references: tuple[int, ...]
    """the messages that it names, in its order"""


def read_notes(summary: str, count: int) -> list[NoteEntry]:
    """Read the entries of a summary, in order; sections about the notes themselves have none.

    `count` is the number of messages: brackets with a larger number name none.
    """
    return [
        _make_entry(kind, heading, text, count)
        for kind, heading, lines in _split_sections(summary)
        for text in _split_entries(lines)
        if kind is not NoteKind.APPARATUS
    ]


def name_kind(heading: str) -> NoteKind:
    """Tell a section's kind by the words of its heading."""
    return next((kind for kind, words in _KINDS if words.search(heading)), NoteKind.OTHER)


def read_references(text: str, count: int) -> tuple[int, ...]:
    """Return the numbers of messages that a text names in brackets, each once."""
    named: dict[int, None] = {}
    for match in _REFERENCE.finditer(text):
        ranges = [
            [int(number) for number in re.split("[-–]", piece)]
            for piece in match[1].replace("…,", "").split(",")
        ]
        if all(bounds[-1] < count and bounds[-1] - bounds[0] < _LONGEST_RANGE for bounds in ranges):
            for bounds in ranges:
                named.update(dict.fromkeys(range(bounds[0], bounds[-1] + 1)))
    return tuple(named)


def _split_sections(summary: str) -> Iterator[tuple[NoteKind, str, list[str]]]:
    """Yield the sections; what stands before the first heading is the frame of the notes."""
    kind, heading, lines = NoteKind.APPARATUS, "", list[str]()
    for line in summary.split("\n"):
        found = _HEADING.match(line)
        is_section = found is not None and (found[1] == "##" or _is_known(found[2]))
        if is_section or _FENCE.match(line):
            yield kind, heading, lines
            heading = found[2] if found else ""
            kind, lines = name_kind(heading) if heading else NoteKind.APPARATUS, []
        else:
            lines.append(line)
    yield kind, heading, lines


def _is_known(name: str) -> bool:
    return any(words.fullmatch(name.strip()) for _, words in _KINDS) or name.strip().casefold() == "done"


def _split_entries(lines: Sequence[str]) -> list[str]:
    """Split a section at its bullets.

    A message that is quoted in full may have bullets of its own. So where entries name messages, only a line
    that names one begins an entry, and a section that begins without a bullet is one entry.
    """
    first = next((line for line in lines if line.strip()), "")
    are_numbered = any(_BULLET.match(line) and _REFERENCE.search(line) for line in lines)
    entries: list[list[str]] = [[]]
    for line in lines:
        begins = _REFERENCE.search(line) if are_numbered else _BULLET.match(first)
        if begins and _BULLET.match(line):
            entries.append([])
        entries[-1].append(line)
    texts = ["\n".join(entry).strip() for entry in entries]
    return [text for text in texts if text]


def _make_entry(kind: NoteKind, heading: str, text: str, count: int) -> NoteEntry:
    said = _BULLET.sub("", text, count=1)
    references = read_references(said, count)
    while (leading := _REFERENCE.match(said)) is not None:
        said = said[leading.end() :].lstrip(" :·")
    return NoteEntry(kind, heading, said, references)
