"""What a check says: how things are, what to do about it, and how that can be done at once."""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum


class Severity(StrEnum):
    """How bad it is; only problems make the doctor leave with status 1."""

    OK = "ok"
    WARN = "warn"
    PROBLEM = "problem"


@dataclass(frozen=True, slots=True)
class Finding:
    """One line. `repair` mends it without losing anything, and says what was done."""

    area: str
    level: Severity
    text: str
    advice: str = ""
    repair: Callable[[], str] | None = field(default=None, repr=False)


def fine(area: str, text: str) -> Finding:
    """Say that all is well."""
    return Finding(area, Severity.OK, text)
