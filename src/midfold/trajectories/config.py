"""How trajectories are compressed: the settings of a run, checked before the first row is read."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from difflib import get_close_matches
from enum import StrEnum
from functools import cache
from importlib.resources import files
from math import inf
from pathlib import Path

from midfold.config import Described, masked, read_settings_file
from midfold.errors import ConfigError

SECTION = "trajectories"
LEAST_SUMMARY_TOKENS = 120
"""Below this a summary says less than the words around it."""


class OnFailure(StrEnum):
    """What becomes of a trajectory whose summary failed."""

    KEEP = "keep"
    """it stays as it was, and is listed"""
    DIGEST = "digest"
    """the built-in digest stands in"""


@cache
def read_text(name: str) -> str:
    """Return a text that is put into trajectories as one line, however its file is wrapped."""
    return " ".join(files("midfold.trajectories").joinpath("texts", name).read_text("utf-8").split())


@dataclass(frozen=True, slots=True)
class CompressionConfig:
    """How to compress trajectories. A value that cannot be used is a `ConfigError` that names its key."""

    target_max_tokens: int = 15_250
    summary_target_tokens: int = 750
    """of the whole turn that holds the summary"""
    protect_first_system: bool = True
    protect_first_human: bool = True
    protect_first_gpt: bool = True
    protect_first_tool: bool = True
    protect_last_turns: int = 4
    add_summary_notice: bool = True
    """whether the system turn says that there is a summary"""
    summary_notice_text: str = field(default_factory=lambda: read_text("notice.md"))
    max_passes: int = 3
    """how often more may be folded when a summary turned out too long"""
    tokenizer: str = "o200k_base"
    """a packaged vocabulary, a model, or the path of a `tokenizer.json`"""
    model: str | None = None
    """`provider/model` that writes the summaries; the built-in digest where there is none"""
    base_url: str | None = None
    max_concurrent_requests: int = 50
    timeout_seconds: float = 300.0
    """for all summaries of one trajectory; waiting for one's turn does not count"""
    max_retries: int = 3
    on_summary_failure: str = OnFailure.KEEP
    redact_output: bool = False
    """whether secrets are taken out of the turns that stay; out of summaries and prompts they always are"""

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if not _RULES[name].accepts(value):
                raise _wrong(name, value, _RULES[name].hint)
        if self.summary_target_tokens >= self.target_max_tokens:
            raise _wrong(
                "summary_target_tokens",
                self.summary_target_tokens,
                f"fewer tokens than target_max_tokens, {self.target_max_tokens}",
            )
        if self.base_url is not None and self.model is None:
            raise _wrong("base_url", masked(("base_url",), self.base_url), "a model beside it")

    @classmethod
    def from_mapping(cls, values: Mapping[str, object]) -> "CompressionConfig":
        """Take settings by their names; raises `ConfigError` for an unknown one, with what it may mean."""
        known = list(_RULES)
        for name in values:
            if name not in known:
                near = get_close_matches(str(name), known, n=1)
                raise _wrong(
                    str(name), Described("unknown"), near[0] if near else f"one of {', '.join(known)}"
                )
        return cls(**values)  # type: ignore[arg-type]  # each is checked as it comes in

    @classmethod
    def from_yaml(cls, path: Path) -> "CompressionConfig":
        """Read a YAML or TOML file; its settings stand at the top, or in a section `trajectories`."""
        tree = read_settings_file(path)
        section = tree.get(SECTION, tree)
        if section is None:
            return cls()
        if not isinstance(section, Mapping):
            raise ConfigError(SECTION, section, hint="a section with settings")
        return cls.from_mapping({str(name): value for name, value in section.items()})

    def to_dict(self) -> dict[str, object]:
        """Return the settings as plain values, which `from_mapping` takes back."""
        return {**asdict(self), "on_summary_failure": str(self.on_summary_failure)}

    def to_shown(self) -> dict[str, object]:
        """Return the settings as they may be written down: without a password or key in an address."""
        return {name: masked(("url",), value) for name, value in self.to_dict().items()}


@dataclass(frozen=True, slots=True)
class _Rule:
    """What a setting may be, for the code and for a person."""

    accepts: Callable[[object], bool]
    hint: str


def _whole(lowest: int) -> _Rule:
    return _Rule(lambda value: type(value) is int and value >= lowest, f"a whole number of at least {lowest}")


def _is_duration(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < inf


_FLAG = _Rule(lambda value: isinstance(value, bool), "true or false")
_TEXT = _Rule(lambda value: isinstance(value, str), "text")
_OPTIONAL_TEXT = _Rule(lambda value: value is None or isinstance(value, str), "text")
_RULES = {
    "target_max_tokens": _whole(2 * LEAST_SUMMARY_TOKENS),
    "summary_target_tokens": _whole(LEAST_SUMMARY_TOKENS),
    "protect_first_system": _FLAG,
    "protect_first_human": _FLAG,
    "protect_first_gpt": _FLAG,
    "protect_first_tool": _FLAG,
    "protect_last_turns": _whole(1),
    "add_summary_notice": _FLAG,
    "summary_notice_text": _TEXT,
    "max_passes": _whole(1),
    "tokenizer": _TEXT,
    "model": _OPTIONAL_TEXT,
    "base_url": _OPTIONAL_TEXT,
    "max_concurrent_requests": _whole(1),
    "timeout_seconds": _Rule(_is_duration, "a number of seconds above 0"),
    "max_retries": _whole(0),
    "on_summary_failure": _Rule(lambda value: value in tuple(OnFailure), f"one of {', '.join(OnFailure)}"),
    "redact_output": _FLAG,
}


def _wrong(name: str, value: object, hint: str) -> ConfigError:
    return ConfigError(f"{SECTION}.{name}", value, hint=hint)
