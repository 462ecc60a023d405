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
    find_nearest_model(name)
