"""Findings of a check: the state of a thing, the advice about it, and its repair."""

from collections.abc import Callable
from enum import StrEnum

from midfold.late_dataclasses import dataclass, field


class Severity(StrEnum):
    """The severity of a finding; only problems make the doctor leave with status 1."""

    OK = "ok"
    WARN = "warn"
    PROBLEM = "problem"


@dataclass(frozen=True, slots=True)
class Finding:
    """One line. `repair` loses nothing, and says what it did."""

    area: str
    level: Severity
    text: str
    advice: str = ""
    repair: Callable[[], str] | None = field(default=None, repr=False)


def fine(area: str, text: str) -> Finding:
    """Say that all is well."""
    return Finding(area, Severity.OK, text)
