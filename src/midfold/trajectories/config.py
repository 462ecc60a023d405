"""The settings of a run that compresses trajectories, checked before the first row is read."""

from collections.abc import Mapping
from dataclasses import asdict
from difflib import get_close_matches
from enum import StrEnum
from math import inf
from pathlib import Path
from typing import Annotated

from midfold.config import Description, masked, read_settings_file
from midfold.errors import ConfigError
from midfold.late_dataclasses import dataclass, field
from midfold.settings import SWITCH, SettingKind, choice, is_whole, kinds_of
from midfold.texts import read_text

SECTION = "trajectories"
LEAST_SUMMARY_TOKENS = 120
"""Below this a summary says less than the words around it."""


class OnFailure(StrEnum):
    """The treatment of a trajectory whose summary failed."""

    KEEP = "keep"
    """it stays as it was, and is listed"""
    DIGEST = "digest"
    """the built-in digest stands in"""


def read_line(name: str) -> str:
    """Return a text that is put into trajectories as one line, however its file is wrapped."""
    return " ".join(read_text("midfold.trajectories", f"texts/{name}").split())


def _whole(least: int) -> SettingKind:
    return SettingKind(f"a whole number of at least {least}", lambda value: is_whole(value, least))


def _is_duration(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < inf


_TEXT = SettingKind("text", lambda value: isinstance(value, str))
_OPTIONAL_TEXT = SettingKind("text", lambda value: value is None or isinstance(value, str))
_SECONDS = SettingKind("a number of seconds above 0", _is_duration)


@dataclass(frozen=True, slots=True)
class CompressionConfig:
    """The settings for compressing trajectories. An unusable value is a `ConfigError` that names its key."""

    target_max_tokens: Annotated[int, _whole(2 * LEAST_SUMMARY_TOKENS), "the size to reach"] = 15_250
    summary_target_tokens: Annotated[
        int, _whole(LEAST_SUMMARY_TOKENS), "of the whole turn that holds the summary"
    ] = 750
    protect_first_system: Annotated[bool, SWITCH, "whether the first system turn stays"] = True
    protect_first_human: Annotated[bool, SWITCH, "whether the first human turn stays"] = True
    protect_first_gpt: Annotated[bool, SWITCH, "whether the first turn of the model stays"] = True
    protect_first_tool: Annotated[bool, SWITCH, "whether the first tool turn stays"] = True
    protect_last_turns: Annotated[int, _whole(1), "newest turns that stay"] = 4
    add_summary_notice: Annotated[bool, SWITCH, "whether the system turn says that there is a summary"] = True
    summary_notice_text: Annotated[str, _TEXT, "what it says"] = field(
        default_factory=lambda: read_line("notice.md")
    )
    max_passes: Annotated[
        int, _whole(1), "how often more may be folded when a summary turned out too long"
    ] = 3
    tokenizer: Annotated[str, _TEXT, "a packaged vocabulary, a model, or the path of a `tokenizer.json`"] = (
        "o200k_base"
    )
    summary_model: Annotated[
        str | None,
        _OPTIONAL_TEXT,
        "`provider/model` that writes the summaries; the built-in digest where there is none",
    ] = None
    base_url: Annotated[str | None, _OPTIONAL_TEXT, "where that model is"] = None
    max_concurrent_requests: Annotated[int, _whole(1), "how many summaries are asked for at once"] = 50
    timeout_seconds: Annotated[
        float, _SECONDS, "for all summaries of one trajectory; waiting for one's turn does not count"
    ] = 300.0
    max_retries: Annotated[int, _whole(0), "how often a summary is asked for again"] = 3
    on_summary_failure: Annotated[
        str, choice(OnFailure), "what becomes of a trajectory whose summary failed"
    ] = OnFailure.KEEP
    redact_output: Annotated[
        bool,
        SWITCH,
        "whether secrets are taken out of the turns that stay; out of summaries and prompts they always are",
    ] = False

    def __post_init__(self) -> None:
        kinds = kinds_of(CompressionConfig)
        for name, value in asdict(self).items():
            if not kinds[name].accepts(value):
                raise _wrong(name, value, kinds[name].allowed)
        if self.summary_target_tokens >= self.target_max_tokens:
            raise _wrong(
                "summary_target_tokens",
                self.summary_target_tokens,
                f"fewer tokens than target_max_tokens, {self.target_max_tokens}",
            )
        if self.base_url is not None and self.summary_model is None:
            raise _wrong("base_url", masked(("base_url",), self.base_url), "a summary_model beside it")

    @classmethod
    def from_mapping(cls, values: Mapping[str, object]) -> "CompressionConfig":
        """Take settings by their names; raises `ConfigError` for an unknown one, with what it may mean."""
        known = list(kinds_of(cls))
        for name in values:
            if name == "model":
                raise _wrong(
                    "model", values[name], "summary_model, the name of the model that writes summaries"
                )
            if name not in known:
                near = get_close_matches(str(name), known, n=1)
                raise _wrong(
                    str(name), Description("unknown"), near[0] if near else f"one of {', '.join(known)}"
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


def _wrong(name: str, value: object, hint: str) -> ConfigError:
    return ConfigError(f"{SECTION}.{name}", value, hint=hint)
