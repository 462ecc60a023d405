"""Real conversations in every dialect, sent again and again by clients with every habit."""

import gzip
import json

import pytest

from midfold.folding import CompressionPolicy
from midfold.tokens import TokenCounter
from midfold.wire import convert, parse
from support.clients import Habit
from support.simulation import Summarizer, find_requests

DIALECTS = ("openai_chat", "anthropic", "openai_responses")
# Long ones, of different agents: parallel calls, Korean, research.
CHOSEN = ("codex-ko-105ce37d", "deerflow-5aa47db1", "hermes-20260219_011410_8b7098a3")
REQUESTS = 16
WINDOWS = 8
"""A window takes about one part in so many of the conversation, so that it is folded often."""


def load(data_dir, name, dialect):
    path = data_dir / "corpus" / f"{name}.json.gz"
    messages = json.loads(gzip.decompress(path.read_bytes()))["messages"]
    return messages if dialect == "openai_chat" else convert(parse(messages), dialect).messages


def play(client, items, dialect, summarize, requests):
    tokens = sum(map(TokenCounter(), parse(items, dialect)))
    policy = CompressionPolicy(context_length=max(5_000, tokens // WINDOWS))
    lengths = find_requests(items, dialect)
    step = max(1, len(lengths) // requests)
    with client(dialect, policy=policy, summarize=summarize) as one:
        for number, length in enumerate(lengths[step - 1 :: step]):
            if number % 4 == 3:
                one.restart()
            one.request(items[:length], list(Habit) if number % 2 else [list(Habit)[number % len(Habit)]])
    return one.figures


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("name", CHOSEN)
def test_a_long_conversation_pays_for_each_fold_once(client, data_dir, name, dialect):
    figures = play(client, load(data_dir, name, dialect), dialect, Summarizer(), REQUESTS)
    assert figures.folds >= 2
    assert figures.refolded > figures.folds


@pytest.mark.faults
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_conversation_pays_for_each_fold_once(client, data_dir, dialect):
    for path in sorted((data_dir / "corpus").glob("*.json.gz")):
        items = load(data_dir, path.name.removesuffix(".json.gz"), dialect)
        play(client, items, dialect, None, 4 * REQUESTS)
