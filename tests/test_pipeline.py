"""What comes out of a fold is legal where it goes, or nothing happened."""

from dataclasses import replace

import pytest

from midfold.engines import ContextCompressor
from midfold.folding import CompressionPolicy
from midfold.folding.flow import compress
from midfold.folding.fold import apply
from midfold.folding.run import run
from midfold.folding.state import CompressionState
from midfold.messages import Message, Text, ToolCall, ToolResult
from midfold.pipeline import render_compression
from midfold.testing import transcript
from midfold.tokens import TokenCounter
from midfold.wire import Request, parse, render


def test_an_illegal_result_is_thrown_away_and_counts_as_a_vain_pass():
    items = transcript(turns=20, result_chars=800)
    good = run(compress(parse(items), policy=CompressionPolicy(max_tokens=3_000), count=TokenCounter()), None)
    orphan = Message("tool", (ToolResult("nobody", "asked"),))
    bad = replace(good, messages=[*good.messages, orphan])
    result = render_compression(bad, Request("openai_chat", items), CompressionState())
    assert (result.changed, result.state.count, result.state.ineffective) == (False, 0, 1)
    assert "would not be legal" in result.reason
    assert all(new is old for new, old in zip(result.messages, items, strict=True))


@pytest.mark.parametrize(("dialect", "count"), [("anthropic", 1), ("openai_chat", 2), ("sharegpt", 1)])
def test_stub_results_are_as_many_messages_as_their_dialect_has(dialect, count):
    calls = Message("assistant", (ToolCall("p1", "t", "{}"), ToolCall("p2", "t", "{}")))
    items = transcript(dialect, seed=4, turns=14, steps=2, parallel=1, result_chars=900, system=False)
    items[1:1] = render([calls, Message("user", (Text("never mind"),))], dialect)
    result = ContextCompressor(12_000).compress_result(items, 10_500)
    assert len(result.fold.inserts) == count
    assert render(apply(result.fold, parse(items, dialect)), dialect) == result.messages
