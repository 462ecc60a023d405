"""Words of a model or a tool, made safe for a terminal, and shown whole where a person has to judge them."""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from itertools import groupby

from rich.text import Text

# Escape sequences by their grammar, so that nothing of them is left behind as text. None spans a line.
_CSI = r"\[[0-?]*[ -/]*[@-~]"
_STRING = r"[\]PX^_][^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)"
_SHORT = r"[ -/]*[0-OQ-WYZ`-~]"
_SEQUENCE = re.compile(rf"\x1b(?:{_CSI}|{_STRING}|{_SHORT})|\x9b[0-?]*[ -/]*[@-~]")
# What may still become a sequence when more comes.
_UNFINISHED = re.compile(r"\x1b(?:[\[][0-?]*[ -/]*|[\]PX^_][^\x07\x9c\n]*|[ -/]*)?$|\x9b[0-?]*[ -/]*$|\r$")
# Other controls than tab and newline, marks that turn the direction of text, tags and halves of characters.
_UNPRINTABLE = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\U000e0000-\U000e007f]"
)
# A sequence that is longer than any real one is held back no further.
_MOST_HELD_CHARS = 512


def clean(text: str) -> str:
    """Return text of any length and number of lines without anything that could steer a terminal."""
    return _UNPRINTABLE.sub("", _SEQUENCE.sub("", text.replace("\r\n", "\n")))


class Cleaner:
    """Cleans text that comes in pieces: a sequence that one of them cuts is held back for the next."""

    def __init__(self) -> None:
        self._held = ""

    def feed(self, piece: str) -> str:
        """Return the text that can be shown so far."""
        text = self._held + piece
        found = _UNFINISHED.search(text, max(0, len(text) - _MOST_HELD_CHARS))
        cut = found.start() if found else len(text)
        self._held = text[cut:]
        return clean(text[:cut])

    def finish(self) -> str:
        """Return the rest; nothing follows it."""
        rest, self._held = self._held, ""
        return clean(rest)


_ROW_CHARS = 72
_UNSEEN_MARK = "\N{REPLACEMENT CHARACTER}"
_WHOLE_STYLE = "bold"
_REMARK = "black on yellow"
"""for what we say amid the text, which the text itself cannot imitate"""
_BLANKS = re.compile(r"( {25,})")
_MOST_EMPTY_LINES = 3
# Without a shape, or a blank by another name: what is drawn for them says nothing of what they are.
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"})
_FILLERS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")


def show_whole(text: str) -> list[Text]:
    """Return rows that say all of a text: long lines are broken and goes-on marks stand before the rest.

    What cannot be seen is marked, long runs of blanks and empty lines are counted instead.
    """
    return [row for line in _count_empty(text.split("\n")) for row in wrap_line(line)]


def pages(rows: list[Text], most: int) -> Iterator[list[Text]]:
    """Yield rows in portions that a screen has room for."""
    yield from (rows[start : start + most] for start in range(0, len(rows), most))


def _count_empty(lines: Iterable[str]) -> Iterator[Text]:
    for is_empty, group in groupby(lines, key=lambda line: not line.strip(" ")):
        found = list(group)
        if is_empty and len(found) > _MOST_EMPTY_LINES:
            yield Text(f"[{len(found):,} empty lines]", style=_REMARK)
        else:
            yield from map(_reveal_line, found)


def _reveal_line(line: str) -> Text:
    revealed = Text(style=_WHOLE_STYLE)
    for piece in _BLANKS.split(line):
        if _BLANKS.fullmatch(piece):
            revealed.append(f"[{len(piece):,} blanks]", style=_REMARK)
        else:
            revealed.append(reveal(piece))
    return revealed


def reveal(text: str) -> str:
    """Return a line in which every character that cannot be seen is marked."""
    return "".join(map(_escape_character, text))


def _escape_character(character: str) -> str:
    if character == " " or (character.isascii() and character.isprintable()):
        return character
    is_unseen = unicodedata.category(character) in _UNSEEN or character in _FILLERS
    is_selector = "\ufe00" <= character <= "\ufe0f" or "\U000e0100" <= character <= "\U000e01ef"
    return _UNSEEN_MARK if is_unseen or is_selector else character


def wrap_line(line: Text) -> Iterator[Text]:
    """Break a line into indented rows, with a goes-on mark before all but the first."""
    for start in range(0, max(len(line), 1), _ROW_CHARS):
        lead = Text("  > ", style=_REMARK) if start else Text("  ")
        yield lead + line[start : start + _ROW_CHARS]
