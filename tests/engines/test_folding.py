"""What comes out of a fold is legal where it goes, or nothing happened."""

from dataclasses import replace

from midfold.compression.flow import compress
from midfold.compression.policy import CompressionPolicy
from midfold.compression.run import run
from midfold.compression.state import CompressionState
from midfold.engines.folding import conclude
from midfold.messages import Message, ToolResult
from midfold.testing import transcript
from midfold.tokens import TokenCounter
from midfold.wire import Request, parse


def test_an_illegal_result_is_thrown_away_and_counts_as_a_vain_pass():
    items = transcript(turns=20, result_chars=800)
    good = run(compress(parse(items), policy=CompressionPolicy(max_tokens=3_000), count=TokenCounter()), None)
    orphan = Message("tool", (ToolResult("nobody", "asked"),))
    bad = replace(good, messages=[*good.messages, orphan])
    result = conclude(bad, Request("openai_chat", items), CompressionState())
    assert (result.changed, result.state.count, result.state.ineffective) == (False, 0, 1)
    assert "would not be legal" in result.reason
    assert all(new is old for new, old in zip(result.messages, items, strict=True))
