"""Arguments of the tools as models write them: read leniently, and refused with what would be right."""

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from midfold.engines.lossless.history import NumberedMessage
from midfold.folding import Span, join_spans
from midfold.late_dataclasses import dataclass

MOST_PAGES = 1_000_000
MOST_RANGE = 2_000
"""Messages that a call shows."""
ROLES = ("user", "assistant", "tool")
_MOST_RANGE_CHARS = 200
_RANGE = re.compile(r"(\d{1,9})(?:\s{0,3}[-–]\s{0,3}(\d{1,9}))?")
_SWITCHES = {"true": True, "false": False, "": False}


class BadCall(ValueError):
    """The arguments of a call make no sense; the text says why."""


@dataclass(frozen=True, slots=True)
class SearchFilters:
    """The messages that a search looks at; `None` leaves nothing out."""

    role: str | None = None
    since: float | None = None
    until: float | None = None

    def keeps(self, original: NumberedMessage) -> bool:
        """Whether a search looks at a message."""
        at = original.created_at
        is_in_time = at is None or (
            (self.since is None or at >= self.since) and (self.until is None or at < self.until)
        )
        return is_in_time and (self.role is None or original.message.role == self.role)


def read_words(arguments: Mapping[str, object], name: str) -> str:
    """Return a text that must be there."""
    value = arguments.get(name)
    if value is not None and not isinstance(value, str):
        raise BadCall(f"{name} is a text")
    if value is None or not value.strip():
        raise BadCall(f"{name} is missing: give a text")
    return value.strip()


def read_choice(arguments: Mapping[str, object], name: str, choices: Sequence[str]) -> str:
    """Return one of the choices, the first unless given."""
    value = arguments.get(name) or choices[0]
    if value not in choices:
        raise BadCall(f"{name} is one of {', '.join(choices)}")
    return str(value)


def read_number(arguments: Mapping[str, object], name: str, default: int, least: int, most: int) -> int:
    """Return a whole number, moved into its bounds."""
    value = arguments.get(name)
    if value is None:
        return default
    if isinstance(value, str) and value.strip().isascii() and value.strip().isdigit():
        value = int(value.strip()[:9])
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        raise BadCall(f"{name} is a whole number")
    return min(max(value, least), most)


def read_switch(arguments: Mapping[str, object], name: str) -> bool:
    """Return a switch, off unless given."""
    value = arguments.get(name) or False
    value = _SWITCHES.get(value.strip().lower(), value) if isinstance(value, str) else value
    if not isinstance(value, bool):
        raise BadCall(f"{name} is true or false")
    return value


def read_filters(arguments: Mapping[str, object]) -> SearchFilters:
    """Return what a search leaves out."""
    role = arguments.get("role")
    if role and role not in ROLES:
        raise BadCall(f"role is one of {', '.join(ROLES)}")
    return SearchFilters(
        str(role) if role else None, _read_time(arguments, "since"), _read_time(arguments, "until")
    )


def read_written_range(arguments: Mapping[str, object]) -> str:
    """Return the message numbers that a call asks for, as written; "" where it asks for a summary."""
    value = arguments.get("messages")
    written = "" if value is None or isinstance(value, bool) else str(value).strip()
    if not written and not arguments.get("id"):
        raise BadCall("give id, that of a summary, or messages, numbers such as 12 or 12-20")
    return "" if arguments.get("id") else written


def read_range(written: str) -> tuple[Span, ...]:
    """Read numbers such as `12`, `12-20` or `3, 7-9`."""
    found = _RANGE.findall(written[:_MOST_RANGE_CHARS])
    spans = [Span(int(first), int(last or first) + 1) for first, last in found]
    if not spans or written.startswith(("-", "–")):
        raise BadCall("messages is a number, or a range such as 12-20")
    backwards = next((span for span in spans if span.stop <= span.start), None)
    if backwards is not None:
        raise BadCall(f"the range {backwards.start}-{backwards.stop - 1} ends before it begins")
    joined = join_spans(spans)
    if sum(map(len, joined)) > MOST_RANGE:
        raise BadCall(f"a call shows at most {MOST_RANGE:,} messages")
    return joined


def _read_time(arguments: Mapping[str, object], name: str) -> float | None:
    value = arguments.get(name)
    if not value:
        return None
    try:
        read = datetime.fromisoformat(str(value))
    except ValueError:
        raise BadCall(f"{name} is a time such as 2026-01-31T12:00") from None
    return (read if read.tzinfo else read.replace(tzinfo=UTC)).timestamp()
