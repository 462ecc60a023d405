"""Options and argument types that several commands share."""

import re
import time
from collections.abc import Callable
from datetime import datetime
from typing import TypeVar

import click

from midfold.cli.render.format import SECONDS_BY_UNIT, SIZE_PREFIXES
from midfold.settings import FOLD_SETTINGS
from midfold.wire import DIALECTS

_Command = TypeVar("_Command", bound=Callable[..., object])

row_option = click.option(
    "--row", type=click.IntRange(min=0), help="Which conversation of a file that holds many."
)
dialect_option = click.option(
    "--dialect", type=click.Choice(sorted(DIALECTS)), help="Read it as this, whatever it looks like."
)

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


def fold_option(name: str) -> Callable[[_Command], _Command]:
    """Return the option of a fold setting, with the choices and the default that are declared for it."""
    setting = FOLD_SETTINGS[name]
    return click.option(
        f"--{name}",
        type=click.Choice(setting.kind.choices),
        default=str(setting.default),
        show_default=True,
        help=f"{setting.meaning[0].upper()}{setting.meaning[1:]}.",
    )
