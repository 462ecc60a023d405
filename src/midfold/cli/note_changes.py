"""A change of notes as people write it: `strike 3 5`, `edit 3 TEXT`, `add TEXT`."""

from collections.abc import Sequence

from midfold.cli.terminal import printable
from midfold.summaries import CorrectionKind, NoteChange

WAYS = "strike N..., edit N TEXT, add TEXT"
_MOST_CHARS = 60


def read_change(words: Sequence[str]) -> NoteChange:
    """Read a verb and what follows it; raises `ValueError` in words for people."""
    verb, rest = (words[0].lower() if words else ""), " ".join(words[1:]).strip()
    match verb:
        case "strike":
            numbers = rest.replace(",", " ").split()
            if not numbers or not all(map(_is_number, numbers)):
                raise ValueError("strike needs the numbers of notes, such as strike 3 5")
            return NoteChange.strike(*map(int, numbers))
        case "edit":
            number, _, text = rest.partition(" ")
            if not _is_number(number) or not text.strip():
                raise ValueError("edit needs the number of a note and its new text, such as edit 3 TEXT")
            return NoteChange.edit(int(number), text)
        case "add":
            if not rest:
                raise ValueError("add needs the text of a note")
            return NoteChange.add(rest)
        case _:
            raise ValueError(f"{printable(verb, _MOST_CHARS)!r} is no change of notes; use {WAYS}")


def describe_change(change: NoteChange, texts: dict[int, str]) -> list[str]:
    """Say what was changed, a line each; `texts` are the notes before, by their numbers."""
    match change.kind:
        case CorrectionKind.ADDED:
            return [f"added: {printable(change.text, _MOST_CHARS)}"]
        case CorrectionKind.CHANGED:
            return [f"note {change.numbers[0]} now says: {printable(change.text, _MOST_CHARS)}"]
        case CorrectionKind.STRUCK:
            return [
                f"struck: {each}  {printable(texts.get(each, ''), _MOST_CHARS)}" for each in change.numbers
            ]


def _is_number(word: str) -> bool:
    return word.isdecimal() and len(word) <= len("999999")
