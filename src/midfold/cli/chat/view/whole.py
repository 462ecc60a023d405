"""Text that somebody has to judge, shown whole: nothing in it may hide, nor push the rest out of sight."""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from itertools import groupby

from rich.text import Text

_ROW_CHARS = 72
_MARK = "\N{REPLACEMENT CHARACTER}"
_STYLE = "bold"
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
    return [row for line in _count_empty(text.split("\n")) for row in _break(line)]


def pages(rows: list[Text], most: int) -> Iterator[list[Text]]:
    """Yield rows in portions that a screen has room for."""
    yield from (rows[start : start + most] for start in range(0, len(rows), most))


def _count_empty(lines: Iterable[str]) -> Iterator[Text]:
    for is_empty, group in groupby(lines, key=lambda line: not line.strip(" ")):
        found = list(group)
        if is_empty and len(found) > _MOST_EMPTY_LINES:
            yield Text(f"[{len(found):,} empty lines]", style=_REMARK)
        else:
            yield from map(_spell, found)


def _spell(line: str) -> Text:
    spelled = Text(style=_STYLE)
    for piece in _BLANKS.split(line):
        if _BLANKS.fullmatch(piece):
            spelled.append(f"[{len(piece):,} blanks]", style=_REMARK)
        else:
            spelled.append("".join(map(_reveal, piece)))
    return spelled


def _reveal(character: str) -> str:
    if character == " " or (character.isascii() and character.isprintable()):
        return character
    is_unseen = unicodedata.category(character) in _UNSEEN or character in _FILLERS
    is_selector = "\ufe00" <= character <= "\ufe0f" or "\U000e0100" <= character <= "\U000e01ef"
    return _MARK if is_unseen or is_selector else character


def _break(line: Text) -> Iterator[Text]:
    for start in range(0, max(len(line), 1), _ROW_CHARS):
        lead = Text("  > ", style=_REMARK) if start else Text("  ")
        yield lead + line[start : start + _ROW_CHARS]
