"""What options and arguments of several commands have in common: their types, and options by one name."""

import re
import time
from datetime import datetime

import click

from midfold.cli.render.format import SECONDS_BY_UNIT, SIZE_PREFIXES

_AGE = re.compile(r"(\d{1,9})\s*([smhdw])")
_SIZE = re.compile(r"(\d{1,15})\s*(?:([KMGT])(i?)B?|B)?", re.IGNORECASE)


def read_moment(text: str) -> float:
    """Read an age such as `7d`, or an ISO date, which is local unless it says otherwise; an option's type."""
    age = _AGE.fullmatch(text.strip())
    if age:
        return time.time() - int(age[1]) * SECONDS_BY_UNIT[age[2]]
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
    power = SIZE_PREFIXES.index(prefix.upper()) + 1 if prefix else 0
    return number * int((1024 if binary else 1000) ** power)
