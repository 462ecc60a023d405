"""Where cache breakpoints go, and where they never go."""

import json
from typing import Any

import pytest
from anthropic.types import TextBlock, ToolUseBlock
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from openai.types.chat import ChatCompletionMessage

from midfold.errors import ConfigError
from midfold.wire.cache_control import (
    apply_cache_control,
    caching_applies,
    count_markers,
    strip_cache_control,
)

MARKER = {"type": "ephemeral"}
HOUR = {"type": "ephemeral", "ttl": "1h"}
THINKING = {"type": "thinking", "thinking": "hm", "signature": "s"}
REDACTED = {"type": "redacted_thinking", "data": "x"}


def user(content: Any = "question") -> dict[str, Any]:
    return {"role": "user", "content": content}


def assistant(content: Any = "answer", **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content, **more}


def text(words: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": words, **more}


def openai_turn(calls: int, turn: int = 0) -> list[dict[str, Any]]:
    """A reply that calls `calls` tools at once, and their results, in OpenAI's shape."""
    ids = [f"call_{turn}_{number}" for number in range(calls)]
    asked = [
        {"id": call, "type": "function", "function": {"name": "read", "arguments": "{}"}} for call in ids
    ]
    return [
        assistant(None, tool_calls=asked),
        *({"role": "tool", "tool_call_id": call, "content": "found"} for call in ids),
    ]


def anthropic_turn(calls: int, turn: int = 0) -> list[dict[str, Any]]:
    """The same in Anthropic's shape."""
    ids = [f"toolu_{turn}_{number}" for number in range(calls)]
    return [
        assistant([{"type": "tool_use", "id": call, "name": "read", "input": {}} for call in ids]),
        user([{"type": "tool_result", "tool_use_id": call, "content": "found"} for call in ids]),
    ]


def marked(messages: list[Any]) -> list[int]:
    """The positions of the messages that carry a marker somewhere."""
    return [index for index, message in enumerate(messages) if count_markers([message])]


def test_system_prompt_and_the_last_three_messages_are_marked():
    messages, system = apply_cache_control([user(str(number)) for number in range(6)], "be brief")
    assert system == [text("be brief", cache_control=MARKER)]
    assert marked(messages) == [3, 4, 5]


def test_leading_system_message_is_the_system_prompt():
    messages, system = apply_cache_control([{"role": "system", "content": "be brief"}, *[user()] * 5])
    assert system is None
    assert messages[0] == {"role": "system", "content": [text("be brief", cache_control=MARKER)]}
    assert marked(messages) == [0, 3, 4, 5]


def test_system_blocks_carry_the_marker_on_the_last_one_with_words():
    _, system = apply_cache_control([user()], [text("a"), text("b"), text(" \n")])
    assert system == [text("a"), text("b", cache_control=MARKER), text(" \n")]


@pytest.mark.parametrize("system", [None, "", "  ", [], [text("")]])
def test_system_prompt_without_words_is_left_alone(system: Any):
    messages, placed = apply_cache_control([user(str(number)) for number in range(6)], system)
    assert placed == system
    assert marked(messages) == [3, 4, 5]


def test_later_system_messages_are_passed_over():
    note = {"role": "system", "content": "note"}
    messages, _ = apply_cache_control([user(), note, assistant()], "be brief")
    assert marked(messages) == [0, 2]


def test_text_becomes_one_block_with_the_marker():
    (message,), _ = apply_cache_control([user("hello")])
    assert message == user([text("hello", cache_control=MARKER)])


def test_marker_of_one_hour_says_so():
    messages, system = apply_cache_control([user("hello")], "be brief", ttl="1h")
    assert messages == [user([text("hello", cache_control=HOUR)])]
    assert system == [text("be brief", cache_control=HOUR)]


def test_other_ttl_is_refused_with_the_ones_there_are():
    with pytest.raises(ConfigError, match=r"model.cache_ttl is '2h'; expected 5m or 1h"):
        apply_cache_control([user()], ttl="2h")


@pytest.mark.parametrize("last", [text(""), text(" \n"), THINKING, REDACTED])
def test_blocks_that_cannot_be_marked_give_way_to_an_older_one(last: dict[str, Any]):
    (message,), _ = apply_cache_control([assistant([text("words"), last])], "be brief")
    assert message["content"] == [text("words", cache_control=MARKER), last]


@pytest.mark.parametrize("content", ["", " ", [], [text("")], [THINKING], [REDACTED, text("")]])
def test_anthropic_message_without_such_a_block_gives_way_to_an_older_one(content: Any):
    messages, _ = apply_cache_control([user("a"), user("b"), user("c"), user("d"), user(content)], "be brief")
    assert marked(messages) == [1, 2, 3]


@pytest.mark.parametrize("content", [None, "", " ", [], [text("")]])
def test_openai_message_without_words_carries_the_marker_itself(content: Any):
    calls = openai_turn(1)[0]["tool_calls"]
    messages, _ = apply_cache_control([user(), assistant(content, tool_calls=calls)])
    assert messages[1] == assistant(content, tool_calls=calls, cache_control=MARKER)


def test_openai_tool_message_carries_the_marker_itself():
    call, result = openai_turn(1)
    assert apply_cache_control([user(), call, result])[0][2] == {**result, "cache_control": MARKER}


def test_openai_results_and_calls_without_words_are_passed_over_on_other_routes():
    messages, _ = apply_cache_control([user("a"), assistant("b"), user("c"), *openai_turn(2)], native=False)
    assert marked(messages) == [0, 1, 2]


def test_anthropic_result_carries_the_marker_on_its_block():
    messages, _ = apply_cache_control([user(), *anthropic_turn(2)], native=False)
    assert [block.get("cache_control") for block in messages[2]["content"]] == [None, MARKER]


def test_markers_of_the_caller_count_within_the_four():
    tools = [{"name": "read", "input_schema": {}, "cache_control": MARKER}]
    conversation = [user([text("old", cache_control=MARKER)]), *[user(str(number)) for number in range(5)]]
    messages, system = apply_cache_control(conversation, "be brief", tools=tools)
    assert marked(messages) == [0, 5]
    assert count_markers(messages, system, tools) == 4


def test_marked_message_gets_no_second_marker():
    own = user([text("a", cache_control=MARKER), text("b")])
    assert apply_cache_control([assistant(), own])[0][1] is own


def test_marked_system_prompt_gets_no_second_marker():
    own = [text("stable", cache_control=MARKER), text("the date")]
    assert apply_cache_control([user()], own)[1] == own


def test_nothing_is_added_to_four_markers():
    conversation = [user([text(str(number), cache_control=MARKER)]) for number in range(4)] + [user()]
    messages, system = apply_cache_control(conversation, "be brief")
    assert (messages, system) == (conversation, "be brief")


@pytest.mark.parametrize(("ttl", "own"), [("1h", MARKER), ("5m", HOUR)])
def test_ttl_yields_where_the_caller_s_markers_would_make_the_order_illegal(ttl: str, own: dict[str, str]):
    conversation = [user([text("own", cache_control=own)]), user("new")]
    messages, system = apply_cache_control(conversation, "be brief", ttl)
    assert system == [text("be brief", cache_control=HOUR)]
    assert messages[1] == user([text("new", cache_control=MARKER)])


def test_many_parallel_calls_keep_a_marker_on_the_end_of_the_previous_request():
    messages, _ = apply_cache_control([user(), *openai_turn(12, turn=1), *openai_turn(12, turn=2)])
    assert marked(messages) == [13, 25, 26]


def test_end_of_the_previous_request_comes_before_a_second_new_message():
    tools = [{"name": "read", "cache_control": MARKER}]
    messages, _ = apply_cache_control([user("first"), *openai_turn(12)], "be brief", tools=tools)
    assert marked(messages) == [0, 13]


def test_reply_in_several_messages_is_new_as_a_whole():
    messages, _ = apply_cache_control([user("first"), assistant("let me look"), *openai_turn(12)])
    assert marked(messages) == [0, 13, 14]


@pytest.mark.parametrize(("blocks", "expected"), [(18, [16, 17, 18]), (19, [0, 18, 19])])
def test_look_back_of_eighteen_blocks_is_relied_upon(blocks: int, expected: list[int]):
    messages, _ = apply_cache_control([user("first"), assistant(), *[user()] * (blocks - 1)])
    assert marked(messages) == expected


@pytest.mark.parametrize("calls", range(1, 41))
@pytest.mark.parametrize(
    ("turn", "native"), [(openai_turn, True), (openai_turn, False), (anthropic_turn, True)]
)
def test_each_request_finds_what_the_one_before_it_cached(turn: Any, native: bool, calls: int):
    conversation, cached = [user("start")], set()
    for number in range(6):
        breakpoints = block_ends(apply_cache_control(conversation, native=native)[0])
        found = {place for stop in breakpoints for place in range(stop - 19, stop + 1)} & cached
        assert number == 0 or max(found) == max(cached)
        cached |= set(breakpoints)
        conversation = conversation + turn(calls, number)


def block_ends(messages: list[Any]) -> list[int]:
    """Where breakpoints are, in blocks from the start, as a provider counts them."""
    ends, place = [], 0
    for message in messages:
        content = message["content"]
        place += len(content) if isinstance(content, list) else bool(content)
        place += len(message.get("tool_calls", ()))
        if count_markers([message]):
            ends.append(place)
    return ends


def test_unmarked_messages_and_blocks_are_the_same_objects():
    conversation = [user([text(str(number)), text("more")]) for number in range(6)]
    messages, _ = apply_cache_control(conversation)
    assert all(new is old for new, old in zip(messages[:3], conversation[:3], strict=True))
    assert messages[5]["content"][0] is conversation[5]["content"][0]


def test_lists_are_new_even_when_nothing_is_added():
    conversation, system = [{"role": "system", "content": ""}], [text("")]
    messages, placed = apply_cache_control(conversation, system)
    assert messages is not conversation
    assert placed is not system


def test_sdk_blocks_and_messages_are_marked_as_dicts():
    reply = ToolUseBlock(type="tool_use", id="toolu_1", name="read", input={})
    said = TextBlock(type="text", text="let me look")
    messages, _ = apply_cache_control([user(), assistant([said, reply])])
    assert messages[1]["content"][0] is said
    assert messages[1]["content"][1] == {**reply.model_dump(exclude_unset=True), "cache_control": MARKER}
    (message,), _ = apply_cache_control([ChatCompletionMessage(role="assistant", content="hello")])
    assert message == assistant([text("hello", cache_control=MARKER)])


def test_unmarked_sdk_message_is_the_same_object():
    reply = ChatCompletionMessage(role="assistant", content="hello")
    messages, _ = apply_cache_control([reply, *[user()] * 3])
    assert messages[0] is reply


def test_things_that_are_no_messages_are_left_alone():
    odd = [None, 3, "words", {"type": "function_call"}, {"role": "user", "content": 7}, user(["words", None])]
    assert apply_cache_control(odd, "be brief")[0] == odd


def test_markers_are_counted_wherever_they_hide():
    result = {"type": "tool_result", "tool_use_id": "t", "content": [text("found", cache_control=MARKER)]}
    conversation = [
        user([result]),
        assistant(None, tool_calls=[{"id": "c", "cache_control": MARKER}]),
        {"role": "tool", "content": "x", "cache_control": MARKER},
    ]
    tools = [{"type": "function", "function": {"name": "read", "cache_control": MARKER}}]
    assert count_markers(conversation, [text("s", cache_control=HOUR), text("t")], tools) == 5


def test_words_about_cache_control_are_no_markers():
    call = {"type": "tool_use", "id": "t", "name": "set", "input": {"cache_control": "no-store"}}
    schema = {"name": "set", "input_schema": {"properties": {"cache_control": {"type": "string"}}}}
    assert count_markers([assistant([call])], None, [schema]) == 0


def test_stripping_removes_every_marker_and_keeps_the_rest():
    result = {"type": "tool_result", "tool_use_id": "t", "content": [text("found", cache_control=MARKER)]}
    untouched = user("a")
    messages, system = strip_cache_control([untouched, user([result])], [text("s", cache_control=HOUR)])
    assert messages == [untouched, user([{**result, "content": [text("found")]}])]
    assert messages[0] is untouched
    assert system == [text("s")]


@pytest.mark.parametrize("model", ["claude-opus-4-6", "anthropic/claude-opus-4.6", "eu.anthropic.Claude-3"])
@pytest.mark.parametrize("route", ["anthropic", "native", "OpenRouter"])
def test_caching_applies_to_claude_on_the_native_api_and_openrouter(model: str, route: str):
    assert caching_applies(model, route)


@pytest.mark.parametrize(("model", "route"), [("openai/gpt-5", "openrouter"), ("claude-opus-4-6", "openai")])
def test_caching_applies_to_nothing_else(model: str, route: str):
    assert not caching_applies(model, route)


WORDS = st.sampled_from(["", " ", "\n", "words", "more words"])
OWN_MARKER = st.sampled_from([{}, {}, {}, {"cache_control": MARKER}, {"cache_control": HOUR}])


def with_marker(block: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    return OWN_MARKER.map(lambda marker: {**block, **marker})


def said(roles: list[str], blocks: Any) -> st.SearchStrategy[dict[str, Any]]:
    content = WORDS | st.lists(blocks, max_size=12)
    return st.fixed_dictionaries({"role": st.sampled_from(roles), "content": content})


TEXTS = WORDS.flatmap(lambda words: with_marker(text(words)) if words.strip() else st.just(text(words)))
ANTHROPIC_BLOCKS = st.one_of(
    TEXTS,
    st.sampled_from([THINKING, REDACTED]),
    with_marker({"type": "tool_use", "id": "t", "name": "read", "input": {}}),
    with_marker({"type": "tool_result", "tool_use_id": "t", "content": "found"}),
)
OPENAI_MESSAGES = st.one_of(
    said(["system", "user", "assistant"], TEXTS),
    st.integers(1, 14).map(lambda calls: openai_turn(calls)[0]),
    with_marker({"role": "tool", "tool_call_id": "c", "content": "found"}),
)
REQUESTS = st.fixed_dictionaries(
    {
        "messages": st.lists(said(["user", "assistant"], ANTHROPIC_BLOCKS), max_size=8)
        | st.lists(OPENAI_MESSAGES, max_size=30),
        "system": st.none() | WORDS | st.lists(TEXTS, max_size=3),
        "tools": st.none() | st.lists(with_marker({"name": "read"}), max_size=2),
        "ttl": st.sampled_from(["5m", "1h"]),
        "native": st.booleans(),
    }
)


def any_request(test: Any) -> Any:
    """Run a property over requests in both spellings."""
    return settings(deadline=None)(given(REQUESTS)(test))


def blocks_of(messages: list[Any], system: Any) -> list[dict[str, Any]]:
    contents = [message["content"] for message in messages] + [system]
    return [block for content in contents if isinstance(content, list) for block in content]


def words_of(messages: list[Any], system: Any) -> list[Any]:
    """What a request says, whether as texts or as blocks."""
    contents = [message["content"] for message in messages] + [system]
    return [[text(words)] if isinstance(words, str) and words.strip() else words for words in contents]


def ttls_of(messages: list[Any], system: Any, tools: Any) -> list[str]:
    """The lifetimes of a request's markers, in the order in which the provider meets them."""
    places = [*(tools or []), *blocks_of([], system)]
    for message in messages:
        places += [message, *blocks_of([message], None)]
    markers = [place["cache_control"] for place in places if "cache_control" in place]
    return [marker.get("ttl", "5m") for marker in markers]


@any_request
def test_markers_are_never_more_than_four(body: dict[str, Any]):
    own = count_markers(body["messages"], body["system"], body["tools"])
    messages, system = apply_cache_control(**body)
    assert own <= count_markers(messages, system, body["tools"]) <= max(4, own)


@any_request
def test_blank_text_and_thinking_are_never_marked(body: dict[str, Any]):
    for block in blocks_of(*apply_cache_control(**body)):
        is_blank = block["type"] == "text" and not block["text"].strip()
        assert "cache_control" not in block or not (is_blank or "thinking" in block["type"])


@any_request
def test_input_is_never_changed(body: dict[str, Any]):
    before = json.dumps(body)
    strip_cache_control(*apply_cache_control(**body))
    strip_cache_control(body["messages"], body["system"])
    assert json.dumps(body) == before


@any_request
def test_applying_twice_is_applying_once(body: dict[str, Any]):
    messages, system = apply_cache_control(**body)
    assert apply_cache_control(**{**body, "messages": messages, "system": system}) == (messages, system)


@any_request
def test_stripped_request_says_what_it_said_before(body: dict[str, Any]):
    stripped = strip_cache_control(*apply_cache_control(**body))
    assert count_markers(*stripped) == 0
    assert words_of(*stripped) == words_of(*strip_cache_control(body["messages"], body["system"]))


@any_request
def test_longer_lives_stay_before_shorter_ones(body: dict[str, Any]):
    own = ttls_of(body["messages"], body["system"], body["tools"])
    assume(own == sorted(own))
    placed = ttls_of(*apply_cache_control(**body), body["tools"])
    assert placed == sorted(placed)
