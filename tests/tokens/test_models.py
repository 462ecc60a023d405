"""Looking models up."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from midfold.tokens.models import find_model, find_nearest_model, snapshot_date


@pytest.mark.parametrize(
    ("model", "entry"),
    [
        ("claude-sonnet-4-5", "claude-sonnet-4-5"),
        ("claude-sonnet-4-5-20250929", "claude-sonnet-4-5-20250929"),
        ("claude-sonnet-4.5", "claude-sonnet-4-5"),
        ("claude-sonnet-4-5-29990101", "claude-sonnet-4-5"),
        ("anthropic/claude-sonnet-4-5", "claude-sonnet-4-5"),
        ("openrouter/anthropic/claude-sonnet-4.5", "claude-sonnet-4-5"),
        ("openrouter/anthropic/claude-sonnet-4.5:beta", "claude-sonnet-4-5"),
        (
            "bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0",
            "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
        ),
        ("ca.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-sonnet-4-5-20250929"),
        ("somewhere/claude-sonnet-4-5@20250929", "claude-sonnet-4-5-20250929"),
        ("claude-opus-4-6[1m]", "claude-opus-4-6"),
        ("ft:gpt-4.1-2025-04-14:acme:meters:B42", "ft:gpt-4.1-2025-04-14"),
        ("GPT-4.1", "gpt-4.1"),
        ("openai/gpt-4.1", "gpt-4.1"),
        ("gpt-4.1-2099-01-01", "gpt-4.1"),
        ("zai/glm-4.6", "zai/glm-4.6"),
        ("glm-4.6", "zai/glm-4.6"),
        ("deepseek/deepseek-chat", "deepseek/deepseek-chat"),
    ],
)
def test_a_model_is_found_under_the_names_people_use(model, entry):
    assert find_model(model).name == entry


@pytest.mark.parametrize(
    "model", ["", "gpt", "gpt-4.9", "gpt-4-9", "gpt-4.11", "claude-opus-99", "my-own-finetune"]
)
def test_another_version_never_answers_for_an_unknown_one(model):
    assert find_model(model) is None
    assert find_nearest_model(model) is None


def test_a_variant_has_the_window_of_what_it_varies_but_no_entry_of_its_own():
    assert find_model("gpt-4.1-house-style") is None
    assert find_nearest_model("gpt-4.1-house-style").name == "gpt-4.1"
    assert find_nearest_model("gemini-2.5-pro-preview-06-05").max_input_tokens == 1_048_576


def test_a_fine_tune_of_an_unlisted_kind_has_the_window_of_its_base_model():
    assert find_model("ft:gpt-5-mini-2025-08-07:acme::x") is None
    assert find_nearest_model("ft:gpt-5-mini-2025-08-07:acme::x").name == "gpt-5-mini"


WINDOWS = {
    "mistral-small-latest": 262_144,
    "openrouter/mistralai/mistral-small-latest": 262_144,
    "gpt-5-pro": 272_000,
    "gpt-5.1-codex": 272_000,
    "gpt-5.1-codex-max": 272_000,
    "gpt-5.1-codex-mini": 272_000,
    "gpt-5.4": 922_000,
    "azure/eu/gpt-5-codex": 272_000,
    "gemini-2.0-flash": 1_048_576,
    "gemini-2.0-flash-001": 1_048_576,
    "gemini-3-pro": 1_048_576,
    "google/gemini-3-pro": 1_048_576,
    "gemini-3-pro-preview": 1_048_576,
    "claude-sonnet-4-5": 200_000,
    "claude-sonnet-4-5[1m]": 1_000_000,
    "claude-sonnet-4-5-20250929[1m]": 1_000_000,
}


@pytest.mark.parametrize("model", WINDOWS)
def test_a_window_is_that_of_the_input(model):
    assert find_nearest_model(model).max_input_tokens == WINDOWS[model]


def test_the_name_as_written_comes_before_the_name_without_its_tag():
    latest, older = find_model("mistral-small-latest"), find_model("mistral-small")
    assert (latest.name, older.name) == ("mistral/mistral-small-latest", "mistral/mistral-small")
    assert latest.prices != older.prices


def test_an_undated_name_without_a_price_has_that_of_its_dated_one():
    prices = find_model("claude-opus-4-1").prices
    assert (prices.input, prices.output) == (15, 75)


def test_the_tag_of_the_long_window_means_claude_alone():
    assert find_nearest_model("gpt-4.1[1m]").max_input_tokens == 1_047_576


def test_facts_are_those_of_the_snapshot():
    facts = find_model("claude-sonnet-4-5")
    assert facts.provider == "anthropic"
    assert facts.max_input_tokens == 200_000
    assert facts.max_output_tokens == 64_000
    assert facts.supports_prompt_caching


def test_what_is_given_away_does_not_cost_what_the_model_costs():
    facts = find_model("openrouter/deepseek/deepseek-chat:free")
    assert facts.max_input_tokens
    assert facts.prices is None


def test_the_snapshot_is_dated_and_of_sound_figures():
    assert date.fromisoformat(snapshot_date()) >= date(2026, 11, 1)
    prices = find_model("gemini/gemini-2.5-pro").prices
    assert prices.input < prices.output < 1_000


@given(st.text())
def test_any_name_may_be_asked_for(name):
    found = find_nearest_model(name)
    assert found is None or found.name
