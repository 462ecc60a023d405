"""Finds credentials by their shape, wherever they stand."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from midfold.redact.results import Reading, Secret
from midfold.redact.shapes import (
    RUN_SHAPES,
    WORD_SHAPES,
    Shape,
)
from midfold.redact.values import is_name


def _any_of(shapes: Sequence[Shape]) -> str:
    return "(?:" + "|".join(shape.evidence for shape in shapes) + ")"


# A credential may come right after a letter or digit that is only part of something escaped: a line break in
# JSON, an octet in a URL, a colour on a terminal.
ESCAPE = r"\\[nrtbf]|\\u00[0-9A-Fa-f]{2}|\\x[0-9A-Fa-f]{2}|%[0-9A-Fa-f]{2}|\x1b\[[0-9;]{0,12}m"

SCREEN = "|".join(
    (
        rf"(?:\b|_|{ESCAPE}){_any_of(WORD_SHAPES)}",
        rf"(?:^|[^\w-]|{ESCAPE}){_any_of(RUN_SHAPES)}",
    )
).encode()

_ESCAPE_PATTERN = re.compile(ESCAPE.encode())
_REST_OF_RUN = re.compile(rb"\w*")


def read_token(data: bytes, start: int) -> Reading:
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
    return Reading((), start + 1)


def _read_shape(data: bytes, shape: Shape, start: int, stop: int) -> Reading:
    rest = _REST_OF_RUN.match(data, stop)
    stop = rest.end() if rest else stop
    if shape.is_weak and is_name(data[start:stop]):
        return Reading((), stop)
    return Reading((Secret(shape.kind, start, stop),), stop)


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
    return _Choice(shapes, re.compile("|".join(f"({shape.pattern})" for shape in shapes).encode()))
