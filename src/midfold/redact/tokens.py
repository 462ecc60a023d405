"""Finds credentials by their shape, wherever they stand: by how they begin, or by a sign in their middle."""

import re
from collections.abc import Sequence
from functools import cache

from midfold.late_dataclasses import dataclass
from midfold.late_patterns import compile_late
from midfold.redact.patterns import Detection, Secret, is_name
from midfold.redact.shapes import GLUED_SHAPES, MIDDLE_SHAPES, RUN_SHAPES, WORD_SHAPES, MiddleShape, Shape


def _any_of(shapes: Sequence[Shape]) -> str:
    return "(?:" + "|".join(shape.evidence for shape in shapes) + ")"


# A credential may come right after a letter or digit that is only part of something escaped: a line break in
# JSON, an octet in a URL, a colour on a terminal.
ESCAPE = r"\\[nrtbf]|\\u00[0-9A-Fa-f]{2}|\\x[0-9A-Fa-f]{2}|%[0-9A-Fa-f]{2}|\x1b\[[0-9;]{0,12}m"

SCREEN = "|".join(
    (
        rf"(?:\b|_|{ESCAPE}){_any_of(WORD_SHAPES)}",
        rf"(?:^|[^\w-]|{ESCAPE}){_any_of(RUN_SHAPES)}",
        *GLUED_SHAPES,
    )
).encode()

_ESCAPE_PATTERN = compile_late(ESCAPE.encode())
_REST_OF_RUN = compile_late(rb"\w*")


def read_token(data: bytes, start: int) -> Detection:
    """Read the credential that the screen found at `start`.

    It takes the rest of its run of letters and digits along: what follows a placeholder must begin where a
    word ends, or redacting a second time could find more.
    """
    escape = _ESCAPE_PATTERN.match(data, start)
    for first in (escape.end() if escape else start, start + 1, start):
        choice = _choice(data[first : first + 1])
        found = choice.pattern.match(data, first)
        if found and found.lastindex:
            return _read_shape(data, choice.shapes[found.lastindex - 1], first, found.end())
    return Detection((), start + 1)


def _read_shape(data: bytes, shape: Shape, start: int, stop: int) -> Detection:
    rest = _REST_OF_RUN.match(data, stop)
    stop = rest.end() if rest else stop
    if shape.is_weak and is_name(data[start:stop]):
        return Detection((), stop)
    return Detection((Secret(shape.kind, start, stop),), stop)


@dataclass(frozen=True, slots=True)
class _Choice:
    """Shapes, and a pattern in which the number of the group that matches is that of the shape, from one."""

    shapes: tuple[Shape, ...]
    pattern: re.Pattern[bytes]


@cache
def _choice(byte: bytes) -> _Choice:
    """Return the shapes that may begin with `byte`: a pattern begins with its letter, or with a choice."""
    shapes = tuple(
        shape
        for shape in (*WORD_SHAPES, *RUN_SHAPES)
        if not shape.pattern[0].isalnum() or shape.pattern[0].encode() == byte
    )
    return _Choice(shapes, compile_late("|".join(f"({shape.pattern})" for shape in shapes).encode()))


# Some are given away only by a sign in the middle: what comes before it is part of them. The screen looks for
# the signs and back from each, a fixed number of characters, before it looks on. A sign without what belongs
# before it is passed over at once, so that text full of signs is never read on from each.
MIDDLE_SIGNS = "|".join(shape.evidence for shape in MIDDLE_SHAPES).encode()
"""The signs that the gate asks for; one of these is in every such credential."""


def _pattern(shape: MiddleShape) -> str:
    sign = re.escape(shape.sign)
    # The sign comes first and outside of any group: that is what is quickly looked for.
    return rf"{sign}(?<={shape.before}{sign})(?:{shape.after})\w*"


MIDDLE_SCREEN = compile_late("|".join(map(_pattern, MIDDLE_SHAPES)).encode())
"""Of the standard library, for the look back; every step is bounded or part of a credential."""


@dataclass(frozen=True, slots=True)
class _MiddleReader:
    kind: str
    before_chars: int
    pattern: re.Pattern[bytes]


_READERS = {
    shape.sign.encode(): _MiddleReader(shape.kind, shape.before_chars, compile_late(_pattern(shape).encode()))
    for shape in MIDDLE_SHAPES
}
_SIGN = compile_late("|".join(re.escape(shape.sign) for shape in MIDDLE_SHAPES).encode())


def read_middle(data: bytes, start: int) -> Detection:
    """Read the credential whose sign the screen found at `start`."""
    sign = _SIGN.match(data, start)
    if sign is None:
        return Detection((), start + 1)
    reader = _READERS[sign[0]]
    found = reader.pattern.match(data, start)
    if found is None:
        return Detection((), start + 1)
    return Detection((Secret(reader.kind, start - reader.before_chars, found.end()),), found.end())
