"""The notes of a summary as a numbered list that a person can read and correct."""

from collections.abc import Sequence
from typing import assert_never

from midfold.errors import ConfigError, NoteNotFound
from midfold.late_dataclasses import dataclass
from midfold.summaries.corrections import (
    Correction,
    CorrectionKind,
    Corrections,
    find_numbers,
    find_subject,
    read_corrections,
    shorten_target,
    write_corrections,
)
from midfold.summaries.digest.entries import PIN_LABEL, REQUEST_HEADINGS, RULES_HEADING
from midfold.summaries.digest.layers import split_items
from midfold.summaries.sections import (
    CORRECTIONS_HEADING,
    FOLDED_HEADING,
    TASK_HEADING,
    join_sections,
    split_sections,
)

MAX_NOTE_CHARS = 2_000
_BY_CODE = (TASK_HEADING, FOLDED_HEADING, CORRECTIONS_HEADING)


@dataclass(frozen=True, slots=True)
class Note:
    """One entry of a summary. `number` stays the same until the next fold, whatever is struck."""

    number: int
    heading: str
    text: str
    """as the model reads it, without its bullet"""
    sources: tuple[int, ...] = ()
    """the numbers of the messages that it stands for"""
    correction: Correction | None = None
    """where the user wrote it"""

    @property
    def is_pinned(self) -> bool:
        """Whether the user pinned it."""
        return self.text.startswith(PIN_LABEL)

    @property
    def quotes_user(self) -> bool:
        """Whether it quotes words of the user, and not what a tool or the model said."""
        return self.heading in REQUEST_HEADINGS or self.heading == RULES_HEADING

    @property
    def is_struck(self) -> bool:
        """Whether it tells the model that something does not hold."""
        return self.correction is not None and self.correction.kind is CorrectionKind.STRUCK


def read_notes(body: str) -> tuple[Note, ...]:
    """List the entries of a summary; what the user corrected comes last."""
    corrections = read_corrections(body)
    taken = {each.note for each in corrections}
    notes: list[Note] = []
    number = 0
    for heading, item in _list_items(body):
        number += 1
        while number in taken:
            number += 1
        text = item.removeprefix("- ").strip()
        notes.append(Note(number, heading, text, tuple(dict.fromkeys(find_numbers(text)))))
    last = max([number, *(each for each in taken if each is not None)])
    for each in corrections:
        last += each.note is None
        own = last if each.note is None else each.note
        notes.append(Note(own, CORRECTIONS_HEADING, each.text, correction=each))
    return tuple(notes)


@dataclass(frozen=True, slots=True)
class NoteChange:
    """A change that a person wants: `strike`, `edit` or `add` makes it."""

    kind: CorrectionKind
    numbers: tuple[int, ...] = ()
    text: str = ""

    @classmethod
    def strike(cls, *numbers: int) -> "NoteChange":
        """Strike notes; one that the user had added is gone without a trace."""
        return cls(CorrectionKind.STRUCK, numbers)

    @classmethod
    def edit(cls, number: int, text: str) -> "NoteChange":
        """Let a note say something else."""
        return cls(CorrectionKind.CHANGED, (number,), text)

    @classmethod
    def add(cls, text: str) -> "NoteChange":
        """Add a note."""
        return cls(CorrectionKind.ADDED, text=text)

    def apply(self, body: str, *, at: int) -> str:
        """Return the summary with the change, made before message `at`.

        Raises `NoteNotFound`, and `ConfigError` for words that are none.
        """
        match self.kind:
            case CorrectionKind.ADDED:
                made = Correction(CorrectionKind.ADDED, _check(self.text), at)
                return write_corrections(body, [*read_corrections(body), made])
            case CorrectionKind.CHANGED:
                note = _find(body, self.numbers[0])
                return _replace(body, note, _change(note, _check(self.text), at))
            case CorrectionKind.STRUCK:
                # Striking one may hide words of the next, which is struck as it was read.
                for note in [_find(body, number) for number in dict.fromkeys(self.numbers)]:
                    body = _replace(body, _find(body, note.number), _strike(note, at))
                return body
            case _:
                assert_never(self.kind)


def _change(note: Note, text: str, at: int) -> Correction:
    old = note.correction
    if old is None:
        instead = shorten_target(find_subject(note.text))
        return Correction(CorrectionKind.CHANGED, text, at, instead, note.number)
    if old.kind is CorrectionKind.STRUCK:
        return Correction(CorrectionKind.CHANGED, text, at, old.text, old.note)
    return Correction(old.kind, text, at, old.instead, old.note)


def _strike(note: Note, at: int) -> Correction | None:
    old = note.correction
    if old is None:
        target = shorten_target(find_subject(note.text))
        return Correction(CorrectionKind.STRUCK, target, at, note=note.number)
    if old.kind is CorrectionKind.CHANGED:
        return Correction(CorrectionKind.STRUCK, old.instead, at, note=old.note)
    if old.kind is CorrectionKind.STRUCK:
        raise ConfigError("note", note.number, hint="an entry that is not struck already")
    return None


def _find(body: str, number: int) -> Note:
    return find_note(read_notes(body), number)


def find_note(notes: Sequence[Note], number: int) -> Note:
    """Return the note with a number; raises `NoteNotFound`."""
    for note in notes:
        if note.number == number:
            return note
    raise NoteNotFound(number, max((note.number for note in notes), default=0))


def _replace(body: str, note: Note, made: Correction | None) -> str:
    """Take a note out, and put a correction in."""
    corrections = read_corrections(body)
    if note.correction is None:
        body = _without_item(body, note)
        body = _hide_struck(body, made) if made else body
        corrections = (*corrections, *([made] if made else []))
    else:
        at = corrections.index(note.correction)
        corrections = (*corrections[:at], *([made] if made else []), *corrections[at + 1 :])
    return write_corrections(body, corrections)


def _without_item(body: str, note: Note) -> str:
    sections = split_sections(body)
    items = list(split_items(sections[note.heading], quotes_messages=note.heading in REQUEST_HEADINGS))
    index = next(index for index, item in enumerate(items) if item.removeprefix("- ").strip() == note.text)
    sections[note.heading] = "\n".join([*items[:index], *items[index + 1 :]])
    return join_sections(sections)


def _hide_struck(body: str, made: Correction) -> str:
    """Take what a correction strikes out of other entries, too: a rule is quoted with its message as well."""
    corrections, sections = Corrections((made,)), split_sections(body)
    for heading, said in sections.items():
        if heading not in _BY_CODE:
            items = split_items(said, quotes_messages=heading in REQUEST_HEADINGS)
            sections[heading] = "\n".join([_hide_in(corrections, heading, item) for item in items])
    return join_sections(sections)


def _hide_in(corrections: Corrections, heading: str, item: str) -> str:
    bullet = "- " if item.startswith("- ") else ""
    text = item.removeprefix("- ")
    hidden = corrections.hide(heading, text)
    return item if hidden == text else f"{bullet}{hidden}"


def _list_items(body: str) -> Sequence[tuple[str, str]]:
    return [
        (heading, item)
        for heading, said in split_sections(body).items()
        if heading not in _BY_CODE
        for item in split_items(said, quotes_messages=heading in REQUEST_HEADINGS)
    ]


def _check(text: str) -> str:
    """Write a person's words on one line; raises `ConfigError` where there are none, or too many."""
    words = " ".join(text.split())
    if not words or len(words) > MAX_NOTE_CHARS:
        raise ConfigError("note", f"{len(words):,} characters", hint=f"1 to {MAX_NOTE_CHARS:,} characters")
    return words
