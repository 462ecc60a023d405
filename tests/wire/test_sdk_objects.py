"""Reply objects of the official SDKs are messages as they are: callers append them without converting."""

import anthropic.types as claude
import openai.types.chat as chat
import openai.types.responses as responses

from midfold.messages import Message, Reasoning, Text, ToolCall, chain_digests
from midfold.wire import detect, parse, read_request, render

CHAT_REPLY = chat.ChatCompletionMessage.model_validate(
    {
        "role": "assistant",
        "content": "One moment.",
        "reasoning_content": "Look.",
        "tool_calls": [
            {
                "id": "c1",
                "type": "function",
                "function": {"name": "read_file", "arguments": '{"path":"a.py"}'},
            }
        ],
    }
)
CLAUDE_REPLY = claude.Message.model_validate(
    {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude",
        "content": [
            {"type": "thinking", "thinking": "Look.", "signature": "c2ln"},
            {"type": "text", "text": "One moment."},
            {"type": "tool_use", "id": "t1", "name": "read_file", "input": {"path": "a.py"}},
        ],
        "stop_reason": "tool_use",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }
)
RESPONSE_ITEM = responses.ResponseFunctionToolCall.model_validate(
    {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "read_file", "arguments": "{}"}
)


def test_a_chat_reply_object_is_read_and_handed_back_by_identity():
    items = [{"role": "user", "content": "Fix it"}, CHAT_REPLY]
    messages = parse(items)
    assert messages[1].parts == (
        Reasoning("Look."),
        Text("One moment."),
        ToolCall("c1", "read_file", '{"path":"a.py"}'),
    )
    assert render(messages, "openai_chat")[1] is CHAT_REPLY


def test_claude_content_objects_are_read_inside_a_dict():
    items = [{"role": "user", "content": "Fix it"}, {"role": "assistant", "content": CLAUDE_REPLY.content}]
    assert detect(items) == "anthropic"
    messages = parse(items)
    assert messages[1].parts[0] == Reasoning("Look.", "c2ln")
    assert messages[1].parts[2] == ToolCall("t1", "read_file", '{"path":"a.py"}')
    assert render(messages, "anthropic")[1] is items[1]


def test_a_whole_claude_reply_object_is_a_message():
    [message] = parse([CLAUDE_REPLY], "anthropic")
    assert (message.role, message.text) == ("assistant", "One moment.")


def test_a_claude_reply_object_makes_its_conversation_anthropics():
    items = [{"role": "user", "content": "Fix it"}, CLAUDE_REPLY]
    assert detect(items) == "anthropic"
    assert parse(items)[1].parts[2] == ToolCall("t1", "read_file", '{"path":"a.py"}')
    assert detect([items[0], CLAUDE_REPLY.model_dump()]) == "anthropic"


def test_response_items_are_messages():
    [message] = parse([RESPONSE_ITEM], "openai_responses")
    assert message.parts == (ToolCall("c1", "read_file", "{}"),)


def test_an_edited_object_becomes_a_dict_and_the_object_stays_as_it_was():
    [message] = parse([CLAUDE_REPLY], "anthropic")
    [item] = render([message.with_part(1, Text("[cut]"))], "anthropic")
    assert item["content"][1] == {"type": "text", "text": "[cut]"}
    assert CLAUDE_REPLY.content[1].text == "One moment."


def test_an_object_and_its_dict_have_the_same_digest():
    as_dict = {"role": "assistant", "content": [block.model_dump() for block in CLAUDE_REPLY.content]}
    assert chain_digests(parse([CLAUDE_REPLY], "anthropic")) == chain_digests(parse([as_dict], "anthropic"))


def test_a_request_may_be_an_object_with_objects_inside():
    request = read_request({"messages": [CHAT_REPLY], "model": "gpt-5-mini"})
    assert isinstance(parse(request.messages, request.dialect)[0], Message)
