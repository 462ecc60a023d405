"""The breakdown: everything is counted once, and results belong to the tool that gave them."""

import pytest

from midfold.messages import Message, Reasoning, Text, ToolCall, ToolResult
from midfold.testing import conversation
from midfold.tokens import TokenCounter, break_down
from midfold.wire import DIALECTS


def count(message):
    """One token of framing, and one for each character of the parts."""
    sizes = {Text: lambda p: p.text, Reasoning: lambda p: p.text, ToolCall: lambda p: p.arguments}
    return 1 + sum(len(sizes.get(type(part), lambda p: p.text)(part)) for part in message.parts)


MESSAGES = [
    Message("user", (Text("12345"),)),
    Message("assistant", (Reasoning("123"), ToolCall("a", "read", "12"), ToolCall("b", "run", "1"))),
    Message("user", (ToolResult("b", "1234567"), ToolResult("a", "123"), Text("12"))),
]


def test_shares_by_speaker_put_results_apart_from_the_user():
    shares = {share.name: share.tokens for share in break_down(MESSAGES, count).speakers}
    assert shares == {"tool results": 10, "user": 9, "assistant": 7}


def test_shares_by_kind_name_the_framing():
    shares = {share.name: share.tokens for share in break_down(MESSAGES, count).kinds}
    assert shares == {"tool results": 10, "text": 7, "tool calls": 3, "thinking": 3, "framing": 3}


def test_results_belong_to_the_tool_they_answer():
    tools = {
        tool.name: (tool.calls, tool.call_tokens, tool.result_tokens)
        for tool in break_down(MESSAGES, count).tools
    }
    assert tools == {"run": (1, 1, 7), "read": (1, 2, 3)}


def test_what_travels_beside_the_messages_is_counted():
    breakdown = break_down(MESSAGES, count, system_tokens=100, schema_tokens=50)
    assert breakdown.tokens == 176
    assert [share.name for share in breakdown.speakers[:2]] == ["system prompt", "tool schemas"]


def test_the_largest_messages_say_what_they_hold():
    [first, second] = break_down(MESSAGES, count, largest=2).largest
    assert (first.index, first.tokens, first.holds) == (2, 13, "run result, read result, user text")
    assert (second.index, second.holds) == (1, "assistant thinking, read call, run call")


@pytest.mark.parametrize("dialect", sorted(DIALECTS))
def test_shares_add_up_in_every_dialect(dialect):
    counter = TokenCounter("gpt-5")
    messages = conversation(dialect, turns=5, thinking=True, images=True)
    breakdown = break_down(messages, counter)
    assert breakdown.tokens == sum(map(counter, messages))
    assert breakdown.tokens == sum(share.tokens for share in breakdown.speakers)
    assert breakdown.tokens == sum(share.tokens for share in breakdown.kinds)


def test_an_empty_conversation_takes_nothing():
    assert break_down([], count).tokens == 0
