"""A form: what stands before a credential, how it begins, and all of it. It makes screens and readers."""

import re
from collections.abc import Callable, Sequence

from midfold.late_dataclasses import dataclass
from midfold.late_patterns import compile_late
from midfold.redact.patterns import Detection, Secret


@dataclass(frozen=True, slots=True)
class Form:
    """A line that holds a credential."""

    kind: str
    lead: str
    beginning: str
    value: str
    accepts: Callable[[bytes], bool]
    screen: str = ""
    """the pattern that finds it, where lead and beginning would have an engine keep count at every line"""


@dataclass(frozen=True, slots=True)
class FormReader:
    """Reads one form where a screen found it."""

    form: Form
    pattern: re.Pattern[bytes]


def make_readers(forms: Sequence[Form]) -> tuple[FormReader, ...]:
    """Compile the readers of forms, in their order."""
    return tuple(
        FormReader(form, compile_late(f"{form.lead}(?P<value>{form.value})".encode())) for form in forms
    )


def make_screen(forms: Sequence[Form]) -> str:
    """Write the pattern that finds the beginning of any form."""
    return "|".join(form.screen or f"{form.lead}{form.beginning}" for form in forms)


def read_form(readers: Sequence[FormReader], data: bytes, start: int) -> Detection:
    """Read the first form that is at `start`; one whose value is refused leaves it to others."""
    resume = start + 1
    for reader in readers:
        found = reader.pattern.match(data, start)
        if found:
            first, stop = found.span("value")
            if reader.form.accepts(found["value"]):
                return Detection((Secret(reader.form.kind, first, stop),), stop)
            resume = max(resume, first)
    return Detection((), resume)
