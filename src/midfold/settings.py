"""Declares settings once: each a field with its default, the values it may have and its meaning.

Policies, the configuration file, options of calls and options of the command line are read off such fields,
so that no two of them can disagree.
"""

import re
from collections.abc import Callable, Iterator
from enum import StrEnum
from operator import attrgetter
from typing import Annotated, TypeAlias, get_args, get_origin

from midfold.errors import ConfigError
from midfold.late_dataclasses import dataclass, fields, is_dataclass, replace

Names: TypeAlias = tuple[str, ...]
"""The names that lead to a value, outermost first. A name may hold a dot: dotted keys are for showing."""


@dataclass(frozen=True, slots=True)
class SettingKind:
    """The values a setting may have, and the form in which code gets them. `allowed` is `accepts` in words.

    `depth` is how many names may follow the setting's own: none before a single value, one in a mapping,
    any number in a tree.
    """

    allowed: str
    accepts: Callable[[object], bool]
    convert: Callable[..., object] = lambda value: value
    depth: float = 0
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Setting:
    """One declared setting."""

    names: Names
    default: object
    kind: SettingKind
    meaning: str

    @property
    def key(self) -> str:
        return ".".join(self.names)

    def read(self, value: object) -> object:
        """Return the value as code wants it, or raise a `ConfigError` that says what it may be."""
        if not self.kind.accepts(value):
            raise ConfigError(self.key, value, hint=self.kind.allowed)
        return self.kind.convert(value)


def list_settings(section: object, names: Names = ()) -> Iterator[Setting]:
    """Yield the settings of a section and of those in it: its own fields, then those that it inherits."""
    if not is_dataclass(section) or isinstance(section, type):
        return
    own = section.__class__.__annotations__
    for each in sorted(fields(section), key=lambda field: field.name not in own):
        below, value = (*names, each.name), attrgetter(each.name)(section)
        if get_origin(each.type) is Annotated:
            _type, kind, meaning = get_args(each.type)
            yield Setting(below, value, kind, meaning)
        yield from list_settings(value, below)


def kinds_of(section: type) -> dict[str, SettingKind]:
    """Return the kind of each setting that a section class declares, by name."""
    return {each.name: get_args(each.type)[1] for each in fields(section)}


def is_whole(value: object, least: int) -> bool:
    """Whether a value is a whole number of at least so much; a boolean is none."""
    return type(value) is int and value >= least


def number(allowed: str, fits: Callable[[float], bool]) -> SettingKind:
    """Return the kind of a number that `fits`; a boolean, an int to Python, is never a number to a person."""
    return SettingKind(
        allowed, lambda value: (type(value) is int or type(value) is float) and fits(value), float
    )


def whole(of: str, *, least: int = 1) -> SettingKind:
    """Return the kind of a whole number of something."""
    return SettingKind(f"a whole number of {of}, at least {least}", lambda value: is_whole(value, least))


def choice(choices: type[StrEnum]) -> SettingKind:
    """Return the kind of one of several words."""
    words = tuple(str(each) for each in choices)
    return SettingKind(f"one of {', '.join(words)}", lambda value: value in words, choices, choices=words)


def pattern(allowed: str, expression: str) -> SettingKind:
    """Return the kind of a text that matches a regular expression."""
    return SettingKind(
        allowed, lambda value: isinstance(value, str) and re.fullmatch(expression, value) is not None
    )


def or_null(kind: SettingKind) -> SettingKind:
    """Return the same kind with a value that stands for none."""
    return replace(
        kind, allowed=f"{kind.allowed}, or null", accepts=lambda value: value is None or kind.accepts(value)
    )


SWITCH = SettingKind("true or false", lambda value: isinstance(value, bool))
TOKENS = whole("tokens")


class Strategy(StrEnum):
    """The extent of a compression: pruning, folding, or both as needed."""

    STAGED = "staged"
    FOLD = "fold"
    PRUNE = "prune"


class Style(StrEnum):
    """The form in which an old tool result stays."""

    STUB = "stub"
    EXCERPT = "excerpt"
    PLACEHOLDER = "placeholder"


class Template(StrEnum):
    """The headings of a summary."""

    HANDOFF = "handoff"
    PROGRESS = "progress"
    BRIEF = "brief"


class Budget(StrEnum):
    """The rule by which a summary's budget follows from what it replaces."""

    RATIO = "ratio"
    SCALED = "scaled"
    FIXED = "fixed"


_THRESHOLD = number("a number above 0 and at most 1", lambda value: 0 < value <= 1)
_TARGET_RATIO = number("a number from 0.1 to 0.8", lambda value: 0.1 <= value <= 0.8)


@dataclass(frozen=True, slots=True)
class FoldSettings:
    """The settings of a compression, declared once for every surface that takes them."""

    threshold: Annotated[float, _THRESHOLD, "part of the window at which compression starts"] = 0.5
    target_ratio: Annotated[float, _TARGET_RATIO, "part of the threshold kept for the newest messages"] = 0.2
    protect_last_n: Annotated[int, whole("messages"), "newest messages that are not pruned"] = 20
    protect_first_n: Annotated[int, whole("messages", least=0), "first messages that are kept"] = 3
    strategy: Annotated[Strategy, choice(Strategy), "how much is folded"] = Strategy.STAGED
    style: Annotated[Style, choice(Style), "what remains of an old tool result"] = Style.STUB
    template: Annotated[Template, choice(Template), "headings of a summary"] = Template.HANDOFF
    pins: Annotated[bool, SWITCH, "keep the user's rules word for word"] = True
    budget: Annotated[Budget, choice(Budget), "how the budget is divided"] = Budget.RATIO
    head_tokens: Annotated[int, TOKENS, "first messages, with `budget: fixed`"] = 4_000
    tail_tokens: Annotated[int, TOKENS, "newest messages, with `budget: fixed`"] = 16_000
    summary_tokens: Annotated[int, TOKENS, "summary, with `budget: fixed`"] = 4_000
    wait_until_it_pays: Annotated[
        bool, SWITCH, "delay a fold while a warm cache makes it cost more than it saves"
    ] = False


FOLD_SETTINGS = {setting.key: setting for setting in list_settings(FoldSettings())}
"""The declarations by name."""
