"""The door: any dialect, any input, dicts and SDK objects alike."""

import copy
import time

import anthropic.types as claude
import openai.types.chat as chat
import openai.types.responses as responses
import pytest
from hypothesis import given
from hypothesis import strategies as st

from midfold.errors import ConfigError, UnknownDialect
from midfold.wire.validate import validate

DIALECTS = ["openai_chat", "openai_responses", "anthropic", "sharegpt"]
USER = {"role": "user", "content": "Which files are there?"}


def codes(faults):
    return [(fault.code, fault.index) for fault in faults]


def test_an_unknown_dialect_is_refused_with_the_names_there_are():
    with pytest.raises(UnknownDialect, match="'morse'; the known ones are anthropic, openai_chat"):
        validate([USER], dialect="morse")


def test_an_unknown_mode_is_refused():
    with pytest.raises(ConfigError, match="mode is 'strict'; expected report or enforce"):
        validate([USER], dialect="openai_chat", mode="strict")


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("value", [None, 5, {"role": "user"}], ids=["null", "number", "object"])
def test_what_is_no_list_is_one_fault_of_the_whole(dialect, value):
    assert [fault.index for fault in validate(value, dialect=dialect)] == [None]


def test_faults_come_in_the_order_of_the_messages():
    messages = [{"role": "tool", "tool_call_id": "a", "content": None}, USER, {"role": "robot"}]
    assert codes(validate(messages, dialect="openai_chat")) == [("OC3", 0), ("OC5", 0), ("OC2", 2)]


SHAREGPT = {
    "SG1": ["Hi"],
    "SG2": [{"from": None, "value": "Hi"}],
    "SG3": [{"from": "human", "value": ["Hi"]}],
}


@pytest.mark.parametrize("code", SHAREGPT)
def test_a_sharegpt_turn_needs_a_speaker_and_words(code):
    assert validate([{"from": "human", "value": "Hi"}], dialect="sharegpt") == []
    assert codes(validate(SHAREGPT[code], dialect="sharegpt")) == [(code, 0)]


CHAT_REPLY = chat.ChatCompletionMessage.model_validate(
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "ls", "arguments": "{}"}}],
    }
)


@pytest.mark.parametrize(
    "reply",
    [
        CHAT_REPLY,
        {"role": "assistant", "content": None, "tool_calls": CHAT_REPLY.tool_calls},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c1", "type": "function", "function": CHAT_REPLY.tool_calls[0].function}],
        },
    ],
    ids=["message", "calls", "function"],
)
def test_openai_chat_objects_are_read_as_dicts(reply):
    answered = [USER, reply, {"role": "tool", "tool_call_id": "c1", "content": "a.py"}]
    assert validate(answered, dialect="openai_chat", mode="enforce") == []
    assert codes(validate([USER, reply, USER], dialect="openai_chat")) == [("OC14", 1)]


def test_openai_response_items_are_read_as_dicts():
    call = responses.ResponseFunctionToolCall.model_validate(
        {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "ls", "arguments": "{}"}
    )
    output = {"type": "function_call_output", "call_id": "c1", "output": "a.py"}
    assert validate([USER, call, output], dialect="openai_responses", mode="enforce") == []
    assert codes(validate([USER, call, USER], dialect="openai_responses")) == [("OR2", 1)]


CLAUDE_REPLY = claude.Message.model_validate(
    {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude",
        "content": [
            {"type": "thinking", "thinking": "Look.", "signature": "c2ln"},
            {"type": "tool_use", "id": "t1", "name": "ls", "input": {}},
        ],
        "stop_reason": "tool_use",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }
)


@pytest.mark.parametrize(
    "reply",
    [CLAUDE_REPLY, {"role": "assistant", "content": CLAUDE_REPLY.content}],
    ids=["message", "blocks"],
)
def test_anthropic_objects_are_read_as_dicts(reply):
    words = claude.TextBlock(type="text", text="")
    result = {"type": "tool_result", "tool_use_id": "t1", "content": (words,)}
    answered = [USER, reply, {"role": "user", "content": (result,)}]
    assert validate(answered, dialect="anthropic", mode="enforce", thinking=True) == []
    assert codes(validate([USER, reply, USER], dialect="anthropic")) == [("AN7", 1)]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=10,
)
WORDS = st.sampled_from(
    [
        "", " ", "c1", "user", "assistant", "system", "tool", "text", "tool_use", "tool_result", "thinking",
        "image", "server_tool_use", "web_search_tool_result", "function", "custom", "message", "reasoning",
        "function_call", "function_call_output", "item_reference",
    ]
)  # fmt: skip
KEYS = st.sampled_from(
    [
        "role", "content", "type", "id", "call_id", "tool_calls", "tool_call_id", "tool_use_id", "function",
        "name", "arguments", "input", "output", "text", "thinking", "signature", "source", "data", "from",
        "value", "cache_control", "output_config", "encrypted_content", "extra_content",
    ]
)  # fmt: skip
# Objects that nearly are messages reach further into the checks than arbitrary ones do.
NEARLY = st.recursive(
    WORDS | JSON,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=6),
    max_leaves=12,
)


@pytest.mark.parametrize("dialect", DIALECTS)
@given(messages=st.lists(NEARLY, max_size=6), system=NEARLY, tools=st.none() | st.lists(NEARLY, max_size=3))
def test_no_input_raises_or_is_changed(dialect, messages, system, tools):
    before = copy.deepcopy((messages, system, tools))
    for mode in ("report", "enforce"):
        faults = validate(messages, dialect=dialect, system=system, tools=tools, mode=mode, thinking=True)
        assert all(fault.index is None or 0 <= fault.index < len(messages) for fault in faults)
    assert (messages, system, tools) == before


@pytest.mark.parametrize("dialect", DIALECTS)
@given(messages=st.lists(NEARLY, max_size=6))
def test_enforcing_never_forgives_what_is_reported(dialect, messages):
    reported = validate(messages, dialect=dialect)
    enforced = validate(messages, dialect=dialect, mode="enforce")
    assert [fault for fault in reported if fault not in enforced] == []
    assert all(fault.severity == "error" for fault in reported)


def test_arguments_nested_beyond_reason_are_a_fault_and_no_crash():
    body = {"name": "ls", "arguments": "[" * 100_000}
    call = {"id": "c1", "type": "function", "function": body}
    messages = [
        USER,
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": ""},
    ]
    assert codes(validate(messages, dialect="openai_chat", mode="enforce")) == [("OC11", 1)]


def test_time_grows_with_the_length_of_the_list_and_no_faster():
    def seconds(length):
        messages = [USER, {"role": "assistant", "content": "Two."}] * (length // 2)
        start = time.process_time()
        validate(messages, dialect="anthropic", mode="enforce")
        return time.process_time() - start

    few = min(seconds(1_000) for _ in range(5))
    assert min(seconds(10_000) for _ in range(3)) < 40 * few
