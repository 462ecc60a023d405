"""Reading and writing each dialect: the same parts, the same objects back, edits along one path only."""

import copy
import json

import pytest

from midfold.errors import MalformedMessage, UnknownDialect
from midfold.messages import Media, Message, Opaque, Reasoning, Text, ToolCall, ToolResult
from midfold.wire import DIALECTS, detect, parse, render

CHAT = [
    {"role": "system", "content": "Be brief."},
    {
        "role": "user",
        "content": [
            {"type": "text", "text": "What is on it?", "cache_control": {"type": "ephemeral"}},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA==", "detail": "low"}},
        ],
    },
    {
        "role": "assistant",
        "content": None,
        "reasoning_content": "Look.",
        "x_vendor": 1,
        "tool_calls": [
            {
                "id": "c1",
                "type": "function",
                "function": {"name": "read_file", "arguments": '{"path": "a.py"}'},
            },
            {"id": "c2", "type": "custom", "custom": {"name": "shell", "input": "ls -l"}},
        ],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "print(1)"},
    {"role": "tool", "tool_call_id": "c2", "content": [{"type": "text", "text": "total 0"}]},
    {"role": "assistant", "content": "A parking meter.", "refusal": None},
]
CHAT_PARTS = [
    (Text("Be brief."),),
    (Text("What is on it?"), Media("image", "image/png", "AA==", "low")),
    (Reasoning("Look."), ToolCall("c1", "read_file", '{"path": "a.py"}'), ToolCall("c2", "shell", "ls -l")),
    (ToolResult("c1", "print(1)"),),
    (ToolResult("c2", "total 0"),),
    (Text("A parking meter."),),
]
ANTHROPIC = [
    {"role": "user", "content": "What is on it?"},
    {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "Look.", "signature": "c2ln"},
            {"type": "redacted_thinking", "data": "ZGF0YQ=="},
            {"type": "text", "text": "One moment."},
            {"type": "tool_use", "id": "t1", "name": "read_file", "input": {"path": "a.py"}},
            {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "x"}},
        ],
    },
    {
        "role": "user",
        "content": [
            {
                "type": "tool_result",
                "tool_use_id": "t1",
                "is_error": True,
                "content": [
                    {"type": "text", "text": "no such file"},
                    {
                        "type": "image",
                        "source": {"type": "base64", "media_type": "image/png", "data": "AA=="},
                    },
                ],
            },
            {"type": "text", "text": "Try b.py", "cache_control": {"type": "ephemeral"}},
        ],
    },
]
ANTHROPIC_PARTS = [
    (Text("What is on it?"),),
    (
        Reasoning("Look.", "c2ln"),
        Reasoning("", "ZGF0YQ=="),
        Text("One moment."),
        ToolCall("t1", "read_file", '{"path":"a.py"}'),
        Opaque(
            "server_tool_use",
            '{"id":"s1","input":{"query":"x"},"name":"web_search","type":"server_tool_use"}',
        ),
    ),
    (
        ToolResult("t1", "no such file", is_error=True, media=(Media("image", "image/png", "AA=="),)),
        Text("Try b.py"),
    ),
]
RESPONSES = [
    {"role": "developer", "content": [{"type": "input_text", "text": "Be brief."}]},
    {
        "type": "message",
        "role": "user",
        "content": [
            {"type": "input_text", "text": "Fix it"},
            {"type": "input_image", "image_url": "https://example.org/a.png", "detail": "auto"},
        ],
    },
    {
        "type": "reasoning",
        "id": "rs_1",
        "summary": [{"type": "summary_text", "text": "Look."}],
        "encrypted_content": "ZW5j",
    },
    {
        "type": "function_call",
        "id": "fc_1",
        "call_id": "c1",
        "name": "read_file",
        "arguments": '{"path":"a.py"}',
    },
    {"type": "function_call_output", "call_id": "c1", "output": "print(1)"},
    {"type": "custom_tool_call", "call_id": "c2", "name": "apply_patch", "input": "*** Begin"},
    {"type": "custom_tool_call_output", "call_id": "c2", "output": [{"type": "input_text", "text": "done"}]},
    {"type": "local_shell_call", "call_id": "c3", "action": {"type": "exec", "command": ["ls"]}},
    {"type": "web_search_call", "id": "ws_1", "status": "completed"},
    {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_text", "text": "Fixed.", "annotations": []}],
    },
]
RESPONSES_PARTS = [
    (Text("Be brief."),),
    (Text("Fix it"), Media("image", "", "https://example.org/a.png", "auto")),
    (Reasoning("Look.", "ZW5j"),),
    (ToolCall("c1", "read_file", '{"path":"a.py"}'),),
    (ToolResult("c1", "print(1)"),),
    (ToolCall("c2", "apply_patch", "*** Begin"),),
    (ToolResult("c2", "done"),),
    (ToolCall("c3", "local_shell", '{"type":"exec","command":["ls"]}'),),
    (Opaque("web_search_call", '{"id":"ws_1","status":"completed","type":"web_search_call"}'),),
    (Text("Fixed."),),
]
SHAREGPT = [
    {"from": "system", "value": "Be brief."},
    {"from": "human", "value": "Fix it"},
    {
        "from": "gpt",
        "value": "<think>\nLook.\n</think>\nOne moment.\n<tool_call>\n"
        '{"name": "read_file", "arguments": {"path": "a.py"}}\n</tool_call>',
    },
    {
        "from": "tool",
        "value": '<tool_response>\n{"tool_call_id": "t1", "name": "read_file", "content": "print(1)"}\n'
        "</tool_response>",
    },
    {"from": "gpt", "value": "<tool_call>not json</tool_call>"},
    {"from": "tool", "value": "plain words"},
]
SHAREGPT_PARTS = [
    (Text("Be brief."),),
    (Text("Fix it"),),
    (Reasoning("Look."), Text("One moment."), ToolCall("", "read_file", '{"path":"a.py"}')),
    (ToolResult("t1", "print(1)", name="read_file"),),
    (ToolCall("", "", "not json"),),
    (ToolResult("", "plain words"),),
]
SAMPLES = {
    "openai_chat": (CHAT, CHAT_PARTS),
    "anthropic": (ANTHROPIC, ANTHROPIC_PARTS),
    "openai_responses": (RESPONSES, RESPONSES_PARTS),
    "sharegpt": (SHAREGPT, SHAREGPT_PARTS),
}


@pytest.mark.parametrize("dialect", SAMPLES)
def test_items_are_read_as_parts(dialect):
    items, parts = SAMPLES[dialect]
    assert [message.parts for message in parse(items, dialect)] == parts


@pytest.mark.parametrize("dialect", SAMPLES)
def test_unedited_messages_come_back_as_the_same_objects(dialect):
    items, _ = SAMPLES[dialect]
    rendered = render(parse(items), dialect)
    assert len(rendered) == len(items)
    assert all(new is old for new, old in zip(rendered, items, strict=True))


@pytest.mark.parametrize("dialect", SAMPLES)
def test_the_dialect_is_told_by_the_items(dialect):
    assert detect(SAMPLES[dialect][0]) == dialect


@pytest.mark.parametrize("dialect", SAMPLES)
def test_an_edit_of_any_part_leaves_the_input_alone_and_the_others_as_they_are(dialect):
    items, _ = SAMPLES[dialect]
    before = copy.deepcopy(items)
    for index, message in enumerate(parse(items, dialect)):
        for position, part in enumerate(message.parts):
            new = _shorter(part)
            edited = message.with_part(position, new)
            again = parse(render([edited], dialect), dialect)
            assert [p for m in again for p in m.parts] == [*edited.parts], (index, position)
    assert items == before


def _shorter(part):
    match part:
        case ToolResult(call_id, _, is_error, _, name):
            return ToolResult(call_id, "[cut]", is_error, (), name)
        case ToolCall(call_id, name, arguments):
            return ToolCall(call_id, name, '{"path":"…"}' if arguments.startswith("{") else "…")
        case Reasoning(_, signature):
            return Reasoning("…", signature) if signature else Reasoning("…")
        case _:
            return Text("[cut]")


def test_a_message_made_here_is_spelled_by_its_dialect():
    made = Message("user", (Text("hello"),))
    assert render([made], "openai_chat") == [{"role": "user", "content": "hello"}]
    assert render([made], "anthropic") == [{"role": "user", "content": [{"type": "text", "text": "hello"}]}]
    assert render([made], "sharegpt") == [{"from": "human", "value": "hello"}]


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"a": 'x\n"y"é'},
        {"a": 1, "b": -2},
        {"a": True, "b": None},
        {"a": [1, {"b": 0.5}]},
        {"a": "\ud83d"},
    ],
)
def test_arguments_given_as_an_object_are_spelled_as_compact_json(given):
    [message] = parse(
        [{"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "n", "input": given}]}]
    )
    assert message.parts[0].arguments == json.dumps(given, separators=(",", ":"), ensure_ascii=False)


def test_keys_that_json_does_not_know_are_spelled_as_text():
    [message] = parse(
        [{"role": "assistant", "content": [{"type": "tool_use", "name": "n", "input": {1: "x"}}]}]
    )
    assert message.parts[0].arguments == '{"1":"x"}'


def test_values_that_json_does_not_know_are_a_malformed_message():
    with pytest.raises(MalformedMessage, match="not JSON"):
        parse([{"role": "assistant", "content": [{"type": "tool_use", "name": "n", "input": {"a": {1, 2}}}]}])


def test_numbers_too_long_to_spell_are_a_malformed_message():
    call = {"type": "tool_use", "name": "n", "input": {"n": 10**5000}}
    with pytest.raises(MalformedMessage, match="not JSON"):
        parse([{"role": "assistant", "content": [call]}])


@pytest.mark.parametrize("dialect", ["openai_chat", "anthropic", "openai_responses"])
def test_content_may_be_a_tuple(dialect):
    item = {"role": "user", "content": ({"type": "text", "text": "a"}, {"type": "text", "text": "b"})}
    [message] = parse([item], dialect)
    assert message.parts == (Text("a"), Text("b"))
    [edited] = render([message.with_part(1, Text("c"))], dialect)
    assert [block["text"] for block in edited["content"]] == ["a", "c"]


def test_the_output_of_a_shell_is_read_as_its_words_and_whether_it_failed():
    def output(*chunks):
        return {"type": "shell_call_output", "call_id": "c", "output": list(chunks)}

    good = {"stdout": "a", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}
    late = {"stdout": "b", "stderr": "slow", "outcome": {"type": "timeout"}}
    [one, two] = parse([output(good), output(good, late)], "openai_responses")
    assert one.parts == (ToolResult("c", "a"),)
    assert two.parts == (ToolResult("c", "a\nb\nslow", is_error=True),)


def test_an_output_of_objects_is_read_as_their_json():
    item = {"type": "function_call_output", "call_id": "c", "output": [{"rows": 3}]}
    assert parse([item], "openai_responses")[0].parts == (ToolResult("c", '{"rows":3}'),)


@pytest.mark.parametrize(
    ("speaker", "value"),
    [
        ("human", "what is <think>A</think>?"),
        ("human", 'is <tool_call>{"name": "f"}</tool_call> right?'),
        ("human", "is <tool_response>x</tool_response> right?"),
        ("system", "Answer inside <tool_call></tool_call> tags."),
        ("gpt", "I answer inside <tool_response>x</tool_response> tags."),
    ],
)
def test_tags_are_words_where_the_speaker_cannot_use_them(speaker, value):
    assert parse([{"from": speaker, "value": value}])[0].parts == (Text(value),)


def test_a_user_may_hand_over_results():
    turn = {"from": "human", "value": "<tool_response>\nok\n</tool_response>\nGo on."}
    assert parse([turn])[0].parts == (ToolResult("", "ok"), Text("Go on."))


def test_the_old_function_spelling_is_read():
    old = [
        {"role": "assistant", "content": None, "function_call": {"name": "t", "arguments": "{}"}},
        {"role": "function", "name": "t", "content": "ok"},
    ]
    assert [m.parts for m in parse(old)] == [(ToolCall("", "t", "{}"),), (ToolResult("", "ok", name="t"),)]
    assert [m.role for m in parse(old)] == ["assistant", "tool"]


BAD = [
    ("openai_chat", [{"role": "user", "content": "ok"}, 7], 1, "expected an object, found a number"),
    ("openai_chat", [{"content": "x"}], 0, "role is null"),
    ("openai_chat", [{"role": 3, "content": "x"}], 0, "role is a number"),
    ("openai_chat", [{"role": "user", "content": 5}], 0, "content is a number"),
    ("openai_chat", [{"role": "user", "content": {"text": "x"}}], 0, "content is an object"),
    ("openai_chat", [{"role": "user", "content": [{"text": "x"}]}], 0, "has no type"),
    ("openai_chat", [{"role": "assistant", "tool_calls": "x"}], 0, "tool_calls is text"),
    ("openai_chat", [{"role": "assistant", "tool_calls": [{"id": "c"}]}], 0, "function is null"),
    (
        "openai_chat",
        [{"role": "assistant", "tool_calls": [{"function": {"name": "t", "arguments": 3}}]}],
        0,
        "arguments",
    ),
    ("openai_chat", [{"role": "tool", "tool_call_id": 9, "content": "x"}], 0, "tool_call_id is a number"),
    (
        "openai_chat",
        [{"role": "tool", "tool_call_id": "c", "content": True}],
        0,
        "a tool result is a boolean",
    ),
    ("anthropic", [{"role": "user", "content": [None]}], 0, "expected an object, found null"),
    ("anthropic", [{"role": "user", "content": [{"type": "text", "text": ["x"]}]}], 0, "text is a list"),
    ("anthropic", [{"role": "user", "content": True}], 0, "content is a boolean"),
    ("anthropic", [{"content": "x"}], 0, "role is null"),
    ("openai_responses", [{"type": 3}], 0, "type is a number"),
    ("openai_responses", [{"type": "message", "content": "x"}], 0, "role is null"),
    (
        "openai_responses",
        [{"type": "function_call_output", "call_id": "c", "output": 1}],
        0,
        "a tool result is a number",
    ),
    ("openai_responses", [{"type": "reasoning", "summary": "x"}], 0, "summary is text"),
    ("sharegpt", [{"from": "human", "value": None}], 0, "value is null"),
    ("sharegpt", [{"from": None, "value": "x"}], 0, "from is null"),
]


@pytest.mark.parametrize(("dialect", "items", "index", "reason"), BAD)
def test_an_item_that_cannot_be_read_is_named_by_its_index(dialect, items, index, reason):
    before = copy.deepcopy(items)
    with pytest.raises(MalformedMessage) as caught:
        parse(items, dialect)
    assert caught.value.index == index
    assert reason in caught.value.reason
    assert items == before


def test_values_nested_too_deeply_are_a_malformed_message():
    deep = value = {}
    for _ in range(100_000):
        value["x"] = {}
        value = value["x"]
    item = {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "n", "input": deep}]}
    with pytest.raises(MalformedMessage, match="nested too deeply"):
        parse([item], "anthropic")


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(UnknownDialect, match="anthropic, openai_chat, openai_responses, sharegpt"):
        parse([{"role": "user", "content": "x"}], "cobol")


def test_every_dialect_has_a_sample_here():
    assert set(SAMPLES) == set(DIALECTS)
