"""How large a window is."""

import pytest

from midfold.errors import ConfigError
from midfold.tokens import LearnedLimits, Window, next_tier, resolve_window

HOUSE = "https://llm.example.com"


@pytest.fixture
def limits(tmp_path):
    return LearnedLimits(tmp_path / "limits.json")


def test_a_setting_wins_over_the_table():
    assert resolve_window("gpt-4.1", explicit=50_000) == Window(50_000, "explicit")


def test_the_table_knows_known_models():
    assert resolve_window("claude-sonnet-4-5") == Window(200_000, "table")


def test_an_unknown_model_is_probed_from_the_top():
    assert resolve_window("house-model") == Window(256_000, "probe")


def test_a_lower_limit_that_the_provider_stated_wins_even_over_a_setting(limits):
    limits.learn(HOUSE, "gpt-4.1", 100_000, configured_tokens=200_000)
    assert resolve_window("gpt-4.1", endpoint=HOUSE, explicit=200_000, limits=limits) == Window(
        100_000, "learnt"
    )


def test_a_stated_limit_holds_for_its_endpoint_and_model_alone(limits):
    limits.learn(HOUSE, "gpt-4.1", 300_000, configured_tokens=1_047_576)
    assert resolve_window("gpt-4.1", endpoint=HOUSE, limits=limits).tokens == 300_000
    assert resolve_window("gpt-4.1", endpoint="https://other.example.com", limits=limits).source == "table"
    assert resolve_window("gpt-4.1-mini", endpoint=HOUSE, limits=limits).source == "table"


def test_a_stated_limit_never_raises_the_window(limits):
    limits.learn(HOUSE, "gpt-4.1", 300_000, configured_tokens=1_047_576)
    assert resolve_window("gpt-4.1", endpoint=HOUSE, explicit=60_000, limits=limits) == Window(
        60_000, "explicit"
    )


def test_a_stated_limit_wins_over_a_guess(limits):
    limits.learn(HOUSE, "house-model", 131_072, configured_tokens=256_000)
    assert resolve_window("house-model", endpoint=HOUSE, limits=limits) == Window(131_072, "learnt")


def test_a_window_that_holds_nothing_is_refused():
    with pytest.raises(ConfigError, match=r"model\.context_length is 0"):
        resolve_window("gpt-4.1", explicit=0)


def test_tiers_step_down_to_the_last_and_end():
    assert next_tier(1_000_000) == 256_000
    assert next_tier(256_000) == 128_000
    assert next_tier(100_000) == 64_000
    assert next_tier(4_096) is None
