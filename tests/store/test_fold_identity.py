"""A fold is stored as it is: what was sent once is what another process sends again, secrets or not."""

import json
import random
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from midfold.folding import CompressionPolicy, Strategy, Style
from midfold.folding.compression import Compression
from midfold.folding.flow import compress
from midfold.folding.run import run
from midfold.folding.state import CompressionState
from midfold.pipeline import render_compression
from midfold.store import open_store
from midfold.testing import transcript
from midfold.tokens import TokenCounter
from midfold.wire import Request, parse

COUNT = TokenCounter()
SECRETS = (
    "ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8",
    "password: hunter2hunter2",
    'export AWS_SECRET_ACCESS_KEY="wJalrXUtnFEMI/K7MDENG/bPxRfiCYzz9KEYQQQQ"',
    "postgres://admin:s3cr3tpassw0rd@db.example.com/main",
    "Authorization: Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlF",
    '{"api_key": "sk-proj-Ab3dEf6hIj9kLm2nOp5qRs8tUv1wXy4z"}',
    "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA7bq\n-----END RSA PRIVATE KEY-----",
    '\\"token\\": \\"xoxb-123456789012-abcdefghijklmnopqrstuvwx\\"',
)
ODD = ("binary:\0\1", "half of an emoji: \ud83d", "\\u0000 is written so", "\\\\ud800")


def plant(value: object, chance: random.Random, words: tuple[str, ...]) -> object:
    """Put secrets and odd text into the texts of a conversation, also into those inside arguments."""
    if isinstance(value, dict):
        return {
            key: plant(inner, chance, words)
            if key in ("content", "text", "value", "output", "function", "arguments", "tool_calls", "input")
            else inner
            for key, inner in value.items()
        }
    if isinstance(value, list):
        return [plant(inner, chance, words) for inner in value]
    if not isinstance(value, str) or chance.random() < 0.5:
        return value
    word = chance.choice(words)
    if value.startswith("{"):
        return json.dumps({**json.loads(value), "password": word, "note": word})
    return f"{word}\n{value}\n{word}"


def make_fold(
    items: list[object], dialect: str, policy: CompressionPolicy, key: bytes
) -> Compression[object]:
    flow = compress(parse(items, dialect), policy=policy, count=COUNT, key=key)
    return render_compression(run(flow, lambda _: ""), Request(dialect, items), CompressionState())


@pytest.mark.slow
@given(
    dialect=st.sampled_from(["openai_chat", "anthropic", "openai_responses"]),
    seed=st.integers(0, 2**16),
    words=st.sampled_from([SECRETS, ODD, SECRETS + ODD]),
    policy=st.builds(
        CompressionPolicy,
        context_length=st.just(8_000),
        max_tokens=st.sampled_from([None, 2_500]),
        strategy=st.sampled_from(list(Strategy)),
        style=st.sampled_from(list(Style)),
    ),
)
@example("openai_chat", 0, ODD, CompressionPolicy(context_length=8_000, max_tokens=2_500))
def test_a_stored_fold_is_the_fold_that_was_made(dialect, seed, words, policy):
    items = transcript(dialect, seed=seed, turns=10, result_chars=1_500)
    items = plant(items, random.Random(seed), words)
    with TemporaryDirectory() as folder, open_store(Path(folder) / "s.db", synchronous="NORMAL") as store:
        session = store.create_session(dialect=dialect).id
        store.append(session, items)
        result = make_fold(items, dialect, policy, store._redactor.key(session))
        if result.fold is None:
            return
        store.continue_session(session, result.messages, result)
        [stored] = store.folds(session)
        assert stored.fold == result.fold
        assert store.check() == []
