"""Legal cuts: a call is never parted from its results, and a request is what the user says."""

import json

from midfold.api import compress
from midfold.folding.fold import Span, count_leading_system
from midfold.folding.layout import group_around, lay_out, legal_cuts, waiting_from
from midfold.folding.policy import CompressionPolicy
from midfold.messages import (
    Message,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
    is_request,
    newest_request,
    pair_calls,
)
from midfold.wire import parse

USER = Message("user", (Text("do it"),))
SAID = Message("assistant", (Text("done"),))
THOUGHT = Message("assistant", (Reasoning("hm", "sig"),))


def calls(*ids):
    return Message("assistant", tuple(ToolCall(call_id, "t", "{}") for call_id in ids))


def result(call_id):
    return Message("tool", (ToolResult(call_id, "ok"),))


def cuts(*messages):
    return [index for index, legal in enumerate(legal_cuts(messages, pair_calls(messages))) if legal]


def test_every_place_between_plain_turns_is_a_cut():
    assert cuts(USER, SAID, USER) == [0, 1, 2, 3]


def test_a_call_and_its_results_are_one_group():
    assert cuts(USER, calls("a", "b"), result("a"), result("b"), SAID) == [0, 1, 4, 5]


def test_a_call_that_waits_closes_the_list():
    assert cuts(USER, SAID, calls("a", "b"), result("a")) == [0, 1, 2]


def test_a_call_that_was_never_answered_binds_nothing():
    assert cuts(USER, calls("a"), USER, SAID) == [0, 1, 2, 3, 4]


def test_a_result_that_comes_after_the_user_spoke_binds_nothing():
    assert cuts(USER, calls("a"), USER, SAID, result("a")) == [0, 1, 2, 3, 4, 5]


def test_thinking_sent_as_an_item_of_its_own_stays_with_what_follows():
    assert cuts(USER, THOUGHT, SAID, calls("a"), result("a"), THOUGHT, SAID) == [0, 1, 5, 7]


def test_waiting_calls_are_those_of_the_newest_turn():
    messages = [USER, calls("x"), USER, calls("a"), result("a"), calls("b")]
    assert waiting_from(messages, pair_calls(messages)) == 5
    assert waiting_from(messages[:3], pair_calls(messages[:3])) is None


def test_results_that_ride_in_user_messages_are_no_request():
    rider = Message("user", (ToolResult("a", "ok"),))
    assert not is_request(rider)
    assert newest_request([USER, calls("a"), rider]) == 0
    assert newest_request([SAID]) is None


def test_a_group_is_the_smallest_span_with_legal_ends():
    messages = [USER, calls("a"), result("a"), SAID]
    assert group_around(2, legal_cuts(messages, pair_calls(messages))) == Span(1, 3)


def test_the_system_prompt_may_take_several_messages():
    assert count_leading_system([Message("system", ()), Message("developer", ()), USER]) == 2


def led_by_words(first, exchanges):
    """Exchanges of a model whose commands stand in its words, and whose output comes as user messages."""
    said = []
    for number in range(first, first + exchanges):
        said += [
            {"role": "assistant", "content": f"Now file {number}.\n```\ncat part{number}.py\n```"},
            {
                "role": "user",
                "content": f"{f'value_{number} = {number}' * 40}\n(Current directory: /app)\nbash-$",
            },
        ]
    return said


def test_output_of_a_command_in_words_never_becomes_the_task_however_few_follow_a_fold():
    task = {"role": "user", "content": "Sort the parts by their values. Work in /app."}
    messages = [{"role": "system", "content": "One command at a time."}, task, *led_by_words(0, 60)]
    for fold in range(1, 6):
        result = compress(messages, max_tokens=2_500)
        assert f"## Active Task\n{task['content']}" in result.summary
        assert task in result.messages
        roles = [message["role"] for message in result.messages[result.messages.index(task) + 1 :]]
        assert roles == ["assistant", "user"] * (len(roles) // 2)
        messages = [*result.messages, *led_by_words(60 * fold, 1 + fold)]


def test_what_a_person_pastes_behind_a_block_of_code_stays_their_request_after_calls_were_folded():
    task = {"role": "user", "content": "Get the build of the harbour service green."}
    messages = [task]
    for number in range(30):
        call = {"name": "bash", "arguments": json.dumps({"command": f"make part{number}"})}
        messages += [
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": f"c{number}", "type": "function", "function": call}],
            },
            {"role": "tool", "tool_call_id": f"c{number}", "content": f"part {number} built\n" * 40},
        ]
    messages += [
        {"role": "assistant", "content": "All thirty parts build now."},
        {"role": "user", "content": "Fine. Tell me about the parts first. " * 8},
        {"role": "assistant", "content": "Part 7 is the important one. " * 40},
        {"role": "user", "content": "And how do I deploy it?"},
    ]
    kept = compress(messages, max_tokens=1_100).messages
    assert not any(message.get("tool_calls") for message in kept)
    asked = "<output>\npermission denied\n</output>\nWhy is that? Write me the sudoers line for it."
    kept += [
        {"role": "assistant", "content": "Run this:\n\n```bash\n./deploy.sh --all\n```"},
        {"role": "user", "content": asked},
    ]
    parsed = parse(kept)
    layout = lay_out(parsed, [10] * len(parsed), CompressionPolicy(), has_folded=True)
    assert layout.asked == len(kept) - 1
