"""Pairing: ids where they tell, positions where they do not."""

import pytest

from midfold.messages import Message, Text, ToolCall, ToolResult, pair_calls
from midfold.messages.pairing import Location
from support.pace import is_linear


def calls(*ids):
    return Message("assistant", tuple(ToolCall(call_id, "t", "{}") for call_id in ids))


def results(*ids):
    return Message("tool", tuple(ToolResult(call_id, "ok") for call_id in ids))


def answers(messages):
    return {
        (call.message, call.part): (result.message, result.part)
        for call, result in pair_calls(messages).answers.items()
    }


def test_results_are_found_by_id_in_any_order():
    assert answers([calls("a", "b"), results("b"), results("a")]) == {(0, 0): (2, 0), (0, 1): (1, 0)}


def test_empty_ids_are_paired_in_order():
    assert answers([calls("", ""), results("", "")]) == {(0, 0): (1, 0), (0, 1): (1, 1)}


def test_a_result_with_an_id_answers_a_call_that_has_none():
    assert answers([calls(""), results("x")]) == {(0, 0): (1, 0)}


def test_repeated_ids_belong_to_the_newest_group():
    pairing = pair_calls([calls("a"), Message("user", (Text("stop"),)), calls("a"), results("a")])
    assert pairing.answers == {Location(2, 0): Location(3, 0)}
    assert pairing.open_calls == (Location(0, 0),)


def test_calls_that_came_as_messages_of_their_own_are_one_group():
    assert answers([calls("a"), calls("b"), results("a"), results("b")]) == {(0, 0): (2, 0), (1, 0): (3, 0)}


def test_a_late_result_still_finds_its_call():
    messages = [calls("a", "b"), results("a"), calls("c"), results("c"), results("b")]
    assert answers(messages)[(0, 1)] == (4, 0)


def test_a_second_result_for_one_call_is_an_orphan():
    assert pair_calls([calls("a"), results("a", "a")]).orphans == (Location(1, 1),)


def test_open_calls_are_listed_in_order():
    assert pair_calls([calls("a", "b"), results("b"), calls("c")]).open_calls == (
        Location(0, 0),
        Location(2, 0),
    )


@pytest.mark.slow
def test_many_results_in_any_order_take_one_pass():
    def pair(size):
        ids = [f"call_{number}" for number in range(size)]
        for order in (reversed(ids), [""] * len(ids)):
            assert len(pair_calls([calls(*ids), results(*order)]).answers) == len(ids)

    assert is_linear(pair, 20_000)


def test_a_result_without_an_id_takes_the_oldest_call_that_is_still_open():
    assert answers([calls("a", "b", "c"), results("a", "", "b", "c")]) == {
        (0, 0): (1, 0),
        (0, 1): (1, 1),
        (0, 2): (1, 3),
    }
