"""Times and sizes as people write them, and as they read them."""

import re
import time
from datetime import datetime

import click

_UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 7 * 86_400}
_AGE = re.compile(r"(\d{1,9})\s*([smhdw])")
_SIZE = re.compile(r"(\d{1,15})\s*(?:([KMGT])(i?)B?|B)?", re.IGNORECASE)
_PREFIXES = "KMGT"
_RECENT_DAYS = 14


def read_moment(text: str) -> float:
    """Read an age such as `7d`, or an ISO date, which is local unless it says otherwise; an option's type."""
    age = _AGE.fullmatch(text.strip())
    if age:
        return time.time() - int(age[1]) * _UNITS[age[2]]
    try:
        return datetime.fromisoformat(text.strip()).timestamp()
    except (ValueError, OverflowError, OSError) as error:
        raise click.BadParameter(
            f"{text!r} is no time; write an age such as 7d or 2h, or a date such as 2026-07-31"
        ) from error


def read_size(text: str) -> int:
    """Read a number of bytes, such as `500MB`, `1GiB` or `4096`; an option's type."""
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        raise click.BadParameter(f"{text!r} is no size; write one such as 500MB or 1GB")
    number, prefix, binary = int(found[1]), found[2], found[3]
    power = _PREFIXES.index(prefix.upper()) + 1 if prefix else 0
    return number * int((1024 if binary else 1000) ** power)


def tell_time(at: float, now: float | None = None) -> str:
    """Say when something was, the shorter the nearer."""
    seconds = (time.time() if now is None else now) - at
    if 0 <= seconds < _UNITS["m"]:
        return "just now"
    for unit, name, below in (("m", "min", "h"), ("h", "h", "d")):
        if 0 <= seconds < _UNITS[below]:
            return f"{int(seconds // _UNITS[unit])} {name} ago"
    if 0 <= seconds < _RECENT_DAYS * _UNITS["d"]:
        return f"{int(seconds // _UNITS['d'])} d ago"
    return tell_date(at)[:10]


def tell_date(at: float) -> str:
    """Say when something was, to the minute, in local time."""
    try:
        return datetime.fromtimestamp(at).astimezone().strftime("%Y-%m-%d %H:%M")
    except (ValueError, OverflowError, OSError):
        return "unknown"


def tell_size(count: float) -> str:
    """Say how much that is."""
    if count < 1_000:
        return f"{count:.0f} bytes"
    for prefix in _PREFIXES:
        count /= 1_000
        if count < 1_000 or prefix == _PREFIXES[-1]:
            break
    return f"{count:.1f} {prefix}B" if count < 10 else f"{count:.0f} {prefix}B"
