"""Telling dialects apart: proof decides, a hint only where there is none, and neither costs much."""

import json
import time

import anthropic.types as claude
import pytest

from midfold.errors import UnknownDialect
from midfold.messages import ToolCall
from midfold.wire import detect, parse

ASK = {"role": "user", "content": "hi"}
CHAT_CALL = {
    "role": "assistant",
    "content": None,
    "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
}
CLAUDE_IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA=="}}
THINKING = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}


def said(*blocks, role="assistant", **beside):
    return {"role": role, "content": list(blocks), **beside}


def reply(*blocks):
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude",
        "content": list(blocks),
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }


TOOL_USE = {"type": "tool_use", "id": "t", "name": "f", "input": {}}
TEXT = {"type": "text", "text": "x"}
MISTRAL_THINKING = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}

CASES = {
    "plain words": ([ASK, {"role": "assistant", "content": "hello"}], "openai_chat"),
    "a claude reply with a call": ([ASK, reply(TOOL_USE)], "anthropic"),
    "a claude reply of words": ([ASK, reply(TEXT)], "anthropic"),
    "a claude reply object": ([ASK, claude.Message.model_validate(reply(TEXT))], "anthropic"),
    "thinking beside chat calls": ([ASK, said(THINKING, tool_calls=CHAT_CALL["tool_calls"])], "openai_chat"),
    "thinking, chat calls later": ([ASK, said(THINKING), CHAT_CALL], "openai_chat"),
    "a claude image, chat calls later": ([said(CLAUDE_IMAGE, role="user"), CHAT_CALL], "openai_chat"),
    "a claude image alone": ([said(CLAUDE_IMAGE, role="user")], "anthropic"),
    "thinking alone": ([ASK, said(THINKING)], "anthropic"),
    "an image of a data set": ([said({"type": "image", "image": "a.png"}, role="user")], "openai_chat"),
    "thinking in mistral's shape": ([ASK, said(MISTRAL_THINKING)], "openai_chat"),
    "mcp calls": ([ASK, said({"type": "mcp_tool_use", "id": "m", "name": "f", "input": {}})], "anthropic"),
    "server results": (
        [ASK, said({"type": "web_search_tool_result", "tool_use_id": "s", "content": []})],
        "anthropic",
    ),
    "search results": (
        [said({"type": "search_result", "source": "s", "title": "t", "content": []}, role="user")],
        "anthropic",
    ),
    "an upload": ([said({"type": "container_upload", "file_id": "file_1"}, role="user")], "anthropic"),
    "a developer, then items": (
        [
            {"role": "developer", "content": "Be brief."},
            {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
        ],
        "openai_responses",
    ),
    "a typed message of words": ([{"type": "message", **ASK}], "openai_responses"),
    "items of a server's tools": (
        [{"type": "mcp_list_tools", "server_label": "s", "tools": []}],
        "openai_responses",
    ),
    "a refusal": ([ASK, said({"type": "refusal", "refusal": "No."})], "openai_chat"),
}


@pytest.mark.parametrize("case", CASES)
def test_a_list_is_told_by_what_only_one_provider_writes(case):
    items, dialect = CASES[case]
    assert detect(items) == dialect


def test_the_calls_of_a_reply_object_are_seen_without_naming_the_dialect():
    messages = parse([ASK, claude.Message.model_validate(reply(TEXT, TOOL_USE))])
    assert messages[1].parts[1] == ToolCall("t", "f", "{}")


@pytest.mark.parametrize("items", [[], [{"speaker": "me"}], [{}], [{"type": "human", "content": "x"}]])
def test_items_that_are_no_messages_have_no_dialect(items):
    with pytest.raises(UnknownDialect):
        detect(items)


def test_keys_in_an_error_are_quoted_and_short():
    with pytest.raises(UnknownDialect) as caught:
        detect([{"\x1b[31mred\nline2": 1, "x" * 1000: 2}])
    assert "\\x1b[31mred\\nline2" in str(caught.value)
    assert len(str(caught.value)) < 200
    assert str(caught.value).isprintable()


def test_thousands_of_plain_words_are_passed_over_quickly():
    items = [ASK, {"role": "assistant", "content": "hello"}] * 5_000
    seconds = min(_time(lambda: detect(items)) for _ in range(5))
    # Writing them as JSON takes five times as long, and looking closely at each took ten times as long.
    assert seconds < min(_time(lambda: json.dumps(items)) for _ in range(5))


def _time(work):
    start = time.process_time()
    work()
    return time.process_time() - start
