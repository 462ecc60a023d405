"""The model of a chat that nobody named: the provider whose key is there, or the one that is chosen."""

import os
import sys
from collections.abc import Mapping

import click

from midfold.providers import PROVIDERS

USUAL_MODELS: Mapping[str, str] = {
    "anthropic": "claude-sonnet-4-6",
    "openai": "gpt-5-mini",
    "gemini": "gemini-2.5-flash",
    "deepseek": "deepseek-chat",
    "mistral": "mistral-medium-latest",
    "xai": "grok-4.20",
    "groq": "openai/gpt-oss-120b",
    "openrouter": "anthropic/claude-sonnet-4.6",
}
"""A model of each provider that is good with tools, for a first talk."""


def choose_model(environ: Mapping[str, str] = os.environ) -> str | None:
    """Return a model of the only provider whose key is set, or the one that the person chooses.

    `None` where there is no key, or several and nobody to ask.
    """
    keyed = [name for name in USUAL_MODELS if environ.get(PROVIDERS[name].key_env, "").strip()]
    models = [f"{name}/{USUAL_MODELS[name]}" for name in keyed]
    if len(models) == 1:
        click.echo(f"{models[0]}, as {PROVIDERS[keyed[0]].key_env} is set; --model names another", err=True)
        return models[0]
    if not models or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return None
    click.echo("Several keys are set. Which model?", err=True)
    for number, model in enumerate(models, 1):
        click.echo(f"  {number}  {model}", err=True)
    chosen = click.prompt("A number, or provider/model", default="1", err=True)
    is_number = chosen.isdecimal() and 1 <= int(chosen) <= len(models)
    return models[int(chosen) - 1] if is_number else chosen.strip() or None
