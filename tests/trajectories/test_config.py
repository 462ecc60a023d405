"""Settings are checked before the first row is read, and a wrong one says what was meant."""

from dataclasses import replace

import pytest

from midfold.errors import ConfigError
from midfold.trajectories import CompressionConfig


def test_defaults_are_those_that_people_know():
    config = CompressionConfig()
    assert (config.target_max_tokens, config.summary_target_tokens, config.protect_last_turns) == (
        15_250,
        750,
        4,
    )
    assert config.add_summary_notice
    assert config.summary_notice_text.startswith("[Note: ")


def test_settings_survive_being_written_down():
    config = CompressionConfig(
        target_max_tokens=29_000, summary_model="openai/gpt-5-mini", timeout_seconds=20
    )
    assert CompressionConfig.from_mapping(config.to_dict()) == config


@pytest.mark.parametrize("heading", ["", "trajectories:\n"])
def test_file_has_settings_at_the_top_or_in_a_section(tmp_path, heading):
    file = tmp_path / "run.yaml"
    indent = "  " if heading else ""
    file.write_text(f"{heading}{indent}target_max_tokens: 29000\n{indent}protect_first_tool: false\n")
    config = CompressionConfig.from_yaml(file)
    assert config == CompressionConfig(target_max_tokens=29_000, protect_first_tool=False)


def test_empty_section_is_the_default(tmp_path):
    file = tmp_path / "run.yaml"
    file.write_text("trajectories:\n")
    assert CompressionConfig.from_yaml(file) == CompressionConfig()


def test_section_that_is_no_section_is_refused(tmp_path):
    file = tmp_path / "run.yaml"
    file.write_text("trajectories: 5\n")
    with pytest.raises(ConfigError, match="trajectories is 5; expected a section"):
        CompressionConfig.from_yaml(file)


def test_unknown_key_names_the_nearest_one():
    with pytest.raises(
        ConfigError, match=r"trajectories\.protect_last_turn is unknown; expected protect_last_turns"
    ):
        CompressionConfig.from_mapping({"protect_last_turn": 4})


def test_key_like_no_other_lists_them_all():
    with pytest.raises(ConfigError, match="one of target_max_tokens, "):
        CompressionConfig.from_mapping({"zzz": 4})


@pytest.mark.parametrize(
    ("key", "value", "hint"),
    [
        ("target_max_tokens", 0, "a whole number of at least"),
        ("target_max_tokens", "15250", "a whole number of at least"),
        ("target_max_tokens", True, "a whole number of at least"),
        ("summary_target_tokens", 20_000, "fewer tokens than target_max_tokens, 15250"),
        ("protect_last_turns", 0, "a whole number of at least 1"),
        ("protect_first_gpt", "yes", "true or false"),
        ("timeout_seconds", 0, "a number of seconds above 0"),
        ("timeout_seconds", float("inf"), "a number of seconds above 0"),
        ("max_retries", -1, "a whole number of at least 0"),
        ("summary_notice_text", None, "text"),
        ("summary_model", 5, "text"),
        ("on_summary_failure", "drop", "one of keep, digest"),
        ("base_url", "http://user:secret@localhost/v1", "a summary_model beside it"),
    ],
)
def test_value_out_of_range_names_key_value_and_range(key, value, hint):
    with pytest.raises(ConfigError, match=hint) as caught:
        replace(CompressionConfig(), **{key: value})
    assert caught.value.key == f"trajectories.{key}"
    assert "secret" not in str(caught.value)
