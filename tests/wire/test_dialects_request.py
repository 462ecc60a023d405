"""Request bodies and transcripts: what travels beside the messages, and the way back."""

import pytest

from midfold.errors import UnknownDialect
from midfold.wire import read_request

TEXTS = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]


def test_a_bare_list_gives_a_bare_list_back():
    request = read_request(TEXTS)
    assert (request.dialect, request.messages, request.raw) == ("openai_chat", TEXTS, None)
    assert request.with_messages(TEXTS[:1]) == TEXTS[:1]


def test_an_object_gives_the_same_object_with_other_messages():
    body = {"model": "m", "messages": TEXTS, "temperature": 0, "x_vendor": {"a": 1}}
    changed = read_request(body).with_messages(TEXTS[:1])
    assert changed == {**body, "messages": TEXTS[:1]}
    assert body["messages"] is TEXTS


def test_an_anthropic_body_is_told_by_its_system_field():
    request = read_request({"model": "claude", "system": "Be brief.", "max_tokens": 99, "messages": TEXTS})
    assert (request.dialect, request.system, request.max_output) == ("anthropic", "Be brief.", 99)


TOOL = {"name": "f", "description": "…", "input_schema": {"type": "object"}}
SYSTEM = {"role": "system", "content": "Be brief."}


@pytest.mark.parametrize(
    ("body", "dialect"),
    [
        ({"messages": TEXTS, "tools": [TOOL]}, "anthropic"),
        ({"messages": TEXTS, "anthropic_version": "bedrock-2023-05-31"}, "anthropic"),
        ({"messages": TEXTS, "system": [{"type": "text", "text": "Be brief."}]}, "anthropic"),
        ({"messages": [*TEXTS, SYSTEM], "system": "Be brief."}, "anthropic"),
        ({"messages": [SYSTEM, *TEXTS], "system": None, "model": "gpt"}, "openai_chat"),
        ({"messages": TEXTS, "system": None}, "openai_chat"),
        ({"messages": [SYSTEM, *TEXTS], "system": "x"}, "openai_chat"),
        ({"messages": TEXTS, "tools": [{"type": "function", "function": {"name": "f"}}]}, "openai_chat"),
        ({"messages": [*TEXTS, {"role": "tool", "tool_call_id": "c"}], "system": "x"}, "openai_chat"),
    ],
)
def test_a_body_tells_what_its_messages_leave_open(body, dialect):
    assert read_request(body).dialect == dialect


def test_a_responses_body_keeps_its_instructions_apart():
    request = read_request(
        {"instructions": "Be brief.", "input": TEXTS, "max_output_tokens": 50, "stream": True}
    )
    assert (request.dialect, request.system) == ("openai_responses", "Be brief.")
    assert (request.max_output, request.stream) == (50, True)


def test_a_responses_input_may_be_one_text():
    assert read_request({"input": "hi"}).messages == [{"role": "user", "content": "hi"}]


def test_conversations_are_sharegpt():
    assert read_request({"conversations": [{"from": "human", "value": "hi"}]}).dialect == "sharegpt"


def test_tools_and_model_are_read():
    request = read_request({"messages": TEXTS, "tools": [{"type": "function"}], "model": "gpt-5"})
    assert (request.tools, request.model) == ([{"type": "function"}], "gpt-5")


def test_a_given_dialect_decides():
    assert read_request(TEXTS, "anthropic").dialect == "anthropic"


@pytest.mark.parametrize(
    "body", [7, "text", None, {}, {"messages": 3}, {"prompt": "x"}, [], {"messages": []}]
)
def test_a_body_without_messages_is_refused(body):
    with pytest.raises(UnknownDialect):
        read_request(body)


def test_an_error_quotes_the_keys_it_found_and_is_short():
    with pytest.raises(UnknownDialect) as caught:
        read_request({"\x1b[31mred\nline2": 1, "x" * 1000: 2})
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 200
