"""Every setting: its name, its default, what it may be and what it means.

A setting is one field of one of the section classes, annotated with its kind and its meaning; those of a
compression are declared by `FoldSettings`. Checking, `midfold config show` and the table in the
documentation are read off these fields and cannot disagree.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from operator import attrgetter
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, TypeVar

from midfold.config.masking import masked
from midfold.late_dataclasses import dataclass, field, replace
from midfold.settings import (
    FOLD_SETTINGS,
    SWITCH,
    TOKENS,
    FoldSettings,
    Names,
    Setting,
    SettingKind,
    choice,
    is_whole,
    list_settings,
    number,
    or_null,
    pattern,
    whole,
)

if TYPE_CHECKING:
    from midfold.folding import CompressionPolicy

DEFAULT = "default"
"""The origin of values that were not set."""

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class SettingValue:
    """A value in force and where it came from, fit to be shown."""

    key: str
    value: object
    origin: str


_CHARS_BY_TOOL = SettingKind(
    "for each tool a whole number of characters, at least 1, or inf",
    lambda value: value in ("inf", math.inf) or is_whole(value, 1),
    lambda value: math.inf if value == "inf" else value,
    depth=1,
)
_CHARS, _BYTES, _DAYS = whole("characters"), whole("bytes"), whole("days")
_NAME = pattern("a name", r"\S(.*\S)?")
_MODEL = pattern("provider/model such as openai/gpt-5-mini", r"[^\s/]+/\S+")
_ENGINE = pattern(
    "a name such as compressor, or module:Class", r"[A-Za-z_][\w-]*|[A-Za-z_][\w.]*:[A-Za-z_][\w.]*"
)
_URL = pattern("a URL such as sqlite:///folder/sessions.db", r"[A-Za-z][A-Za-z0-9+.-]*:\S+")
_HOST = pattern("a name or address such as 127.0.0.1", r"[A-Za-z0-9.:_-]+")
_HOSTS = SettingKind(
    "a list of names such as [gateway.example]",
    lambda value: isinstance(value, list | tuple) and all(map(_HOST.accepts, value)),
    tuple,
)
_PORT = SettingKind(
    "a port from 0 to 65535", lambda value: is_whole(value, 0) and isinstance(value, int) and value < 65_536
)
_HYGIENE = number("a number from 0.5 to 1", lambda value: 0.5 <= value <= 1)
_ANYTHING = SettingKind("names with values of any kind", lambda _value: True, depth=math.inf)


class CacheTtl(StrEnum):
    """The time that a provider keeps a cached prefix."""

    FIVE_MINUTES = "5m"
    ONE_HOUR = "1h"


class AuxiliaryMode(StrEnum):
    """The choice of the model for the work beside the conversation."""

    AUTO = "auto"
    SAME_AS_MAIN = "same-as-main"
    CUSTOM = "custom"


@dataclass(frozen=True, slots=True)
class CompressionSettings(FoldSettings):
    """When to compress, by whom, and what stays."""

    enabled: Annotated[
        bool, SWITCH, "false stops automatic compression; one that is asked for still runs"
    ] = True
    summary_model: Annotated[str | None, or_null(_MODEL), "model that writes summaries"] = None


@dataclass(frozen=True, slots=True)
class ContextSettings:
    """The engine that decides what stays in the context."""

    engine: Annotated[str, _ENGINE, "the context engine"] = "compressor"
    prune_tools: Annotated[bool, SWITCH, "leave out tools that went unused for long"] = False
    answers_by_model: Annotated[
        bool, SWITCH, "let the summary model answer lcm_expand_query, at its price"
    ] = False


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """The model of the conversation."""

    name: Annotated[str | None, or_null(_NAME), "model of the conversation"] = None
    context_length: Annotated[
        int | None, or_null(TOKENS), "context window; null asks the server or the table"
    ] = None
    cache_ttl: Annotated[CacheTtl, choice(CacheTtl), "life of a cached prefix"] = CacheTtl.FIVE_MINUTES
    fallback: Annotated[str | None, or_null(_MODEL), "model that takes over when that one fails"] = None


@dataclass(frozen=True, slots=True)
class CustomModels:
    """With `auxiliary.mode: custom`, the model of each task."""

    compression: Annotated[str | None, or_null(_MODEL), "model for summaries, with `mode: custom`"] = None


@dataclass(frozen=True, slots=True)
class SummarizerSettings:
    """Facts about the model that writes summaries."""

    context_length: Annotated[int | None, or_null(TOKENS), "window of the model for summaries"] = None


@dataclass(frozen=True, slots=True)
class AuxiliarySettings:
    """The model that works beside the conversation."""

    mode: Annotated[AuxiliaryMode, choice(AuxiliaryMode), "which model writes summaries"] = AuxiliaryMode.AUTO
    custom: CustomModels = CustomModels()
    compression: SummarizerSettings = SummarizerSettings()


@dataclass(frozen=True, slots=True)
class ToolOutputSettings:
    """Limits of tool output in the context."""

    result_chars: Annotated[int, _CHARS, "longer results are offloaded"] = 100_000
    turn_chars: Annotated[int, _CHARS, "limit of a turn; its largest results are offloaded"] = 200_000
    preview_chars: Annotated[int, _CHARS, "length of the preview of an offloaded result"] = 1_500
    per_tool: Annotated[Mapping[str, float], _CHARS_BY_TOOL, "`result_chars` for single tools"] = field(
        default_factory=lambda: MappingProxyType({"read_file": math.inf})
    )


@dataclass(frozen=True, slots=True)
class RecallSettings:
    """Recall without being asked."""

    auto: Annotated[bool, SWITCH, "show related earlier messages beside a request"] = False
    max_tokens: Annotated[int, TOKENS, "limit of what `auto` shows"] = 1_000


@dataclass(frozen=True, slots=True)
class StoreSettings:
    """Where sessions are kept. The URL may hold a password."""

    url: Annotated[
        str | None, or_null(_URL), "address of the session store; null is a file in `MIDFOLD_HOME`"
    ] = field(default=None, repr=False)
    redact: Annotated[bool, SWITCH, "store placeholders in place of credentials"] = True
    quota_bytes: Annotated[int | None, or_null(_BYTES), "limit for stored messages; null sets none"] = None
    keep_days: Annotated[
        int | None,
        or_null(_DAYS),
        "unused for longer, a conversation may be pruned; null keeps all",
    ] = None


class ReportedUsage(StrEnum):
    """The count of prompt tokens that clients of the gateway are told."""

    PROVIDER = "provider"
    """what the provider reports of the request as it was sent"""
    CLIENT = "client"
    """the same, and what folds took out of the request that the client sent"""


class LogFormat(StrEnum):
    """The form of the gateway's log."""

    TEXT = "text"
    JSON = "json"


@dataclass(frozen=True, slots=True)
class GatewaySettings:
    """The gateway: where it listens, where requests go, what it keeps and for how long."""

    host: Annotated[str, _HOST, "address to listen on; beyond loopback it needs a key"] = "127.0.0.1"
    port: Annotated[int, _PORT, "port to listen on; 0 is any free one"] = 8787
    allowed_hosts: Annotated[tuple[str, ...], _HOSTS, "other host names that clients may use"] = ()
    key_env: Annotated[str, _NAME, "environment variable with the key that clients must send"] = (
        "MIDFOLD_GATEWAY_KEY"
    )
    key_file: Annotated[str | None, or_null(_NAME), "file with that key"] = None
    upstreams: Annotated[Mapping[str, object], _ANYTHING, "addresses and keys of openai and anthropic"] = (
        field(default_factory=lambda: MappingProxyType({}), repr=False)
    )
    hygiene: Annotated[float, _HYGIENE, "part of the window above which a request is always folded"] = 0.85
    report_usage: Annotated[ReportedUsage, choice(ReportedUsage), "whose prompt tokens clients see"] = (
        ReportedUsage.PROVIDER
    )
    offload: Annotated[bool, SWITCH, "offload long tool results, see `tool_output`"] = False
    recall: Annotated[bool, SWITCH, "give models tools to read folded and offloaded messages"] = False
    keep_days: Annotated[
        int | None, or_null(_DAYS), "unused for longer, a conversation is deleted; null keeps all"
    ] = 30
    idle_minutes: Annotated[
        int, whole("minutes"), "idle time after which a conversation leaves the memory"
    ] = 60
    ping_seconds: Annotated[int, whole("seconds"), "silence after which a stream gets a keep-alive"] = 15
    stall_seconds: Annotated[
        int, whole("seconds"), "a client that reads nothing for this long is disconnected"
    ] = 60
    header_seconds: Annotated[int, whole("seconds"), "a client whose headers take longer is disconnected"] = (
        20
    )
    stop_seconds: Annotated[int, whole("seconds"), "time for open answers when the gateway stops"] = 20
    log_format: Annotated[LogFormat, choice(LogFormat), "lines for people, or one JSON object each"] = (
        LogFormat.TEXT
    )
    tracing: Annotated[bool, SWITCH, "report calls to OpenTelemetry, with the extra `otel`"] = False
    max_body_bytes: Annotated[int, _BYTES, "largest request"] = 64 * 1024 * 1024
    max_requests: Annotated[int, whole("requests"), "limit of requests at the same time"] = 512


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings, and for each dotted key where its value came from."""

    compression: CompressionSettings = CompressionSettings()
    context: ContextSettings = ContextSettings()
    model: ModelSettings = ModelSettings()
    auxiliary: AuxiliarySettings = AuxiliarySettings()
    tool_output: ToolOutputSettings = ToolOutputSettings()
    recall: RecallSettings = RecallSettings()
    store: StoreSettings = StoreSettings()
    gateway: GatewaySettings = GatewaySettings()
    providers: Annotated[Mapping[str, object], _ANYTHING, "addresses and keys of other providers"] = field(
        default_factory=lambda: MappingProxyType({}), repr=False
    )
    origins: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}), repr=False)

    @property
    def summary_model(self) -> str | None:
        """The model that writes summaries; `None` is the model of the conversation, whichever it then is."""
        auxiliary = self.auxiliary
        custom = auxiliary.custom.compression if auxiliary.mode is AuxiliaryMode.CUSTOM else None
        return self.compression.summary_model or custom

    def policy(self, context_length: int, **overrides: object) -> "CompressionPolicy":
        """Return the policy for a window of so many tokens; `overrides` are fields of the policy."""
        # Most commands read settings and never fold; loading the fold would double their start.
        from midfold.folding import CompressionPolicy

        chosen = {name: attrgetter(name)(self.compression) for name in FOLD_SETTINGS}
        summarizer_window = self.auxiliary.compression.context_length
        policy = CompressionPolicy(
            context_length=context_length, summarizer_window=summarizer_window, **chosen
        )
        change: Callable[..., CompressionPolicy] = replace
        return change(policy, **overrides)

    def entries(self) -> list[SettingValue]:
        """List every value in force with where it came from; credentials are hidden."""
        leaves = [leaf for each in SETTINGS for leaf in _leaves(each.names, attrgetter(each.key)(self))]
        keys = [".".join(names) for names, _ in leaves]
        return [
            SettingValue(key, masked(names, value), self.origins.get(key, DEFAULT))
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
    """Replace defaults by converted values. The entries of a mapping join its default entries."""
    given: dict[str, object] = {}
    for names, value in values.items():
        _set_in_tree(given, names, value)
    return replace(_changed(Settings(), given), origins=MappingProxyType(dict(origins)))


def _leaves(names: Names, value: object) -> Iterator[tuple[Names, object]]:
    if isinstance(value, Mapping) and value:
        for name, item in value.items():
            yield from _leaves((*names, str(name)), item)
    else:
        yield names, value


def _set_in_tree(tree: dict[str, object], names: Names, value: object) -> None:
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


SETTINGS = tuple(list_settings(Settings()))
"""The table, in the order in which it is shown."""
SECTIONS = frozenset(each.names[:length] for each in SETTINGS for length in range(len(each.names)))
"""The names that lead to settings without being one; the empty tuple is the whole configuration."""
_BY_NAMES = {each.names: each for each in SETTINGS}
