"""`midfold config`: shows and checks the settings."""

import json
import math
import os
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from midfold.cli.render.console import make_console
from midfold.cli.terminal import printable
from midfold.config import (
    DEFAULT,
    PREFIX,
    SETTINGS,
    CheckedSettings,
    Settings,
    SettingValue,
    check_settings,
    find_home,
)
from midfold.engines import find_engine
from midfold.errors import ConfigError, EngineNotFound, MidfoldError
from midfold.folding import THRESHOLD_CAP, Budget
from midfold.providers import read_providers, suggest_name
from midfold.tokens import find_model, list_models, snapshot_date

_MOST_CHARS = 72
_FIXED_BUDGETS = ("compression.head_tokens", "compression.tail_tokens", "compression.summary_tokens")


_path_option = click.option(
    "--path", type=click.Path(path_type=Path), metavar="FILE", help="Read this file instead of yours."
)


@click.group()
def command() -> None:
    """Show or check the settings.

    A flag wins over the environment (MIDFOLD_SECTION__KEY), which wins over a file, which wins over the
    default. The file is the one that MIDFOLD_CONFIG names, else config.yaml, config.yml or config.toml in
    the folder MIDFOLD_HOME.
    """


@command.command()
@_path_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of a table.")
def show(path: Path | None, as_json: bool) -> None:
    """Show every setting, its value and its origin. Keys and passwords stay hidden."""
    checked = check_settings(path=path)
    if checked.problems:
        raise checked.problems[0]
    if as_json:
        click.echo(json.dumps(_as_dict(checked), indent=2, default=str))
    else:
        _print_entries(checked, make_console())


@command.command()
@_path_option
def check(path: Path | None) -> int:
    """Check the settings and list every problem.

    Notes name legal settings with surprising effects. Exits with status 2 if there is a problem.
    """
    checked = check_settings(path=path)
    problems = [*checked.problems, *find_unknown_names(checked.settings)]
    for problem in problems:
        click.echo(f"midfold: {printable(str(problem), 500)}", err=True)
    if problems:
        return 2
    click.echo(f"no problems: {_source(checked)}")
    for remark in [*find_remarks(checked.settings, os.environ), *find_unknown_models(checked.settings)]:
        click.echo(f"note: {remark}")
    return 0


def find_unknown_names(settings: Settings) -> list[MidfoldError]:
    """List the engine, the store and the providers that the settings name and nobody knows."""
    found: list[MidfoldError] = []
    scheme = (settings.store.url or "sqlite:").partition(":")[0]
    if scheme != "sqlite":  # the rest may hold a password
        found.append(
            ConfigError("store.url", f"{scheme}:...", hint="a URL such as sqlite:///folder/sessions.db")
        )
    try:
        find_engine(settings.context.engine, find_home())
    except EngineNotFound as error:
        alike = get_close_matches(error.name, error.available, n=1)
        hint = f"one of {', '.join(error.available)}" + (f"; did you mean {alike[0]}?" if alike else "")
        found.append(ConfigError("context.engine", error.name, hint=hint))
    try:
        providers = read_providers(settings.providers)
    except ConfigError as error:
        return [*found, error]
    for key, name in _list_models(settings):
        near = suggest_name(name, providers)
        if near is not None and name.partition("/")[0] not in providers:
            found.append(ConfigError(key, name, hint=f"a known provider; did you mean {near}?"))
    return found


def find_unknown_models(settings: Settings) -> list[str]:
    """List the models of known providers that the table does not have: new ones, or misspelled."""
    remarks = []
    for key, name in _list_models(settings):
        provider, _, model = name.partition("/")
        if provider not in read_providers(settings.providers):
            remarks.append(f"{key} {name} names no known provider: it needs --base-url")
        served = list_models(provider)
        if not served or find_model(name):
            continue
        near = get_close_matches(model, served, n=1)
        advice = f"; did you mean {provider}/{near[0]}?" if near else ""
        remarks.append(f"{key} {name} is not in the table of {snapshot_date()}{advice}")
    return remarks


def _list_models(settings: Settings) -> list[tuple[str, str]]:
    """Return the settings that name a model of a provider; a bare name waits for `--base-url`."""
    named = (
        ("model.name", settings.model.name),
        ("model.fallback", settings.model.fallback),
        ("compression.summary_model", settings.compression.summary_model),
        ("auxiliary.custom.compression", settings.auxiliary.custom.compression),
    )
    return [(key, name) for key, name in named if name and "/" in name]


def find_remarks(settings: Settings, environment: Mapping[str, str]) -> list[str]:
    """List what is legal and yet has another effect than a reader of the file would expect."""
    compression = settings.compression
    remarks = []
    if not compression.enabled:
        remarks.append("compression.enabled is false: nothing is compressed unless asked for")
    threshold = f"compression.threshold {compression.threshold:g}"
    if compression.threshold > THRESHOLD_CAP:
        remarks.append(f"{threshold} is capped at {THRESHOLD_CAP * 100:.0f} % of the window")
    window = settings.model.context_length
    if window and int(window * compression.threshold) < settings.policy(window).threshold_tokens:
        starts = settings.policy(window).threshold_tokens
        remarks.append(f"{threshold} of {window:,} tokens is raised: compression starts at {starts:,}")
    remarks += [
        f"{key} counts only with compression.budget: fixed"
        for key in _FIXED_BUDGETS
        if compression.budget is not Budget.FIXED and settings.origins.get(key, DEFAULT) != DEFAULT
    ]
    meant = {variable.replace("__", "_"): variable for variable in _variables()}
    remarks += [
        f"{variable} is not read; {meant[variable]} is"
        for variable in sorted(environment)
        if variable in meant
    ]
    return remarks


def format_value(value: object) -> str:
    """Write a value as it would stand in a YAML file."""
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{name}: {format_value(item)}" for name, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(format_value, value)) + "]"
    return str(value)


def _variables() -> list[str]:
    return [PREFIX + "__".join(setting.names).upper() for setting in SETTINGS if not setting.kind.depth]


def _source(checked: CheckedSettings) -> str:
    return str(checked.file) if checked.file else "no settings file"


def _print_entries(checked: CheckedSettings, console: Console) -> None:
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    table.add_column("setting", no_wrap=True)
    table.add_column("value", overflow="fold")
    table.add_column("from", overflow="fold")
    for entry in checked.settings.entries():
        table.add_row(*_cells(entry))
    console.print(Text(_source(checked), style="bold"), soft_wrap=True)
    console.print(table)


def _cells(entry: SettingValue) -> list[Text]:
    style = "dim" if entry.origin == DEFAULT else "bold cyan"
    words = (entry.key, format_value(entry.value), entry.origin)
    return [Text(printable(word, _MOST_CHARS), style=style) for word in words]


def _as_dict(checked: CheckedSettings) -> dict[str, object]:
    return {
        "file": str(checked.file) if checked.file else None,
        "settings": {
            entry.key: {"value": _for_json(entry.value), "origin": entry.origin}
            for entry in checked.settings.entries()
        },
    }


def _for_json(value: object) -> object:
    """JSON has no word for infinity; `inf` in quotes is one that the settings understand."""
    if isinstance(value, Mapping):
        return {str(name): _for_json(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_for_json(item) for item in value]
    return format_value(value) if isinstance(value, float) and not math.isfinite(value) else value
