"""A chat without a model takes the only key that is there, and otherwise says how to name one."""

import pytest
from anthropic.resources.messages.messages import DEPRECATED_MODELS

from midfold.cli.chat.first_model import USUAL_MODELS, choose_model
from midfold.providers import PROVIDERS
from midfold.tokens import find_model


def test_the_only_key_says_which_provider(capsys):
    assert choose_model({"ANTHROPIC_API_KEY": "sk-1"}) == f"anthropic/{USUAL_MODELS['anthropic']}"
    assert "ANTHROPIC_API_KEY is set; --model names another" in capsys.readouterr().err


def test_without_a_key_or_with_several_and_nobody_to_ask_there_is_none():
    assert choose_model({}) is None
    assert choose_model({"OPENAI_API_KEY": " "}) is None
    assert choose_model({"OPENAI_API_KEY": "a", "ANTHROPIC_API_KEY": "b"}) is None


@pytest.mark.parametrize(("answer", "model"), [("2", "openai/gpt-5-mini"), ("groq/llama", "groq/llama")])
def test_with_several_the_person_is_asked(monkeypatch, answer, model):
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setattr("click.prompt", lambda *_, **__: answer)
    assert choose_model({"OPENAI_API_KEY": "a", "ANTHROPIC_API_KEY": "b"}) == model


def test_the_usual_model_of_anthropic_is_not_about_to_go():
    assert USUAL_MODELS["anthropic"] not in DEPRECATED_MODELS


@pytest.mark.parametrize("provider", USUAL_MODELS)
def test_usual_models_are_known(provider):
    assert PROVIDERS[provider].key_env
    assert find_model(f"{provider}/{USUAL_MODELS[provider]}")
