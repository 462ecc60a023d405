"""The same session, sent again and again as real clients send it, is recognised by its digests.

The shapes are those that the clients put on the wire; the words are ours.
"""

import copy

import anthropic.types as claude
import openai.types.chat as chat
import pytest

from midfold.messages import chain_digests
from midfold.wire import parse

MARK = {"type": "ephemeral"}
REMINDER = "Today is a Tuesday."
ASK = [
    {"type": "text", "text": text}
    for text in ("About the workspace.", "About the user.", "Fix the tariff test.")
]


def text(words, marked=False):
    return {"type": "text", "text": words} | ({"cache_control": MARK} if marked else {})


def call(marked=False):
    block = {"type": "tool_use", "id": "t1", "name": "Read", "input": {"file_path": "tariff.py", "limit": 20}}
    return block | ({"cache_control": MARK} if marked else {})


def claude_code_turns():
    """The marker moves, blocks become strings, and the answer's thinking is dropped later on."""
    thinking = {"type": "thinking", "thinking": "", "signature": "c2ln"}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "TARIFF = 2"}
    first = [{"role": "user", "content": ASK}, {"role": "system", "content": [text(REMINDER, marked=True)]}]
    second = [
        {"role": "user", "content": ASK},
        {"role": "system", "content": REMINDER},
        {"role": "assistant", "content": [thinking, text("I will look."), call()]},
        {"role": "user", "content": [result | {"cache_control": MARK}]},
    ]
    third = [
        {"role": "user", "content": ASK},
        {"role": "system", "content": REMINDER},
        {"role": "assistant", "content": [text("I will look."), call()]},
        {"role": "user", "content": [result | {"content": [text("TARIFF = 2")]}]},
        {"role": "assistant", "content": [text("It is 2.", marked=True)]},
        {"role": "user", "content": "Make it 3."},
    ]
    return "anthropic", [first, second, third]


def codex_turns():
    """Every item is sent anew; old reasoning items go missing and ids come and go."""
    opening = [
        {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "Be brief."}]},
        {
            "type": "message",
            "role": "user",
            "content": [{"type": "input_text", "text": "Fix the tariff test."}],
        },
    ]
    reasoning = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "ZW5j"}
    asked = {"type": "function_call", "call_id": "c1", "name": "shell", "arguments": '{"command":["ls"]}'}
    answered = {"type": "function_call_output", "call_id": "c1", "output": "tariff.py"}
    said = {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_text", "text": "There it is."}],
    }
    more = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Make it 3."}]}
    second = [*opening, reasoning, asked | {"id": "fc_1", "status": "completed"}, answered]
    third = [*opening, asked, answered, said | {"id": "msg_1", "phase": "final"}, more]
    return "openai_responses", [opening, second, third]


def openai_sdk_turns():
    """The reply is an object at first; after a restart it comes back from JSON."""
    body = {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "ls", "arguments": '{"path": "."}'}},
        ],
    }
    first = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Fix the tariff test."}]
    answered = {"role": "tool", "tool_call_id": "c1", "content": "tariff.py"}
    second = [*first, chat.ChatCompletionMessage.model_validate(body), answered]
    dumped = {**body, "refusal": None, "annotations": [], "audio": None}
    parts = [{"type": "text", "text": "Make it 3."}]
    return "openai_chat", [first, second, [*first, dumped, answered, {"role": "user", "content": parts}]]


def anthropic_sdk_turns():
    """Content blocks are objects at first, dicts later."""
    reply = claude.Message.model_validate(
        {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "claude",
            "content": [text("I will look."), call()],
            "stop_reason": "tool_use",
            "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }
    )
    first = [{"role": "user", "content": "Fix the tariff test."}]
    answered = {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "TARIFF = 2"}],
    }
    second = [*first, {"role": "assistant", "content": reply.content}, answered]
    dumped = {"role": "assistant", "content": [block.model_dump() for block in reply.content]}
    return "anthropic", [
        first,
        second,
        [{"role": "user", "content": [text("Fix the tariff test.")]}, dumped, answered],
    ]


@pytest.mark.parametrize("client", [claude_code_turns, codex_turns, openai_sdk_turns, anthropic_sdk_turns])
def test_each_turn_continues_the_chain_of_the_one_before(client):
    dialect, turns = client()
    links = [chain_digests(parse(turn, dialect)) for turn in turns]
    assert links[0][-1] in links[1]
    assert links[1][-1] in links[2]


def test_a_history_that_diverges_shares_its_chain_up_to_the_last_common_message():
    _, turns = claude_code_turns()
    branch = [*turns[2][:4], {"role": "assistant", "content": "It is 4."}]
    one, other = (chain_digests(parse(turn, "anthropic")) for turn in (turns[2], branch))
    assert one[:4] == other[:4]
    assert one[4] != other[4]


MARKED_SOMEWHERE = {
    "an unknown block": (
        "openai_chat",
        {"role": "user", "content": [{"type": "video_url", "video_url": {"url": "https://example.org/a"}}]},
        ("content", 0),
    ),
    "inside an unknown block": (
        "anthropic",
        {"role": "user", "content": [{"type": "search_result", "source": "s", "content": [text("x")]}]},
        ("content", 0, "content", 0),
    ),
    "inside a result": (
        "anthropic",
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": [text("x")]}]},
        ("content", 0, "content", 0),
    ),
    "an unknown item": ("openai_responses", {"type": "web_search_call", "id": "ws_1", "action": {}}, ()),
}


@pytest.mark.parametrize("case", MARKED_SOMEWHERE)
def test_a_marker_breaks_no_chain_wherever_it_stands(case):
    dialect, item, path = MARKED_SOMEWHERE[case]
    marked = copy.deepcopy(item)
    place = marked
    for key in path:
        place = place[key]
    place["cache_control"] = MARK
    assert chain_digests(parse([item], dialect)) == chain_digests(parse([marked], dialect))


def test_the_order_of_keys_in_an_unknown_block_breaks_no_chain():
    one = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "x", "limit": 3}}
    other = {"input": {"limit": 3, "query": "x"}, "name": "web_search", "id": "s", "type": "server_tool_use"}
    links = [chain_digests(parse([{"role": "assistant", "content": [block]}])) for block in (one, other)]
    assert links[0] == links[1]
