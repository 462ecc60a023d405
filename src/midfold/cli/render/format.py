"""Numbers, times, sizes, money and lines of text as people read them."""

import time
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING

from midfold.cli.terminal import printable
from midfold.cli.units import SECONDS_BY_UNIT, SIZE_PREFIXES
from midfold.redact import redact

if TYPE_CHECKING:
    from midfold.tokens import Cost

_RECENT_DAYS = 14
_LEAST_SHOWN = Decimal("0.0001")
# The first words say what a text is about; nobody reads megabytes of it in a table.
READ_CHARS = 2_000


def format_time(at: float, now: float | None = None) -> str:
    """Say when something was, the shorter the nearer."""
    seconds = (time.time() if now is None else now) - at
    if 0 <= seconds < SECONDS_BY_UNIT["m"]:
        return "just now"
    for unit, name, below in (("m", "min", "h"), ("h", "h", "d")):
        if 0 <= seconds < SECONDS_BY_UNIT[below]:
            return f"{int(seconds // SECONDS_BY_UNIT[unit])} {name} ago"
    if 0 <= seconds < _RECENT_DAYS * SECONDS_BY_UNIT["d"]:
        return f"{int(seconds // SECONDS_BY_UNIT['d'])} d ago"
    return format_date(at)[:10]


def format_date(at: float) -> str:
    """Say when something was, to the minute, in local time."""
    try:
        return datetime.fromtimestamp(at).astimezone().strftime("%Y-%m-%d %H:%M")
    except (ValueError, OverflowError, OSError):
        return "unknown"


def format_size(count: float) -> str:
    """Format a number of bytes."""
    if count < 1_000:
        return f"{count:.0f} bytes"
    for prefix in SIZE_PREFIXES:
        count /= 1_000
        if count < 1_000 or prefix == SIZE_PREFIXES[-1]:
            break
    return f"{count:.1f} {prefix}B" if count < 10 else f"{count:.0f} {prefix}B"


def show_line(text: str, most: int = 60) -> str:
    """Return text from a conversation as one line for a terminal, without credentials."""
    return printable(" ".join(redact(text[:READ_CHARS]).split()), most)


def count_of(number: int, noun: str) -> str:
    """Format a count with its noun."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def format_cost(cost: "Cost") -> str:
    """Format dollars with their informative digits; an unknown price is said to be unknown."""
    if cost.dollars is None or not cost.is_complete:
        return "cost unknown"
    if not cost.dollars:
        return "$0"
    return format_dollars(cost.dollars)


def format_dollars(dollars: Decimal | None) -> str:
    """Format dollars with their informative digits."""
    if dollars is None:
        return "unknown"
    sign, amount = ("-" if dollars < 0 else ""), abs(dollars)
    if 0 < amount < _LEAST_SHOWN:
        return f"{sign}<${_LEAST_SHOWN}"
    return f"{sign}${amount:,.2f}" if amount >= 1 or not amount else f"{sign}${amount:.4f}"
