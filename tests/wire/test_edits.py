"""Editing parts: what is written says what the parts say, or a typed error says what cannot be."""

import pytest

from midfold.errors import MalformedMessage
from midfold.messages import Media, Message, Opaque, Reasoning, Text, ToolCall, ToolResult
from midfold.wire import parse, render
from midfold.wire.validate import validate

MARK = {"type": "ephemeral"}
IMAGE = Media("image", "image/png", "AA==")


def chat_call(call_id="c", arguments="{}"):
    return {"id": call_id, "type": "function", "function": {"name": "f", "arguments": arguments}}


def edit(item, dialect, position, part):
    """Return what is written for `item` once `part` stands at `position`."""
    [message] = parse([item], dialect)
    return render([message.with_part(position, part)], dialect)


def remove(item, dialect, *positions):
    [message] = parse([item], dialect)
    for position in positions:
        message = message.without_part(position)
    return render([message], dialect)


CHAT_CALL = {"role": "assistant", "content": "w", "tool_calls": [chat_call()]}
CHAT_RESULT = {"role": "tool", "tool_call_id": "c", "content": "long"}
CLAUDE_CALL = {
    "role": "assistant",
    "content": [{"type": "tool_use", "id": "c", "name": "f", "input": {"path": "a.py"}}],
}
CLAUDE_RESULT = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": "long"}]}
CODEX_CALL = {"type": "function_call", "id": "fc_1", "call_id": "c", "name": "f", "arguments": "{}"}
CODEX_RESULT = {"type": "function_call_output", "call_id": "c", "output": "long"}


@pytest.mark.parametrize(
    ("dialect", "item", "position", "part"),
    [
        ("openai_chat", CHAT_CALL, 1, ToolCall("new", "g", '{"a":1}')),
        ("openai_chat", CHAT_RESULT, 0, ToolResult("new", "cut")),
        ("openai_chat", {**CHAT_RESULT, "name": "f"}, 0, ToolResult("c", "cut", name="g")),
        ("openai_chat", {**CHAT_RESULT, "tool_name": "f"}, 0, ToolResult("c", "cut", name="g")),
        ("openai_chat", {**CHAT_RESULT, "is_error": True}, 0, ToolResult("c", "cut", is_error=False)),
        ("anthropic", CLAUDE_CALL, 0, ToolCall("new", "g", '{"a":1}')),
        ("anthropic", CLAUDE_RESULT, 0, ToolResult("new", "cut", is_error=True, media=(IMAGE,))),
        ("openai_responses", CODEX_CALL, 0, ToolCall("new", "g", '{"a":1}')),
        ("openai_responses", CODEX_RESULT, 0, ToolResult("new", "cut", media=(IMAGE,))),
        ("sharegpt", {"from": "gpt", "value": "hm"}, 1, ToolCall("new", "g", '{"a":1}')),
        ("sharegpt", {"from": "tool", "value": "long"}, 0, ToolResult("new", "cut", name="g")),
    ],
)
def test_every_field_of_an_edited_part_is_written(dialect, item, position, part):
    [again] = parse(edit(item, dialect, position, part), dialect)
    expected = [*parse([item], dialect)[0].parts[:position], part]
    assert [*map(without_detail, again.parts)] == expected


def without_detail(part):
    match part:
        case ToolResult(call_id, text, is_error, media, name):
            bare = tuple(Media(item.kind, item.mime, item.source) for item in media)
            return ToolResult(call_id, text, is_error, bare, name)
        case _:
            return part


@pytest.mark.parametrize(
    ("dialect", "item", "part"),
    [
        ("openai_chat", {"role": "tool", "tool_call_id": "c"}, ToolResult("c", "cut")),
        (
            "openai_chat",
            {"role": "assistant", "content": None, "tool_calls": [{"id": "c", "function": {"name": "f"}}]},
            ToolCall("c", "f", '{"a":1}'),
        ),
        ("openai_responses", {"type": "function_call_output", "call_id": "c"}, ToolResult("c", "cut")),
        (
            "openai_responses",
            {"type": "function_call", "call_id": "c", "name": "f"},
            ToolCall("c", "f", "{}"),
        ),
        (
            "openai_responses",
            {"type": "apply_patch_call_output", "call_id": "c", "status": "completed"},
            ToolResult("c", "cut"),
        ),
        (
            "anthropic",
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c"}]},
            ToolResult("c", "cut"),
        ),
        (
            "anthropic",
            {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "f"}]},
            ToolCall("c", "f", '{"a":1}'),
        ),
    ],
)
def test_a_field_that_is_missing_is_written_where_it_belongs(dialect, item, part):
    [again] = parse(edit(item, dialect, 0, part), dialect)
    assert again.parts == (part,)


@pytest.mark.parametrize(
    ("dialect", "item"),
    [
        ("openai_chat", CHAT_RESULT),
        ("openai_chat", {"role": "user", "content": "words"}),
        ("openai_chat", {"role": "assistant", "content": [{"type": "text", "text": "x"}]}),
        ("openai_chat", {"role": "assistant", "content": None, "tool_calls": [chat_call()]}),
        ("anthropic", CLAUDE_CALL),
        ("anthropic", {"role": "user", "content": "words"}),
        ("openai_responses", CODEX_CALL),
        ("openai_responses", CODEX_RESULT),
        ("openai_responses", {"type": "reasoning", "id": "rs_1", "summary": []}),
        ("openai_responses", {"type": "web_search_call", "id": "ws_1"}),
        ("openai_responses", {"role": "user", "content": [{"type": "input_text", "text": "x"}]}),
        ("sharegpt", {"from": "human", "value": "words"}),
    ],
)
def test_an_item_whose_last_part_was_removed_is_not_written(dialect, item):
    assert remove(item, dialect, 0) == []


def test_thinking_alone_is_not_written_once_the_words_are_gone():
    thinking = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
    item = {"role": "assistant", "content": [thinking, *CLAUDE_CALL["content"]]}
    assert remove(item, "anthropic", 1) == []


def test_a_list_of_calls_goes_with_its_last_call_and_content_that_is_gone_is_null():
    assert remove(CHAT_CALL, "openai_chat", 1) == [{"role": "assistant", "content": "w"}]
    [item] = remove(CHAT_CALL, "openai_chat", 0)
    assert item == {"role": "assistant", "content": None, "tool_calls": [chat_call()]}
    [item] = remove({**CHAT_CALL, "content": [{"type": "text", "text": "w"}]}, "openai_chat", 0)
    assert item["content"] is None


def test_a_removed_part_is_gone_and_its_neighbours_stay():
    calls = [chat_call("c1"), chat_call("c2")]
    item = {"role": "assistant", "content": None, "reasoning_content": "hm", "tool_calls": calls, "x": 1}
    [written] = remove(item, "openai_chat", 0, 1)
    assert written == {"role": "assistant", "content": None, "tool_calls": [calls[1]], "x": 1}
    assert written["tool_calls"][0] is calls[1]


def test_words_in_the_place_of_a_call_go_into_the_content():
    assert edit(CHAT_CALL, "openai_chat", 1, Text("stub")) == [{"role": "assistant", "content": "w\n\nstub"}]
    assert edit({**CHAT_CALL, "content": None}, "openai_chat", 0, Text("stub")) == [
        {"role": "assistant", "content": "stub"}
    ]
    [item] = edit(CLAUDE_CALL, "anthropic", 0, Text("stub"))
    assert item["content"] == [{"type": "text", "text": "stub"}]
    [item] = edit(CODEX_CALL, "openai_responses", 0, Text("stub"))
    said = [{"type": "output_text", "text": "stub"}]
    assert item == {"type": "message", "role": "assistant", "content": said}


def test_words_in_the_place_of_a_result_are_the_users():
    assert edit(CHAT_RESULT, "openai_chat", 0, Text("stub")) == [{"role": "user", "content": "stub"}]
    [item] = edit(CODEX_RESULT, "openai_responses", 0, Text("stub"))
    assert item == {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "stub"}]}
    [turn] = edit({"from": "tool", "value": "long"}, "sharegpt", 0, Text("stub"))
    assert turn == {"from": "human", "value": "stub"}


def test_media_in_the_place_of_a_string_makes_the_content_a_list():
    [item] = edit({"role": "user", "content": "words"}, "openai_chat", 0, IMAGE)
    assert item["content"] == [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}]
    [item] = edit({"role": "user", "content": "words"}, "anthropic", 0, IMAGE)
    assert [block["type"] for block in item["content"]] == ["image"]


@pytest.mark.parametrize("block", [{"type": "refusal", "refusal": "No."}, {"type": "odd", "text": "x"}])
def test_the_words_of_an_assistant_are_output_text(block):
    item = {"type": "message", "role": "assistant", "content": [block, {"type": "output_text", "text": "y"}]}
    [written] = edit(item, "openai_responses", 0, Text("cut"))
    assert written["content"][0] in (
        {"type": "refusal", "refusal": "cut"},
        {"type": "output_text", "text": "cut"},
    )
    assert parse([written], "openai_responses")[0].parts == (Text("cut"), Text("y"))


def test_an_edit_copies_only_the_path_to_it():
    said = {"type": "text", "text": "Try b.py", "cache_control": MARK}
    item = {"role": "user", "content": [CLAUDE_RESULT["content"][0], said]}
    [written] = edit(item, "anthropic", 1, Text("Try c.py"))
    assert written["content"][0] is item["content"][0]
    assert written["content"][1] == {**said, "text": "Try c.py"}


def test_an_edit_that_is_taken_back_is_none():
    [message] = parse([CHAT_CALL], "openai_chat")
    call = message.parts[1]
    again = message.with_part(1, ToolCall("x", "y", "{}")).with_part(1, call)
    assert render([again], "openai_chat")[0] is CHAT_CALL
    assert render([again.with_part(2, Text("more")).without_part(2)], "openai_chat")[0] is CHAT_CALL


def test_a_cache_marker_survives_when_its_block_becomes_a_stub():
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}, "cache_control": MARK}
    [item] = edit({"role": "user", "content": [image]}, "openai_chat", 0, Text("[image]"))
    assert item["content"] == [{"type": "text", "text": "[image]", "cache_control": MARK}]


def test_a_cache_marker_inside_a_result_survives_when_the_result_becomes_a_stub():
    blocks = [{"type": "text", "text": "one"}, {"type": "text", "text": "two", "cache_control": MARK}]
    stub = [{"type": "text", "text": "cut", "cache_control": MARK}]
    [item] = edit({**CHAT_RESULT, "content": blocks}, "openai_chat", 0, ToolResult("c", "cut"))
    assert item["content"] == stub
    result = {"type": "tool_result", "tool_use_id": "c", "content": blocks}
    [item] = edit({"role": "user", "content": [result]}, "anthropic", 0, ToolResult("c", "cut"))
    assert item["content"] == [{**result, "content": stub}]


def test_a_cache_marker_never_lands_on_an_empty_text_or_on_thinking():
    blocks = [{"type": "text", "text": "two", "cache_control": MARK}]
    [item] = edit({**CHAT_RESULT, "content": blocks}, "openai_chat", 0, ToolResult("c", ""))
    assert item["content"] == ""
    [item] = edit({"role": "assistant", "content": blocks}, "anthropic", 0, Reasoning("hm", "c2ln"))
    assert item["content"] == [{"type": "thinking", "thinking": "hm", "signature": "c2ln"}]


def test_a_result_keeps_the_blocks_of_the_media_it_still_names():
    shots = [
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}
        for data in ("AA==", "BB==", "AA==")
    ]
    words = {"type": "text", "text": "long"}
    result = {"type": "tool_result", "tool_use_id": "c", "content": [words, *shots]}
    [item] = edit(
        {"role": "user", "content": [result]}, "anthropic", 0, ToolResult("c", "cut", media=(IMAGE,))
    )
    kept = item["content"][0]["content"]
    assert kept == [{"type": "text", "text": "cut"}, shots[0]]
    assert kept[1] is shots[0]


def test_an_appended_part_is_a_block_of_a_list_and_a_paragraph_of_a_string():
    block = {"type": "text", "text": "Be brief."}
    note = Text("[Note: folded]")
    [item] = edit({"role": "system", "content": "Be brief."}, "openai_chat", 1, note)
    assert item["content"] == "Be brief.\n\n[Note: folded]"
    [item] = edit({"role": "system", "content": [block]}, "openai_chat", 1, note)
    assert item["content"] == [block, {"type": "text", "text": "[Note: folded]"}]
    [item] = edit({"role": "developer", "content": "Be brief."}, "openai_responses", 1, note)
    assert item["content"] == "Be brief.\n\n[Note: folded]"


def test_arguments_given_as_an_object_stay_an_object_when_edited():
    call = chat_call(arguments={"path": "a.py"})
    item = {"role": "assistant", "content": "", "tool_calls": [call]}
    [written] = edit(item, "openai_chat", 1, ToolCall("c", "f", '{"path":"…"}'))
    assert written["tool_calls"][0]["function"]["arguments"] == {"path": "…"}
    assert written["content"] == ""


SHELL = {
    "type": "shell_call_output",
    "call_id": "c",
    "max_output_length": 4096,
    "output": [
        {"stdout": "one", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}},
        {"stdout": "two", "stderr": "boom", "outcome": {"type": "exit", "exit_code": 2}},
    ],
}


def test_the_output_of_a_shell_is_cut_in_its_own_shape():
    [item] = edit(SHELL, "openai_responses", 0, ToolResult("c", "cut", is_error=True))
    assert item["output"] == [
        {"stdout": "cut", "stderr": "", "outcome": {"type": "exit", "exit_code": 2}},
    ]
    assert item["max_output_length"] == 4096


def test_a_turn_that_is_a_bare_call_stays_one():
    turn = {"from": "function_call", "value": '{"name": "f", "arguments": {"path": "a.py"}}'}
    [written] = edit(turn, "sharegpt", 0, ToolCall("", "f", '{"path":"…"}'))
    assert written == {"from": "function_call", "value": '{"name":"f","arguments":{"path":"…"}}'}
    [written] = edit(turn, "sharegpt", 0, Text("stub"))
    assert written == {"from": "gpt", "value": "stub"}


SCREENSHOT = {
    "type": "computer_call_output",
    "call_id": "c",
    "output": {"type": "computer_screenshot", "image_url": "data:image/png;base64,AA=="},
}


@pytest.mark.parametrize(
    ("dialect", "item", "position", "part", "reason"),
    [
        ("openai_chat", CHAT_RESULT, 0, ToolResult("c", "x", is_error=True), "error"),
        ("openai_chat", CHAT_RESULT, 0, ToolResult("c", "x", media=(IMAGE,)), "cannot hold a Media"),
        ("openai_chat", CHAT_RESULT, 0, ToolCall("c", "f", "{}"), "take the place"),
        ("openai_chat", CHAT_RESULT, 1, Text("more"), "nothing can be added"),
        ("openai_chat", CHAT_CALL, 0, Media("document", "", "file_1"), "Media like this"),
        ("openai_chat", CHAT_CALL, 0, Opaque("odd", "{}"), "Opaque"),
        ("openai_chat", CHAT_CALL, 0, ToolResult("c", "x"), "ToolResult"),
        ("openai_chat", CHAT_CALL, 2, Reasoning("hm", "c2ln"), "signature"),
        ("anthropic", CLAUDE_CALL, 0, ToolCall("c", "f", "words"), "expected an object"),
        ("anthropic", CLAUDE_CALL, 0, Reasoning("unsigned"), "Reasoning like this"),
        ("openai_responses", SCREENSHOT, 0, ToolResult("c", "cut"), "computer_screenshot"),
        ("openai_responses", CODEX_RESULT, 0, ToolResult("c", "x", is_error=True), "error"),
        ("openai_responses", CODEX_CALL, 1, Text("more"), "cannot be added"),
        (
            "openai_responses",
            {"type": "local_shell_call", "call_id": "c", "action": {"command": ["ls"]}},
            0,
            ToolCall("c", "other", "{}"),
            "no field for the name",
        ),
        ("sharegpt", {"from": "gpt", "value": "x"}, 0, IMAGE, "Media like this"),
        ("sharegpt", {"from": "human", "value": "x"}, 0, ToolCall("", "f", "{}"), "ToolCall like this"),
        ("sharegpt", {"from": "tool", "value": "x"}, 0, ToolResult("", "x", is_error=True), "like this"),
    ],
)
def test_what_a_dialect_cannot_say_is_a_typed_error_with_the_index(dialect, item, position, part, reason):
    fine = Message("user", (Text("hello"),))
    [message] = parse([item], dialect)
    with pytest.raises(MalformedMessage, match=reason) as caught:
        render([fine, message.with_part(position, part)], dialect)
    assert caught.value.index == 1


def test_a_sanitised_id_is_legal_on_both_sides():
    asked = {"role": "assistant", "content": [{**CLAUDE_CALL["content"][0], "id": "a b"}]}
    told = {"role": "user", "content": [{**CLAUDE_RESULT["content"][0], "tool_use_id": "a b"}]}
    question, call, result = parse([{"role": "user", "content": "x"}, asked, told], "anthropic")
    mended = [
        question,
        call.with_part(0, ToolCall("a_b", "f", call.parts[0].arguments)),
        result.with_part(0, ToolResult("a_b", "long")),
    ]
    assert validate(render(mended, "anthropic"), dialect="anthropic") == []


def test_words_around_a_result_keep_their_places_when_the_result_is_edited():
    turn = {"from": "tool", "value": 'before\n<tool_response>\n{"content": "long"}\n</tool_response>\nafter'}
    [message] = parse([turn], "sharegpt")
    edited = message.with_part(1, ToolResult("", "short"))
    assert parse(render([edited], "sharegpt"), "sharegpt")[0].parts == edited.parts
