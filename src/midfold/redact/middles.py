"""Finds credentials that only a sign in their middle tells: what comes before it is part of them.

The screen looks for the signs and back from each, a fixed number of characters, before it looks on. A sign
without what belongs before it is passed over at once, so that text full of signs is never read on from each.
"""

import re
from dataclasses import dataclass

from midfold.redact.results import Reading, Secret
from midfold.redact.shapes import MIDDLE_SHAPES, MiddleShape

SIGNS = "|".join(shape.evidence for shape in MIDDLE_SHAPES).encode()
"""What the gate asks for; one of these is in every such credential."""


def _pattern(shape: MiddleShape) -> str:
    sign = re.escape(shape.sign)
    # The sign comes first and outside of any group: that is what is quickly looked for.
    return rf"{sign}(?<={shape.before}{sign})(?:{shape.after})\w*"


SCREEN = re.compile("|".join(map(_pattern, MIDDLE_SHAPES)).encode())
"""Of the standard library, for the look back; every step is bounded or part of a credential."""


@dataclass(frozen=True, slots=True)
class _Reader:
    kind: str
    before_chars: int
    pattern: re.Pattern[bytes]


_READERS = {
    shape.sign.encode(): _Reader(shape.kind, shape.before_chars, re.compile(_pattern(shape).encode()))
    for shape in MIDDLE_SHAPES
}
_SIGN = re.compile("|".join(re.escape(shape.sign) for shape in MIDDLE_SHAPES).encode())


def read_middle(data: bytes, start: int) -> Reading:
    """Read the credential whose sign the screen found at `start`."""
    sign = _SIGN.match(data, start)
    if sign is None:
        return Reading((), start + 1)
    reader = _READERS[sign[0]]
    found = reader.pattern.match(data, start)
    if found is None:
        return Reading((), start + 1)
    return Reading((Secret(reader.kind, start - reader.before_chars, found.end()),), found.end())
