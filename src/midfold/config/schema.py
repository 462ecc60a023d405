"""Every setting: its name, its default, what it may be and what it means.

A setting is one field of one of the section classes, annotated with its kind and its meaning. Checking,
`midfold config show` and the table in the documentation are read off these fields and cannot disagree.
"""

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from enum import StrEnum
from operator import attrgetter
from types import MappingProxyType
from typing import Annotated, TypeAlias, TypeVar, get_args, get_origin

from midfold.config.secrets import masked
from midfold.folding import Budget, CompressionPolicy, Strategy, Style
from midfold.summaries import Template

Names: TypeAlias = tuple[str, ...]
"""The names that lead to a value, outermost first. A name may hold a dot: dotted keys are for showing."""

DEFAULT = "default"
"""The origin of what nobody set."""

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Kind:
    """What a value may be, and the form in which code gets it. `allowed` is `accepts` in words.

    `depth` is how many names may follow the setting's own: none before a single value, one in a mapping,
    any number in a tree.
    """

    allowed: str
    accepts: Callable[[object], bool]
    convert: Callable[..., object] = lambda value: value
    depth: float = 0


@dataclass(frozen=True, slots=True)
class Setting:
    """One line of the table."""

    names: Names
    default: object
    kind: Kind
    meaning: str

    @property
    def key(self) -> str:
        return ".".join(self.names)


@dataclass(frozen=True, slots=True)
class Entry:
    """A value in force and where it came from, fit to be shown."""

    key: str
    value: object
    origin: str


def _number(allowed: str, fits: Callable[[float], bool]) -> Kind:
    # A boolean is an int to Python, and never a number to a person.
    return Kind(allowed, lambda value: (type(value) is int or type(value) is float) and fits(value), float)


def _is_whole(value: object, least: int) -> bool:
    return type(value) is int and value >= least


def _whole(of: str, *, least: int = 1) -> Kind:
    return Kind(f"a whole number of {of}, at least {least}", lambda value: _is_whole(value, least))


def _choice(choices: type[StrEnum]) -> Kind:
    return Kind(f"one of {', '.join(choices)}", lambda value: value in list(choices), choices)


def _text(allowed: str, pattern: str) -> Kind:
    return Kind(allowed, lambda value: isinstance(value, str) and re.fullmatch(pattern, value) is not None)


def _or_null(kind: Kind) -> Kind:
    return replace(
        kind, allowed=f"{kind.allowed}, or null", accepts=lambda value: value is None or kind.accepts(value)
    )


_SWITCH = Kind("true or false", lambda value: isinstance(value, bool))
_THRESHOLD = _number("a number above 0 and at most 1", lambda value: 0 < value <= 1)
_TARGET_RATIO = _number("a number from 0.1 to 0.8", lambda value: 0.1 <= value <= 0.8)
_TOKENS = _whole("tokens")
_CHARS = _whole("characters")
_BYTES = _whole("bytes")
_DAYS = _whole("days")
_CHARS_BY_TOOL = Kind(
    "for each tool a whole number of characters, at least 1, or inf",
    lambda value: value in ("inf", math.inf) or _is_whole(value, 1),
    lambda value: math.inf if value == "inf" else value,
    depth=1,
)
_NAME = _text("a name", r"\S(.*\S)?")
_MODEL = _text("provider/model such as openai/gpt-5-mini", r"[^\s/]+/\S+")
_ENGINE = _text(
    "a name such as compressor, or module:Class", r"[A-Za-z_][\w-]*|[A-Za-z_][\w.]*:[A-Za-z_][\w.]*"
)
_URL = _text("a URL such as postgresql://host/midfold", r"[A-Za-z][A-Za-z0-9+.-]*:\S+")
_ANYTHING = Kind("names with values of any kind", lambda _value: True, depth=math.inf)


class CacheTtl(StrEnum):
    """How long a provider keeps a cached prefix."""

    FIVE_MINUTES = "5m"
    ONE_HOUR = "1h"


class AuxiliaryMode(StrEnum):
    """Which model does the work beside the conversation."""

    AUTO = "auto"
    SAME_AS_MAIN = "same-as-main"
    CUSTOM = "custom"


@dataclass(frozen=True, slots=True)
class CompressionSettings:
    """When to compress, and what stays."""

    enabled: Annotated[
        bool, _SWITCH, "false stops automatic compression; one that is asked for still runs"
    ] = True
    threshold: Annotated[float, _THRESHOLD, "part of the window at which compression starts"] = 0.5
    target_ratio: Annotated[float, _TARGET_RATIO, "part of the threshold kept for the newest messages"] = 0.2
    protect_last_n: Annotated[int, _whole("messages"), "newest messages that are not pruned"] = 20
    protect_first_n: Annotated[int, _whole("messages", least=0), "first messages that are kept"] = 3
    summary_model: Annotated[str | None, _or_null(_MODEL), "model that writes summaries"] = None
    strategy: Annotated[Strategy, _choice(Strategy), "how much is folded"] = Strategy.STAGED
    style: Annotated[Style, _choice(Style), "what stays of an old tool result"] = Style.STUB
    template: Annotated[Template, _choice(Template), "headings of a summary"] = Template.HANDOFF
    pins: Annotated[bool, _SWITCH, "whether the user's rules are kept word for word"] = True
    budget: Annotated[Budget, _choice(Budget), "how room is shared out"] = Budget.RATIO
    head_tokens: Annotated[int, _TOKENS, "first messages, with `budget: fixed`"] = 4_000
    tail_tokens: Annotated[int, _TOKENS, "newest messages, with `budget: fixed`"] = 16_000
    summary_tokens: Annotated[int, _TOKENS, "summary, with `budget: fixed`"] = 4_000
    wait_until_it_pays: Annotated[
        bool, _SWITCH, "whether a fold waits while a warm cache makes it cost more than it saves"
    ] = False


@dataclass(frozen=True, slots=True)
class ContextSettings:
    """Who decides what stays in the context."""

    engine: Annotated[str, _ENGINE, "the context engine"] = "compressor"


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """The model of the conversation."""

    name: Annotated[str | None, _or_null(_NAME), "model of the conversation"] = None
    context_length: Annotated[int | None, _or_null(_TOKENS), "its window; null is what is known of it"] = None
    cache_ttl: Annotated[CacheTtl, _choice(CacheTtl), "life of a cached prefix"] = CacheTtl.FIVE_MINUTES


@dataclass(frozen=True, slots=True)
class CustomModels:
    """With `auxiliary.mode: custom`, the model of each task."""

    compression: Annotated[str | None, _or_null(_MODEL), "model for summaries, with `mode: custom`"] = None


@dataclass(frozen=True, slots=True)
class SummarizerSettings:
    """What is known about the model that writes summaries."""

    context_length: Annotated[int | None, _or_null(_TOKENS), "window of the model for summaries"] = None


@dataclass(frozen=True, slots=True)
class AuxiliarySettings:
    """The model that works beside the conversation."""

    mode: Annotated[AuxiliaryMode, _choice(AuxiliaryMode), "which model does side work"] = AuxiliaryMode.AUTO
    custom: CustomModels = CustomModels()
    compression: SummarizerSettings = SummarizerSettings()


@dataclass(frozen=True, slots=True)
class ToolOutputSettings:
    """How much of a tool's output enters the context."""

    result_chars: Annotated[int, _CHARS, "a longer result is put aside"] = 100_000
    turn_chars: Annotated[int, _CHARS, "when a turn holds more, its largest results are put aside"] = 200_000
    preview_chars: Annotated[int, _CHARS, "what is shown of a result put aside"] = 1_500
    per_tool: Annotated[Mapping[str, float], _CHARS_BY_TOOL, "`result_chars` of single tools"] = field(
        default_factory=lambda: MappingProxyType({"read_file": math.inf})
    )


@dataclass(frozen=True, slots=True)
class StoreSettings:
    """Where sessions are kept. The URL may hold a password."""

    url: Annotated[str | None, _or_null(_URL), "where sessions are kept; null is `MIDFOLD_HOME`"] = field(
        default=None, repr=False
    )
    redact: Annotated[bool, _SWITCH, "whether placeholders are stored in place of credentials"] = True
    quota_bytes: Annotated[int | None, _or_null(_BYTES), "what sessions may take; null is no limit"] = None
    keep_days: Annotated[
        int | None, _or_null(_DAYS), "untouched for longer, a conversation may be pruned; null keeps it"
    ] = None


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings, and for each dotted key where its value came from."""

    compression: CompressionSettings = CompressionSettings()
    context: ContextSettings = ContextSettings()
    model: ModelSettings = ModelSettings()
    auxiliary: AuxiliarySettings = AuxiliarySettings()
    tool_output: ToolOutputSettings = ToolOutputSettings()
    store: StoreSettings = StoreSettings()
    gateway: Annotated[Mapping[str, object], _ANYTHING, "the gateway"] = field(
        default_factory=lambda: MappingProxyType({}), repr=False
    )
    providers: Annotated[Mapping[str, object], _ANYTHING, "endpoints and keys of providers"] = field(
        default_factory=lambda: MappingProxyType({}), repr=False
    )
    origins: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}), repr=False)

    @property
    def summary_model(self) -> str | None:
        """The model that writes summaries; `None` is the model of the conversation, whichever it then is."""
        auxiliary = self.auxiliary
        custom = auxiliary.custom.compression if auxiliary.mode is AuxiliaryMode.CUSTOM else None
        return self.compression.summary_model or custom

    def policy(self, context_length: int, **overrides: object) -> CompressionPolicy:
        """Return how to compress in a window of so many tokens; `overrides` are fields of the policy."""
        compression = self.compression
        policy = CompressionPolicy(
            context_length=context_length,
            threshold=compression.threshold,
            target_ratio=compression.target_ratio,
            protect_first_n=compression.protect_first_n,
            protect_last_n=compression.protect_last_n,
            strategy=compression.strategy,
            style=compression.style,
            template=compression.template,
            budget=compression.budget,
            head_tokens=compression.head_tokens,
            tail_tokens=compression.tail_tokens,
            summary_tokens=compression.summary_tokens,
            pins=compression.pins,
            wait_until_it_pays=compression.wait_until_it_pays,
            summarizer_window=self.auxiliary.compression.context_length,
        )
        change: Callable[..., CompressionPolicy] = replace
        return change(policy, **overrides)

    def entries(self) -> list[Entry]:
        """List every value in force with where it came from; credentials are hidden."""
        leaves = [leaf for each in SETTINGS for leaf in _leaves(each.names, attrgetter(each.key)(self))]
        keys = [".".join(names) for names, _ in leaves]
        return [
            Entry(key, masked(names, value), self.origins.get(key, DEFAULT))
            for key, (names, value) in zip(keys, leaves, strict=True)
        ]


def find_setting(names: Names) -> Setting | None:
    """Return the setting that a value under `names` belongs to: its own, or the mapping it is an entry of."""
    for length in range(len(names), 0, -1):
        setting = _BY_NAMES.get(names[:length])
        if setting:
            return setting if len(names) - length <= setting.kind.depth else None
    return None


def make_settings(values: Mapping[Names, object], origins: Mapping[str, str]) -> Settings:
    """Put converted values in the place of defaults. The entries of a mapping join its default entries."""
    given: dict[str, object] = {}
    for names, value in values.items():
        _plant(given, names, value)
    return replace(_changed(Settings(), given), origins=MappingProxyType(dict(origins)))


def _list_settings(section: object, names: Names = ()) -> Iterator[Setting]:
    if not is_dataclass(section) or isinstance(section, type):
        return
    for each in fields(section):
        below, value = (*names, each.name), attrgetter(each.name)(section)
        if get_origin(each.type) is Annotated:
            _type, kind, meaning = get_args(each.type)
            yield Setting(below, value, kind, meaning)
        yield from _list_settings(value, below)


def _leaves(names: Names, value: object) -> Iterator[tuple[Names, object]]:
    if isinstance(value, Mapping) and value:
        for name, item in value.items():
            yield from _leaves((*names, str(name)), item)
    else:
        yield names, value


def _plant(tree: dict[str, object], names: Names, value: object) -> None:
    *branches, leaf = names
    for name in branches:
        branch = tree.get(name)
        # An empty mapping was somebody's value, and is theirs.
        if not isinstance(branch, dict) or not branch:
            branch = tree[name] = {}
        tree = branch
    tree[leaf] = value


def _changed(section: _T, given: Mapping[str, object]) -> _T:
    changes: dict[str, object] = {}
    for name, value in given.items():
        current = attrgetter(name)(section)
        if not isinstance(value, Mapping):
            changes[name] = value
        elif isinstance(current, Mapping):
            changes[name] = _frozen({**current, **value})
        else:
            changes[name] = _changed(current, value)
    change: Callable[..., _T] = replace
    return change(section, **changes)


def _frozen(value: object) -> object:
    if isinstance(value, Mapping):
        return MappingProxyType({name: _frozen(item) for name, item in value.items()})
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


SETTINGS = tuple(_list_settings(Settings()))
"""The table, in the order in which it is shown."""
SECTIONS = frozenset(each.names[:length] for each in SETTINGS for length in range(len(each.names)))
"""The names that lead to settings without being one; the empty tuple is the whole configuration."""
_BY_NAMES = {each.names: each for each in SETTINGS}
