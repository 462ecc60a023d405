"""The sources of settings: flags, the environment and a file, the first of these winning; all are checked."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

from midfold.config.home import find_home
from midfold.config.masking import Description, is_secret, masked
from midfold.config.schema import SECTIONS, SETTINGS, Settings, find_setting, make_settings
from midfold.errors import ConfigError
from midfold.late_dataclasses import dataclass
from midfold.settings import Names

FILE_NAMES = ("config.yaml", "config.yml", "config.toml")
PREFIX = "MIDFOLD_"
_NO_FLAGS: Mapping[str, object] = MappingProxyType({})
# Names under which further names stand, so that an empty one says nothing.
_CONTAINERS = SECTIONS | {each.names for each in SETTINGS if each.kind.depth}
# How much of a key must agree before a setting elsewhere is taken for what was meant.
_VERY_NEAR = 0.8


@dataclass(frozen=True, slots=True)
class CheckedSettings:
    """The settings that were read, and all problems with them. Wrong values have no effect on `settings`."""

    settings: Settings
    file: Path | None
    problems: tuple[ConfigError, ...]


@dataclass(frozen=True, slots=True)
class _Given:
    """A value that was set, and its origin."""

    names: Names
    value: object
    origin: str


def load_settings(
    *,
    path: Path | None = None,
    environment: Mapping[str, str] = os.environ,
    flags: Mapping[str, object] = _NO_FLAGS,
) -> Settings:
    """Return the settings in force, or raise the first problem as a `ConfigError`.

    The file is `path`, else the one that `MIDFOLD_CONFIG` names, else `config.yaml`, `.yml` or `.toml` in the
    home folder if there is one. `flags` has dotted keys; `None` is a flag that was not given.
    """
    checked = check_settings(path=path, environment=environment, flags=flags)
    if checked.problems:
        raise checked.problems[0]
    return checked.settings


def check_settings(
    *,
    path: Path | None = None,
    environment: Mapping[str, str] = os.environ,
    flags: Mapping[str, object] = _NO_FLAGS,
) -> CheckedSettings:
    """Read what `load_settings` reads, and collect every problem instead of raising the first."""
    problems: list[ConfigError] = []
    given: list[_Given] = []
    file = path
    try:
        file = path or _find_file(environment)
        given += _from_file(file) if file else []
    except ConfigError as error:
        problems.append(error)
    given += [*_from_environment(environment), *_from_flags(flags)]

    values: dict[Names, object] = {}
    origins: dict[str, str] = {}
    for each in given:
        try:
            values[each.names] = _read(each)
            origins[".".join(each.names)] = each.origin
        except ConfigError as error:
            problems.append(error)
    return CheckedSettings(make_settings(values, origins), file, tuple(problems))


def _find_file(environment: Mapping[str, str]) -> Path | None:
    chosen = environment.get("MIDFOLD_CONFIG")
    if chosen:
        return Path(chosen).expanduser()
    home = find_home(environment)
    present = [name for name in FILE_NAMES if (home / name).exists()]
    if len(present) > 1:
        there = Description(f"there more than once, as {' and '.join(present)}")
        raise ConfigError(str(home / "config"), there, hint="one file")
    return home / present[0] if present else None


def _from_file(file: Path) -> list[_Given]:
    return [_Given(names, value, file.name) for names, value in _flatten((), read_settings_file(file))]


def read_settings_file(file: Path) -> Mapping[object, object]:
    """Return the settings of a YAML or TOML file."""
    # PyYAML is needed for files and variables alone: without one of them, nobody pays for it.
    from midfold.config.files import read_tree

    return read_tree(file)


def _from_environment(environment: Mapping[str, str]) -> list[_Given]:
    variables = [name for name, text in sorted(environment.items()) if name.startswith(PREFIX) and text]
    return [
        _Given(names, value, f"environment {variable}")
        for variable in variables
        if "__" in variable.removeprefix(PREFIX)
        for names, value in _from_variable(variable, environment[variable])
    ]


def _from_variable(variable: str, text: str) -> Iterator[tuple[Names, object]]:
    names = tuple(variable.removeprefix(PREFIX).lower().split("__"))
    return _flatten(names, text if is_secret(names) else _parse_variable(names, text))


def _parse_variable(names: Names, text: str) -> object:
    """Read the text as YAML, unless that gives a number or a date where the setting wants a name."""
    from midfold.config.files import BrokenFile, parse_yaml

    try:
        value = parse_yaml(text)
    except BrokenFile:
        return text
    setting = find_setting(names)
    wants_text = setting and not setting.kind.accepts(value) and setting.kind.accepts(text)
    return text if wants_text else value


def _from_flags(flags: Mapping[str, object]) -> list[_Given]:
    used = {key: value for key, value in flags.items() if value is not None}
    return [_Given(names, value, f"flag --{_flag(names)}") for names, value in _flatten((), used)]


def _flag(names: Names) -> str:
    # `model.name` is set with `--model`; all others have the flag that is called like them.
    word = names[0] if names[-1] == "name" else names[-1]
    return word.replace("_", "-")


def _flatten(names: Names, value: object) -> Iterator[tuple[Names, object]]:
    """Go down to single values. In a section `a.b: 1` is `a: {b: 1}`; names elsewhere keep their dots."""
    if isinstance(value, Mapping) and value and _may_hold_names(names):
        for name, item in value.items():
            below = str(name).split(".") if names in SECTIONS else [str(name)]
            yield from _flatten((*names, *below), item)
    elif names not in _CONTAINERS or value not in (None, {}):
        yield names, value


def _may_hold_names(names: Names) -> bool:
    setting = find_setting(names)
    return names in SECTIONS or (setting is not None and len(names) - len(setting.names) < setting.kind.depth)


def _read(given: _Given) -> object:
    """Return the value as code wants it, or raise what is wrong with it."""
    setting = find_setting(given.names)
    if setting is None:
        raise _misplaced(given)
    if given.names in _CONTAINERS or not setting.kind.accepts(given.value):
        raise _problem(given, masked(given.names, given.value), setting.kind.allowed)
    return setting.kind.convert(given.value)


def _misplaced(given: _Given) -> ConfigError:
    if given.names in SECTIONS:
        return _problem(given, masked(given.names, given.value), "a section with settings")
    return _problem(given, Description("unknown"), _find_nearest(given.names))


def _find_nearest(names: Names) -> str:
    """Guess the intended name: a neighbour, the same key in full, or the same name in another section."""
    *section, name = names
    neighbours = _names_in(tuple(section))
    keys = [each.key for each in SETTINGS]
    from difflib import get_close_matches

    by_name = {each.names[-1]: each.key for each in reversed(SETTINGS)}
    near = (
        [".".join((*section, neighbour)) for neighbour in get_close_matches(name, neighbours)]
        or get_close_matches(".".join(names), keys, cutoff=_VERY_NEAR)
        or [by_name[other] for other in get_close_matches(name, by_name, cutoff=_VERY_NEAR)]
    )
    return near[0] if near else f"one of {', '.join(neighbours or _names_in(()))}"


def _names_in(section: Names) -> list[str]:
    known = [*sorted(SECTIONS), *(each.names for each in SETTINGS)]
    return [names[-1] for names in known if names and names[:-1] == section]


def _problem(given: _Given, value: object, hint: str) -> ConfigError:
    key = ".".join(given.names)
    return ConfigError(key if key.isprintable() else repr(key), value, hint=f"{hint} (from {given.origin})")
