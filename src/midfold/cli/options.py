"""Options and argument types that several commands share."""

import re
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TypeVar

import click
from click.shell_completion import CompletionItem

from midfold.cli.terminal import printable
from midfold.cli.units import SECONDS_BY_UNIT, SIZE_PREFIXES
from midfold.errors import MidfoldError
from midfold.late_patterns import compile_late
from midfold.settings import FOLD_SETTINGS
from midfold.wire import DIALECTS

_Command = TypeVar("_Command", bound=Callable[..., object])


def whole_number(least: int, most: int | None = None) -> Callable[[object], int]:
    """Return the type of an option that is a whole number within bounds."""

    def read(text: object) -> int:
        written = str(text).strip()
        if not _WHOLE.fullmatch(written):
            raise click.BadParameter(f"{written!r} is no whole number, such as 20")
        return _bounded(int(written), least, most)

    return read


def read_tokens(text: object) -> int:
    """Read a number of tokens, such as 20000, 20,000, 20k or 1.5M; an option's type."""
    number = read_token_count(str(text))
    if number is None:
        written = str(text)
        raise click.BadParameter(f"{written!r} is no number of tokens; write one such as 20000, 20k or 1M")
    return _bounded(number, 1, None)


def _bounded(number: int, least: int, most: int | None) -> int:
    if number < least or (most is not None and number > most):
        bounds = f"from {least:,} " + ("on" if most is None else f"to {most:,}")
        raise click.BadParameter(f"{number:,} is out of bounds; it goes {bounds}")
    return number


def read_token_count(text: str) -> int | None:
    """Read a number of tokens as people write it: 20000, 20,000, 20k, 1.5M; `None` where it is none."""
    found = _TOKENS.fullmatch(text.strip())
    if found is None:
        return None
    number = float(found[1].replace(",", "").replace("_", ""))
    return int(number * _TOKEN_UNITS[found[2].lower()])


_WHOLE = compile_late(r"[-+]?\d{1,40}")
_TOKENS = compile_late(r"([-+]?\d{1,3}(?:[,_]\d{3}){1,4}|[-+]?\d{1,12}(?:\.\d{1,6})?)\s?([kKmM]?)")
_TOKEN_UNITS = {"": 1, "k": 1_000, "m": 1_000_000}
_AGE = compile_late(r"(\d{1,9})\s*([smhdw])")
_DAYS_AGO = {"today": 0, "yesterday": 1}
_SIZE = compile_late(r"(\d{1,15})\s*(?:([KMGT])(i?)B?|B)?", re.IGNORECASE)


def read_moment(text: str) -> float:
    """Read `today`, `yesterday`, an age such as `7d`, or a local ISO date; an option's type."""
    written = text.strip().lower()
    age = _AGE.fullmatch(written)
    if age:
        return time.time() - int(age[1]) * SECONDS_BY_UNIT[age[2]]
    try:
        if written in _DAYS_AGO:
            day = datetime.now().astimezone().date() - timedelta(days=_DAYS_AGO[written])
            return datetime.combine(day, datetime.min.time()).timestamp()
        return datetime.fromisoformat(text.strip()).timestamp()
    except (ValueError, OverflowError, OSError) as error:
        raise click.BadParameter(
            f"{text!r} is no time; write yesterday, an age such as 7d or 2h, or a date such as 2026-07-31"
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
    """Return the option of a fold setting, with the choices that are declared; by default settings decide."""
    setting = FOLD_SETTINGS[name]
    *others, last = setting.kind.choices
    choices = f"{', '.join(others)} or {last}"
    return click.option(
        f"--{name}",
        type=click.Choice(setting.kind.choices),
        metavar="NAME",
        help=f"{setting.meaning[0].upper()}{setting.meaning[1:]}: {choices}; default: compression.{name}.",
    )


row_option = click.option(
    "--row", type=whole_number(0), metavar="N", help="Number of the conversation in a file with many, from 0."
)
dialect_option = click.option(
    "--dialect",
    type=click.Choice(sorted(DIALECTS)),
    metavar="NAME",
    help=f"Message format, if not detected: {', '.join(sorted(DIALECTS))}.",
)


def complete_session(_ctx: click.Context, _param: click.Parameter, typed: str) -> list[CompletionItem]:
    """Offer the newest conversations whose ids begin with what was typed; a shell asks, nobody waits."""
    from midfold.cli.conversations import ID_CHARS, LATEST, list_conversations, own_store

    try:
        with own_store() as store:
            found = list_conversations(store, limit=_MOST_OFFERED)
    except (MidfoldError, OSError):
        return []
    offers = [(LATEST, "the newest"), *((each.tip.id[:ID_CHARS], each.words) for each in found)]
    return [CompletionItem(name, help=printable(words)) for name, words in offers if name.startswith(typed)]


def complete_model(_ctx: click.Context, _param: click.Parameter, typed: str) -> list[CompletionItem]:
    """Offer providers, and after a slash the models that one of them serves."""
    from midfold.providers import PROVIDERS
    from midfold.tokens import list_models

    provider, slash, _ = typed.partition("/")
    if not slash:
        return [CompletionItem(f"{name}/") for name in PROVIDERS if name.startswith(typed)]
    names = (f"{provider}/{model}" for model in list_models(provider))
    return [CompletionItem(name) for name in names if name.startswith(typed)]


_MOST_OFFERED = 50


def _refuse_model(_context: click.Context, _option: click.Parameter, value: str | None) -> None:
    if value is not None:
        raise click.UsageError(f"--model is --summary-model now; write --summary-model {value}")


summary_model_option = click.option(
    "--summary-model",
    metavar="NAME",
    shell_complete=complete_model,
    help="Model that writes summaries: provider/model, or digest.",
)
former_model_option = click.option(
    "--model", hidden=True, expose_value=False, callback=_refuse_model, is_eager=True
)
"""Explains the new name to those who use the old one."""
DIGEST_WORD = "digest"
"""Asks for the built-in digest, whatever the settings say."""
