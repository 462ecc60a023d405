"""Finds how long a provider asks to wait, where the body says it and no header does."""

import re
from collections.abc import Sequence

from midfold.wire.failures.unwrap import Line

# Google names it so in its details; others have a field of their own.
_NAMES = ("retrydelay", "retry_delay", "retryafter", "retry_after", "retry-after", "retry_after_seconds")
_SECONDS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86_400}
_AMOUNT = (
    r"(\d{1,9}(?:\.\d{1,9})?) ?(ms|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hours?|d|days?)(?![a-z])"
)
_NUMBER = re.compile(r"\d{1,9}(?:\.\d{1,9})?")
_PART = re.compile(_AMOUNT)
_ASKED = re.compile(
    r"(?:try again|retry|wait)(?:ing)?(?: (?:in|after|for|at least|about|another)){0,2}:? "
    rf"((?:{_AMOUNT}[ ,]?(?:and )?){{1,4}})"
)


def read_wait(lines: Sequence[Line]) -> float | None:
    """Return the seconds to wait that a body states, under a name for it or in a sentence."""
    for line in lines:
        if line.name in _NAMES:
            return _read_value(line.text.lower())
    asked = (_ASKED.search(line.text.lower()) for line in lines)
    return next((_add_up(found[1]) for found in asked if found), None)


def _read_value(text: str) -> float | None:
    """Read a number, which counts seconds, or an amount such as `30.6s`."""
    if _NUMBER.fullmatch(text):
        return float(text)
    return _add_up(text) if _PART.match(text) else None


def _add_up(amount: str) -> float:
    """Add up an amount such as `1h2m3.5s`."""
    return sum(
        float(part[1]) * _SECONDS["ms" if part[2][:3] in ("ms", "mil") else part[2][0]]
        for part in _PART.finditer(amount)
    )
