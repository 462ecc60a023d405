"""What is sent: any request in the dialect and the manners of the API that it goes to."""

import json
from copy import deepcopy
from types import SimpleNamespace

import pytest

from midfold.errors import ConfigError, DialectError
from midfold.wire import Request, read_request
from midfold.wire.apis import APIS, Quirks, encode_body, fit_request, get_api
from midfold.wire.apis.openai_chat import join_neighbours
from midfold.wire.validate import validate

PLAIN = Quirks()
USER = {"role": "user", "content": "List the files."}
SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}}
TOOLS = {
    "openai_chat": {
        "type": "function",
        "function": {"name": "ls", "description": "Lists files.", "parameters": SCHEMA},
    },
    "openai_responses": {
        "type": "function",
        "name": "ls",
        "description": "Lists files.",
        "parameters": SCHEMA,
    },
    "anthropic": {"name": "ls", "description": "Lists files.", "input_schema": SCHEMA},
}


def build(request: Request, api: str, quirks: Quirks = PLAIN) -> dict[str, object]:
    return get_api(api).build(request, quirks)


@pytest.mark.parametrize("api", APIS)
def test_fields_that_nothing_here_knows_are_sent_as_they_came(api):
    key = "input" if api == "openai_responses" else "messages"
    sent = {"model": "theirs", key: [USER], "temperature": 0.2, "metadata": {"user_id": "7"}, "stream": True}
    body = build(Request(api, [USER], model="ours", raw=sent), api)
    assert (body["model"], body["temperature"], body["metadata"]) == ("ours", 0.2, {"user_id": "7"})
    assert "stream" not in body


def test_output_cap_is_spelled_as_the_server_wants_it():
    request = Request("openai_chat", [USER], max_output=100)
    assert build(request, "openai_chat")["max_tokens"] == 100
    modern = build(request, "openai_chat", Quirks(output_cap_field="max_completion_tokens"))
    assert modern["max_completion_tokens"] == 100
    assert "max_tokens" not in modern


def test_output_cap_keeps_the_spelling_of_the_callers_own_body():
    request = read_request({"model": "m", "messages": [USER], "max_completion_tokens": 5}, "openai_chat")
    body = build(request, "openai_chat")
    assert body["max_completion_tokens"] == 5
    assert "max_tokens" not in body


def test_anthropic_always_has_a_cap():
    assert build(Request("anthropic", [USER]), "anthropic")["max_tokens"] == 4096
    assert build(Request("anthropic", [USER], max_output=7), "anthropic")["max_tokens"] == 7


def test_chat_streams_ask_for_usage_unless_the_server_minds():
    request = Request("openai_chat", [USER], stream=True)
    assert build(request, "openai_chat")["stream_options"] == {"include_usage": True}
    assert "stream_options" not in build(request, "openai_chat", Quirks(asks_for_stream_usage=False))


def test_plain_call_of_a_body_that_streamed_has_no_options_of_streams():
    raw = {"messages": [USER], "stream": True, "stream_options": {"include_usage": True}}
    assert "stream_options" not in build(Request("openai_chat", [USER], raw=raw), "openai_chat")


@pytest.mark.parametrize("api", APIS)
def test_system_prompt_goes_where_the_api_has_it(api):
    body = build(Request(api, [USER], system="Be brief."), api)
    places = {
        "openai_chat": lambda: body["messages"][0]["content"],
        "openai_responses": lambda: body["instructions"],
        "anthropic": lambda: body["system"],
    }
    assert places[api]() == "Be brief."


@pytest.mark.parametrize("source", APIS)
@pytest.mark.parametrize("target", APIS)
def test_request_of_any_dialect_is_understood_by_any_api(source, target):
    request = Request(source, [USER], system="Be brief.", tools=[TOOLS[source]], max_output=9)
    fitted = fit_request(request, target)
    body = build(fitted, target)
    assert body["tools"] == [TOOLS[target]]
    assert "Be brief." in json.dumps(body)
    sent = body["input" if target == "openai_responses" else "messages"]
    assert validate(sent, dialect=target) == []


def test_text_is_what_the_user_says():
    assert fit_request("hello", "anthropic").messages == [{"role": "user", "content": "hello"}]


def test_request_in_the_right_dialect_is_left_alone():
    request = Request("anthropic", [USER])
    assert fit_request(request, "anthropic") is request


@pytest.mark.parametrize(
    ("tool", "why"),
    [
        ({"type": "web_search_preview"}, "only its own provider runs one of type 'web_search_preview'"),
        ({"type": "bash_20250124", "name": "bash"}, "bash_20250124"),
        ({"type": "function", "function": {}}, "it has no name"),
        ("ls", "expected an object"),
    ],
)
def test_tool_that_cannot_be_offered_elsewhere_is_refused(tool, why):
    with pytest.raises(DialectError, match=why):
        fit_request(Request("openai_responses", [USER], tools=[tool]), "anthropic")


def test_neighbours_of_one_role_become_one_message_of_separate_parts():
    messages = [
        {"role": "system", "content": "s"},
        {"role": "user", "content": "summary"},
        {"role": "user", "content": [{"type": "text", "text": "request"}]},
        {"role": "assistant", "content": "a"},
        {"role": "assistant", "content": "b"},
        {"role": "user", "content": "c"},
    ]
    before = deepcopy(messages)
    joined = join_neighbours(messages)
    assert [message["role"] for message in joined] == ["system", "user", "assistant", "user"]
    assert [part["text"] for part in joined[1]["content"]] == ["summary", "request"]
    assert messages == before
    assert joined[3] is messages[5]


def test_results_of_parallel_calls_are_no_neighbours():
    calls = [{"id": n, "type": "function", "function": {"name": "f", "arguments": "{}"}} for n in "ab"]
    messages = [
        {"role": "assistant", "content": None, "tool_calls": calls},
        {"role": "tool", "tool_call_id": "a", "content": "1"},
        {"role": "tool", "tool_call_id": "b", "content": "2"},
    ]
    assert join_neighbours(messages) == messages


def test_joining_is_the_manner_of_one_profile_alone():
    request = Request("openai_chat", [USER, USER])
    assert len(build(request, "openai_chat")["messages"]) == 2
    assert len(build(request, "openai_chat", Quirks(alternates=True))["messages"]) == 1


def test_objects_of_sdks_are_written_as_what_they_stand_for():
    reply = SimpleNamespace(model_dump=lambda **_options: {"role": "assistant", "content": "hi"})
    assert json.loads(encode_body({"messages": [reply]})) == {
        "messages": [{"role": "assistant", "content": "hi"}]
    }


def test_lone_surrogates_are_replaced():
    assert json.loads(encode_body({"text": "a\ud800b 漢"})) == {"text": "a\ufffdb 漢"}


@pytest.mark.parametrize("value", [float("nan"), object(), {1, 2}])
def test_what_is_not_json_is_refused(value):
    with pytest.raises(DialectError, match="cannot be written as JSON"):
        encode_body({"value": value})


def test_unknown_api_names_those_there_are():
    with pytest.raises(ConfigError, match="openai_chat, openai_responses, anthropic"):
        get_api("soap")
