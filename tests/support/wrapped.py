"""Wrapped SDK clients for tests, and the upstream that they talk to."""

import anthropic
import openai

import midfold
from midfold.testing.upstream import Reply

WINDOW = 12_000
WORDS = "The meter at the harbour takes coins, and never notes. " * 40


def answer(received):
    return Reply(f"Answer {len(received.messages)}. " + "I looked at it. " * 20)


def open_openai(up, **options):
    return openai.OpenAI(base_url=up.url + "/v1", api_key="sk-test", max_retries=0, **options)


def open_anthropic(up):
    return anthropic.Anthropic(base_url=up.url, api_key="sk-test", max_retries=0)


def wrapped(client, **options):
    return midfold.wrap(client, **{"context_length": WINDOW, **options})
