"""Converting: legal in the target, and every loss is listed."""

import json

import pytest

from midfold.messages import Media, Message, Opaque, Reasoning, Text, ToolCall, ToolResult
from midfold.wire import DIALECTS, convert, parse
from midfold.wire.conversion import NO_RESULT, OPENING
from midfold.wire.validate import validate

PAIR = [
    Message("system", (Text("Be brief."),)),
    Message("user", (Text("Fix it"), Media("image", "image/png", "AA=="))),
    Message(
        "assistant", (Reasoning("Look.", "sig"), Text("One moment."), ToolCall("c1", "read_file", '{"a":1}'))
    ),
    Message("tool", (ToolResult("c1", "print(1)", is_error=True),)),
    Message("assistant", (Text("Fixed."),)),
]


def losses(conversion):
    return [(loss.index, loss.what) for loss in conversion.losses]


def test_anthropic_keeps_the_system_prompt_apart_and_results_with_the_user():
    conversion = convert(PAIR, "anthropic")
    assert conversion.system == "Be brief."
    assert [item["role"] for item in conversion.messages] == ["user", "assistant", "user", "assistant"]
    assert conversion.messages[2]["content"] == [
        {"type": "tool_result", "tool_use_id": "c1", "content": "print(1)", "is_error": True}
    ]
    assert losses(conversion) == [
        (2, "a signature of its thinking, which only its own provider accepts"),
        (2, "its thinking"),
    ]


def test_chat_gives_each_result_a_message_of_its_own():
    messages = [
        PAIR[1],
        Message("assistant", (ToolCall("c1", "t", "{}"), ToolCall("c2", "t", "{}"))),
        Message("user", (ToolResult("c1", "one"), ToolResult("c2", "two"), Text("go on"))),
    ]
    assert [item["role"] for item in convert(messages, "openai_chat").messages] == [
        "user",
        "assistant",
        "tool",
        "tool",
        "user",
    ]


def test_items_of_one_turn_become_one_message():
    items = [
        Message("user", (Text("Fix it"),)),
        Message("assistant", (Reasoning("Look."),)),
        Message("assistant", (Text("One moment."),)),
        Message("assistant", (ToolCall("c1", "t", "{}"),)),
        Message("assistant", (ToolCall("c2", "t", "{}"),)),
        Message("tool", (ToolResult("c2", "two"),)),
        Message("tool", (ToolResult("c1", "one"),)),
    ]
    chat = convert(items, "openai_chat").messages
    assert [item["role"] for item in chat] == ["user", "assistant", "tool", "tool"]
    assert [call["id"] for call in chat[1]["tool_calls"]] == ["c1", "c2"]


def test_a_call_that_never_got_its_result_gets_a_stub_and_a_line():
    messages = [PAIR[1], Message("assistant", (ToolCall("c1", "t", "{}"),)), Message("user", (Text("stop"),))]
    conversion = convert(messages, "openai_chat")
    assert conversion.messages[2] == {"role": "tool", "tool_call_id": "c1", "content": NO_RESULT}
    assert losses(conversion) == [(1, "a call without a result (t); a stub stands in for it")]


def test_a_call_still_waiting_at_the_end_stays_open():
    conversion = convert([PAIR[1], Message("assistant", (ToolCall("c1", "t", "{}"),))], "anthropic")
    assert conversion.messages[-1]["role"] == "assistant"
    assert conversion.losses == ()


def test_a_result_without_a_call_is_dropped_and_listed():
    conversion = convert([PAIR[1], Message("tool", (ToolResult("c9", "lost"),))], "anthropic")
    assert losses(conversion) == [(1, "a result without a call (c9)")]


def test_ids_that_repeat_or_are_missing_are_given_anew():
    call = Message("assistant", (ToolCall("", "t", "{}"), ToolCall("", "t", "{}")))
    result = Message("tool", (ToolResult("", "one"), ToolResult("", "two")))
    conversion = convert([PAIR[1], call, result, call, result], "anthropic")
    ids = [
        block["id"]
        for item in conversion.messages
        for block in item["content"]
        if block["type"] == "tool_use"
    ]
    assert len(set(ids)) == 4
    assert validate(conversion.messages, dialect="anthropic") == []


def test_an_id_that_is_derived_is_not_one_that_another_call_has():
    def call(call_id):
        return Message("assistant", (ToolCall(call_id, "t", "{}"),))

    def result(call_id):
        return Message("tool", (ToolResult(call_id, "r"),))

    taken = ("call_3_0", "call_3_0_2")
    messages = [
        PAIR[1],
        call(taken[0]),
        result(taken[0]),
        call(""),
        result(""),
        call(taken[1]),
        result(taken[1]),
    ]
    assert validate(convert(messages, "anthropic").messages, dialect="anthropic") == []


def test_names_that_a_provider_refuses_are_respelled_and_listed():
    conversion = convert([PAIR[1], Message("assistant", (ToolCall("c", "ns:do it", "{}"),))], "openai_chat")
    assert conversion.messages[1]["tool_calls"][0]["function"]["name"] == "ns_do_it"
    assert losses(conversion) == [(1, "tool name 'ns:do it' is 'ns_do_it' here")]


def test_media_that_the_target_cannot_carry_becomes_words():
    messages = [PAIR[1], PAIR[2], Message("tool", (ToolResult("c1", "shot", media=(PAIR[1].parts[1],)),))]
    conversion = convert(messages, "openai_chat")
    assert conversion.messages[2]["content"] == "shot\n[image image/png, 3 bytes]"
    assert (2, "[image image/png, 3 bytes]") in losses(conversion)


@pytest.mark.parametrize("to", DIALECTS)
def test_a_file_that_another_provider_keeps_becomes_words(to):
    conversion = convert([Message("user", (Text("Look."), Media("image", "", "file_1")))], to)
    assert "file_1" not in json.dumps(conversion.messages)
    assert losses(conversion) == [(0, "[image by reference]")]


def test_a_text_document_stays_a_text():
    message = Message("user", (Text("Look."), Media("document", "text/plain", "plain words")))
    [item] = convert([message], "anthropic").messages
    assert item["content"][1] == {
        "type": "document",
        "source": {"type": "text", "media_type": "text/plain", "data": "plain words"},
    }
    conversion = convert([message], "openai_chat")
    assert conversion.messages[0]["content"][1] == {"type": "text", "text": "plain words"}
    assert losses(conversion) == [(0, "[document text/plain, 11 bytes]")]


def test_an_image_that_the_model_made_becomes_words():
    made = Message("assistant", (Text("Here."), Media("image", "image/png", "AA==")))
    for to in DIALECTS:
        conversion = convert([PAIR[0], Message("user", (Text("Draw."),)), made], to)
        assert (2, "[image image/png, 3 bytes]") in losses(conversion), to
        assert "AA==" not in json.dumps(conversion.messages), to


@pytest.mark.parametrize("to", ["openai_chat", "openai_responses", "sharegpt"])
def test_an_error_that_cannot_be_told_from_a_result_is_listed(to):
    assert (3, "that a result is an error") in losses(convert(PAIR, to))


def test_arguments_that_are_no_object_are_listed_where_they_must_be_one():
    messages = [PAIR[1], Message("assistant", (ToolCall("c", "shell", "ls -l"),))]
    conversion = convert(messages, "anthropic")
    assert conversion.messages[1]["content"][0]["input"] == {"input": "ls -l"}
    assert losses(conversion) == [(1, "the arguments of 'shell' are an object here")]
    assert losses(convert(messages, "openai_chat")) == []


def test_blocks_of_another_provider_are_listed():
    conversion = convert(
        [PAIR[1], Message("assistant", (Text("x"), Opaque("web_search_call", "{}")))], "anthropic"
    )
    assert losses(conversion) == [(1, "a block of type web_search_call")]


def test_a_user_speaks_first_in_anthropic():
    conversion = convert([PAIR[4], PAIR[1]], "anthropic")
    assert conversion.messages[0]["content"] == [{"type": "text", "text": OPENING}]


def test_empty_turns_are_left_out_and_listed():
    conversion = convert([PAIR[1], Message("assistant", (Text(" "),))], "openai_chat")
    assert len(conversion.messages) == 1
    assert losses(conversion) == [(1, "an empty turn")]


def test_sharegpt_says_that_call_ids_are_lost():
    assert (2, "call id 'c1'") in losses(convert(PAIR, "sharegpt"))


@pytest.mark.parametrize("to", DIALECTS)
def test_what_was_said_survives_in_every_dialect(to):
    conversion = convert(PAIR, to)
    back = parse(conversion.messages, to)
    said = [part for message in back for part in message.parts]
    assert Text("Fixed.") in said
    assert any(isinstance(part, ToolResult) and part.text == "print(1)" for part in said)
    assert any(isinstance(part, ToolCall) and part.name == "read_file" for part in said)
