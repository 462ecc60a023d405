"""The table of settings: defaults, what each may be, and the page that shows them."""

import math
import re
from pathlib import Path

import pytest

from midfold import compress
from midfold.cli.commands.compress import command as compress_command
from midfold.cli.commands.config import format_value
from midfold.config import SETTINGS, Settings, load_settings
from midfold.config.schema import CompressionSettings
from midfold.errors import ConfigError
from midfold.folding import FOLD_SETTINGS, Budget, CompressionPolicy, Strategy, Style
from midfold.summaries.sections import Template

PAGE = Path(__file__).parents[2] / "docs" / "configuration.md"
DEFAULTS = {
    "compression.enabled": True,
    "compression.threshold": 0.5,
    "compression.target_ratio": 0.2,
    "compression.protect_last_n": 20,
    "compression.protect_first_n": 3,
    "compression.summary_model": None,
    "compression.strategy": "staged",
    "compression.style": "stub",
    "compression.template": "handoff",
    "compression.pins": True,
    "compression.budget": "ratio",
    "compression.head_tokens": 4_000,
    "compression.tail_tokens": 16_000,
    "compression.summary_tokens": 4_000,
    "compression.wait_until_it_pays": False,
    "context.engine": "compressor",
    "context.prune_tools": False,
    "context.answers_by_model": False,
    "model.name": None,
    "model.context_length": None,
    "model.cache_ttl": "5m",
    "model.fallback": None,
    "auxiliary.mode": "auto",
    "auxiliary.custom.compression": None,
    "auxiliary.compression.context_length": None,
    "tool_output.result_chars": 100_000,
    "tool_output.turn_chars": 200_000,
    "recall.auto": False,
    "recall.max_tokens": 1_000,
    "tool_output.preview_chars": 1_500,
    "tool_output.per_tool": {"read_file": math.inf},
    "store.url": None,
    "store.redact": True,
    "store.quota_bytes": None,
    "store.keep_days": None,
    "gateway.host": "127.0.0.1",
    "gateway.port": 8787,
    "gateway.allowed_hosts": (),
    "gateway.key_env": "MIDFOLD_GATEWAY_KEY",
    "gateway.key_file": None,
    "gateway.upstreams": {},
    "gateway.hygiene": 0.85,
    "gateway.report_usage": "provider",
    "gateway.offload": False,
    "gateway.recall": False,
    "gateway.keep_days": 30,
    "gateway.idle_minutes": 60,
    "gateway.ping_seconds": 15,
    "gateway.stall_seconds": 60,
    "gateway.header_seconds": 20,
    "gateway.log_format": "text",
    "gateway.tracing": False,
    "gateway.stop_seconds": 20,
    "gateway.max_body_bytes": 64 * 1024 * 1024,
    "gateway.max_requests": 512,
    "providers": {},
}
POSITIVE = (0, -1, 1.5, True, "3", None, [3])
POSITIVE_OR_NULL = (0, -1, 1.5, False, "3")
REFUSED = {
    "compression.enabled": ("yes", 1, 0, None, "false"),
    "compression.threshold": (0, -0.1, 1.01, 2, 64_000, math.nan, math.inf, True, "0.5", None, [0.5]),
    "compression.target_ratio": (0.09, 0.81, 0, True, "0.2", None),
    "compression.protect_last_n": POSITIVE,
    "compression.protect_first_n": (-1, 1.5, True, "3", None),
    "compression.summary_model": ("gpt-5-mini", "", "/x", "openai/", 5, "a b/c"),
    "compression.strategy": ("folded", "", "FOLD", None, 1),
    "compression.style": ("stubs", None),
    "compression.template": ("long", None),
    "compression.pins": (None, 2, "perhaps"),
    "compression.budget": ("free", 4_000, None),
    "compression.head_tokens": POSITIVE,
    "compression.tail_tokens": POSITIVE,
    "compression.summary_tokens": POSITIVE,
    "compression.wait_until_it_pays": (None, 1, "no"),
    "context.prune_tools": ("yes", 1, None),
    "context.answers_by_model": ("yes", 1, None),
    "context.engine": ("", "../evil", "a b", "module:", ":Class", None, 7),
    "model.name": ("", " ", 5),
    "model.context_length": POSITIVE_OR_NULL,
    "model.cache_ttl": ("10m", 5, None),
    "model.fallback": ("gpt-5", 5, ""),
    "auxiliary.mode": ("manual", None),
    "auxiliary.custom.compression": ("gpt-5-mini", 5),
    "auxiliary.compression.context_length": POSITIVE_OR_NULL,
    "tool_output.result_chars": POSITIVE,
    "tool_output.turn_chars": POSITIVE,
    "tool_output.preview_chars": POSITIVE,
    "tool_output.per_tool": (5, "inf", [1]),
    "tool_output.per_tool.terminal": (0, -1, 1.5, True, "many", None, {"deep": 1}),
    "store.url": ("sessions", "", 5),
    "store.redact": (None, 1, "no"),
    "store.quota_bytes": POSITIVE_OR_NULL,
    "store.keep_days": POSITIVE_OR_NULL,
    "gateway.host": ("", "a b", 5, None),
    "gateway.port": (-1, 65_536, "x", None, True),
    "gateway.allowed_hosts": ("x", [""], [5], None),
    "gateway.key_env": ("", " x", None),
    "gateway.key_file": ("", 5),
    "gateway.upstreams": (5, "x", [1]),
    "gateway.hygiene": (0.4, 1.1, "x", None, True),
    "gateway.report_usage": ("both", None),
    "gateway.offload": ("yes", 1, None),
    "gateway.recall": ("yes", 1, None),
    "gateway.keep_days": POSITIVE_OR_NULL,
    "gateway.idle_minutes": POSITIVE,
    "gateway.ping_seconds": POSITIVE,
    "gateway.stall_seconds": POSITIVE,
    "gateway.header_seconds": POSITIVE,
    "gateway.stop_seconds": POSITIVE,
    "gateway.max_body_bytes": POSITIVE,
    "gateway.max_requests": POSITIVE,
    "providers": (5, "x", [1]),
}
ACCEPTED = {
    "compression.enabled": (True, False),
    "compression.threshold": (0.001, 0.5, 1, 1.0),
    "compression.target_ratio": (0.1, 0.8),
    "compression.protect_last_n": (1, 500),
    "compression.protect_first_n": (0, 7),
    "compression.summary_model": (None, "openai/gpt-5-mini", "openrouter/anthropic/claude-sonnet-4.5"),
    "compression.strategy": tuple(Strategy),
    "compression.style": ("stub", "excerpt", "placeholder"),
    "compression.template": ("handoff", "progress", "brief"),
    "compression.pins": (True, False),
    "compression.budget": ("ratio", "scaled", "fixed"),
    "compression.wait_until_it_pays": (True, False),
    "context.prune_tools": (True, False),
    "context.answers_by_model": (True, False),
    "context.engine": ("compressor", "lcm", "my-engine", "package.module:Class"),
    "model.name": (None, "claude-sonnet-4-5", "qwen2.5:14b"),
    "model.context_length": (None, 1, 200_000),
    "model.cache_ttl": ("5m", "1h"),
    "model.fallback": ("openai/gpt-5-mini", None),
    "auxiliary.mode": ("auto", "same-as-main", "custom"),
    "auxiliary.custom.compression": (None, "openai/gpt-5-mini"),
    "auxiliary.compression.context_length": (None, 32_000),
    "tool_output.per_tool.terminal": (1, 20_000, math.inf),
    "store.url": (None, "sqlite:///x.db", "postgresql://host/db"),
    "store.redact": (True, False),
    "store.quota_bytes": (None, 1, 10**12),
    "store.keep_days": (None, 1, 30),
    "gateway.host": ("127.0.0.1", "::1", "gateway.example"),
    "gateway.port": (0, 8787, 65_535),
    "gateway.allowed_hosts": ([], ["gateway.example"]),
    "gateway.upstreams.openai.base_url": ("http://localhost:1/v1", None),
    "gateway.hygiene": (0.5, 1),
    "gateway.report_usage": ("provider", "client"),
    "gateway.keep_days": (None, 1, 30),
    "providers.openai.base_url": ("http://localhost:1", None),
}
NOBODY = {"MIDFOLD_HOME": "nowhere"}


def load(key, value):
    """Set one key as a file would, `None` included."""
    *sections, name = key.split(".")
    tree = {name: value}
    for section in reversed(sections):
        tree = {section: tree}
    return load_settings(environment=NOBODY, flags=tree)


def value_of(settings, key):
    return {entry.key: entry.value for entry in settings.entries()}[key]


def test_every_default_is_the_one_in_the_table():
    assert {setting.key: setting.default for setting in SETTINGS} == DEFAULTS


def test_settings_made_without_a_file_are_the_defaults():
    settings = load_settings(environment=NOBODY)
    assert settings == Settings()
    assert {entry.origin for entry in settings.entries()} == {"default"}


@pytest.mark.parametrize(("key", "value"), [(key, value) for key in REFUSED for value in REFUSED[key]])
def test_a_value_out_of_range_names_key_value_and_range(key, value):
    with pytest.raises(ConfigError) as raised:
        load(key, value)
    error = raised.value
    allowed = next(setting.kind.allowed for setting in SETTINGS if key.startswith(setting.key))
    assert error.key == key
    assert str(error) == f"{key} is {value!r}; expected {allowed} (from {flag_of(key)})"


def flag_of(key):
    *sections, name = key.split(".")
    return f"flag --{sections[0] if name == 'name' else name.replace('_', '-')}"


@pytest.mark.parametrize(("key", "value"), [(key, value) for key in ACCEPTED for value in ACCEPTED[key]])
def test_a_value_within_range_is_taken(key, value):
    assert value_of(load(key, value), key) == value


def test_choices_are_enums_and_fractions_are_floats():
    settings = load_settings(
        environment=NOBODY,
        flags={"compression.strategy": "fold", "compression.threshold": 1, "compression.budget": "fixed"},
    )
    assert settings.compression.strategy is Strategy.FOLD
    assert settings.compression.budget is Budget.FIXED
    assert type(settings.compression.threshold) is float


def test_the_defaults_give_the_default_policy():
    assert Settings().policy(200_000) == CompressionPolicy(context_length=200_000)


def test_a_policy_takes_its_fields_from_the_settings():
    flags = {
        "compression.threshold": 0.6,
        "compression.target_ratio": 0.3,
        "compression.protect_first_n": 1,
        "compression.protect_last_n": 2,
        "compression.strategy": "prune",
        "compression.style": "excerpt",
        "compression.template": "brief",
        "compression.pins": False,
        "compression.budget": "fixed",
        "compression.head_tokens": 10,
        "compression.tail_tokens": 20,
        "compression.summary_tokens": 30,
        "auxiliary.compression.context_length": 40,
    }
    assert load_settings(environment=NOBODY, flags=flags).policy(90_000) == CompressionPolicy(
        context_length=90_000,
        threshold=0.6,
        target_ratio=0.3,
        protect_first_n=1,
        protect_last_n=2,
        strategy=Strategy.PRUNE,
        style=Style.EXCERPT,
        template=Template.BRIEF,
        pins=False,
        budget=Budget.FIXED,
        head_tokens=10,
        tail_tokens=20,
        summary_tokens=30,
        summarizer_window=40,
    )


def test_an_override_wins_over_the_settings():
    policy = Settings().policy(200_000, max_tokens=5_000, style=Style.EXCERPT)
    assert (policy.max_tokens, policy.style) == (5_000, Style.EXCERPT)
    with pytest.raises(TypeError, match="nonsense"):
        Settings().policy(200_000, nonsense=1)


def test_settings_cannot_be_changed():
    settings = load("providers", {"openai": {"models": ["a"]}})
    with pytest.raises(AttributeError):
        settings.compression.threshold = 1
    with pytest.raises(TypeError):
        settings.providers["openai"]["models"] = ["b"]


def test_the_page_shows_the_table():
    rows = [
        f"| `{setting.key}{'.*' if setting.kind.depth else ''}` | `{format_value(setting.default)}` "
        f"| {setting.kind.allowed} | {setting.meaning} |"
        for setting in SETTINGS
    ]
    assert "\n".join(
        ["| key | default | allowed | what |", "|---|---|---|---|", *rows, ""]
    ) in PAGE.read_text("utf-8")


@pytest.mark.parametrize("suffix", ["yaml", "toml"])
def test_the_files_on_the_page_load(suffix, tmp_path):
    (example,) = re.findall(rf"^```{suffix}\n(.*?)^```$", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    file = tmp_path / f"config.{suffix}"
    file.write_text(example)
    settings = load_settings(path=file, environment={})
    assert (settings.compression.threshold, settings.model.cache_ttl) == (0.6, "1h")
    assert settings.tool_output.per_tool == {"read_file": math.inf, "terminal": 20_000}


@pytest.mark.parametrize(
    ("flags", "model"),
    [
        ({}, None),
        ({"auxiliary.mode": "same-as-main"}, None),
        ({"auxiliary.custom.compression": "a/custom"}, None),
        ({"auxiliary.mode": "custom"}, None),
        ({"auxiliary.mode": "custom", "auxiliary.custom.compression": "a/custom"}, "a/custom"),
        ({"compression.summary_model": "a/chosen"}, "a/chosen"),
        (
            {
                "compression.summary_model": "a/chosen",
                "auxiliary.mode": "custom",
                "auxiliary.custom.compression": "a/custom",
            },
            "a/chosen",
        ),
    ],
)
def test_model_for_summaries_is_the_chosen_then_the_custom_then_that_of_the_conversation(flags, model):
    assert load_settings(flags=flags, environment=NOBODY).summary_model == model


@pytest.mark.parametrize("name", FOLD_SETTINGS)
def test_a_setting_of_a_fold_is_declared_once(name):
    """The policy, the file, the call and the command line all read the one declaration."""
    declared = FOLD_SETTINGS[name]
    [setting] = [each for each in SETTINGS if each.key == f"compression.{name}"]
    assert (setting.kind, setting.meaning) == (declared.kind, declared.meaning)
    assert setting.kind is declared.kind
    assert getattr(CompressionPolicy(), name) == setting.default == declared.default
    assert name not in CompressionPolicy.__annotations__
    assert name not in CompressionSettings.__annotations__


def test_options_of_the_command_line_are_those_that_are_declared():
    options = {option.name: option for option in compress_command.params}
    for name in ("strategy", "style", "template"):
        assert tuple(options[name].type.choices) == FOLD_SETTINGS[name].kind.choices
        assert f"default: compression.{name}" in options[name].help  # the settings decide


def test_a_call_takes_every_choice_that_is_declared_and_no_other():
    messages = [{"role": "user", "content": "Good morning"}]
    for name in ("strategy", "style", "template"):
        for word in FOLD_SETTINGS[name].kind.choices:
            compress(messages, max_tokens=1_000, **{name: word})
        with pytest.raises(ConfigError, match=FOLD_SETTINGS[name].kind.allowed):
            compress(messages, max_tokens=1_000, **{name: "nothing"})
