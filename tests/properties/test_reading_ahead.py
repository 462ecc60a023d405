"""Reading ahead makes a fold quicker and never different: not in one byte, not in one prompt."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from midfold.engines import ContextCompressor
from midfold.folding import CompressionPolicy, Strategy, Style
from midfold.folding.flow import compress
from midfold.folding.run import run
from midfold.messages import Message, Text, ToolCall, ToolResult, digest_messages
from midfold.summaries.ledger import LedgerCache
from midfold.testing import Defect, conversation, transcript
from midfold.tokens import TokenCounter
from midfold.transcripts import load_transcript
from midfold.wire import parse

COUNT = TokenCounter()
SECRET = "AK" + "IA" + "IOSFODNN7QWERTYU"

shapes = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 2**32),
        "turns": st.integers(1, 10),
        "parallel": st.integers(0, 3),
        "result_chars": st.sampled_from([0, 300, 3000]),
        "thinking": st.booleans(),
        "defects": st.frozensets(st.sampled_from(list(Defect)), max_size=3),
    }
)
policies = st.builds(
    CompressionPolicy,
    context_length=st.sampled_from([4_000, 20_000]),
    max_tokens=st.none() | st.integers(300, 6_000),
    strategy=st.sampled_from(list(Strategy)),
    style=st.sampled_from(list(Style)),
)


def fold(messages, policy, prompts, **ahead):
    def summarize(request):
        prompts.append(request)
        return "## Goal\nShip it by 4,711."

    flow = compress(
        messages,
        policy=policy,
        count=COUNT,
        key=b"key",
        use_model=True,
        is_manual=True,
        focus="file",
        **ahead,
    )
    return run(flow, summarize)


def assert_the_same(messages, policy):
    memory = LedgerCache(b"key")
    memory.remember(messages)
    prompts, others = [], []
    known = fold(messages, policy, prompts, ledger_cache=memory, digests=list(digest_messages(messages)))
    assert known == fold(messages, policy, others)
    assert prompts == others


@settings(max_examples=40)
@given(st.sampled_from(["openai_chat", "openai_responses", "anthropic"]), shapes, policies)
def test_a_fold_is_the_same_with_and_without_reading_ahead(dialect, shape, policy):
    assert_the_same(conversation(dialect, **shape), policy)


def secrets(turns):
    for number in range(turns):
        call = ToolCall(
            f"c{number}", "bash", json.dumps({"command": f'export KEY="{SECRET}"\nmake {number}'})
        )
        yield Message("user", (Text(f"Never print {SECRET}; run {number}."),))
        yield Message("assistant", (Text(f"The key is {SECRET}. I run it."), call))
        yield Message("tool", (ToolResult(f"c{number}", f"line {number}\nkey {SECRET}\n" * 60),))


@pytest.mark.parametrize("strategy", list(Strategy))
def test_secrets_are_hidden_the_same_way(strategy):
    assert_the_same(list(secrets(12)), CompressionPolicy(context_length=8_000, strategy=strategy))


def test_a_session_read_turn_by_turn_folds_as_one_that_is_shown_at_once(monkeypatch):
    monkeypatch.setattr("secrets.token_bytes", lambda length: b"k" * length)
    items = transcript(turns=30, seed=5, result_chars=2_000)
    patient, sudden = (ContextCompressor(20_000, prepare_ahead=False) for _ in range(2))
    for stop in range(1, len(items) + 1):
        patient.should_compress_preflight(items[:stop])
    assert patient.compress_result(items).summary == sudden.compress_result(items).summary


@pytest.mark.parametrize("name", ["ja-specstory-84ef7615", "miniswe-ds_lite_dev-pylint-dev__astroid-1333"])
def test_real_sessions_fold_the_same_with_and_without_reading_ahead(data_dir, name):
    request = load_transcript(data_dir / "corpus" / f"{name}.json.gz").request
    assert_the_same(parse(request.messages, request.dialect), CompressionPolicy(context_length=100_000))
