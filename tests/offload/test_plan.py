"""Which results leave the context: by their own limit, by that of the turn, and never in vain."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from midfold.messages import Message, ToolCall, ToolResult
from midfold.messages.pairing import Location
from midfold.offload import READER, Budgets, OffloadReason, plan_offload

DEFAULT = Budgets()
REFERENCE = "terminal-" + "0f" * 16


def chosen(plan):
    return [(step.at.message, step.reason) for step in plan.steps]


def test_nothing_is_planned_while_all_keeps_to_the_limits(turn):
    assert plan_offload(turn("x" * 100_000, "x" * 100_000), DEFAULT).steps == ()


def test_a_result_over_its_limit_goes(turn):
    assert chosen(plan_offload(turn("x" * 100_001, "short"), DEFAULT)) == [(2, OffloadReason.RESULT)]


def test_a_tool_has_its_own_limit(turn):
    budgets = Budgets(per_tool={"terminal": 5_000})
    assert chosen(plan_offload(turn("x" * 5_001), budgets)) == [(2, OffloadReason.RESULT)]
    assert plan_offload(turn("x" * 5_001, tool="grep"), budgets).steps == ()


def test_the_largest_go_until_the_turn_fits(turn):
    sizes = (40_000, 90_000, 60_000, 50_000)
    assert chosen(plan_offload(turn(*("x" * size for size in sizes)), DEFAULT)) == [(3, OffloadReason.TURN)]


def test_results_that_go_by_themselves_make_room_in_the_turn(turn):
    plan = plan_offload(turn("x" * 150_000, "x" * 99_000, "x" * 90_000), DEFAULT)
    assert chosen(plan) == [(2, OffloadReason.RESULT)]


def test_every_turn_is_measured_by_itself(turn):
    two_turns = [*turn("x" * 90_000, "x" * 90_000), *turn("x" * 90_000, "x" * 90_000)]
    assert plan_offload(two_turns, DEFAULT).steps == ()


def test_a_reader_is_exempt_from_the_limit_of_a_result_only(turn):
    assert plan_offload(turn("x" * 190_000, tool="read_file"), DEFAULT).steps == ()
    assert chosen(plan_offload(turn("x" * 210_000, tool="read_file"), DEFAULT)) == [(2, OffloadReason.TURN)]


@pytest.mark.parametrize("tool", ["read_file", READER])
def test_what_was_read_of_kept_output_is_not_offload_again(turn, tool):
    budgets = Budgets(turn_chars=30_000)
    read = turn("x" * 45_000, tool=tool, arguments=f'{{"path": "/o/{REFERENCE}.txt"}}')
    assert plan_offload(read, budgets, holds=lambda reference: reference == REFERENCE).steps == ()
    assert len(plan_offload(read, budgets, holds=lambda _: False).steps) == 1


def test_naming_kept_output_saves_no_result_of_another_tool(turn):
    read = turn("x" * 210_000, arguments=f'{{"command": "cat {REFERENCE}"}}')
    assert len(plan_offload(read, DEFAULT, holds=lambda _: True).steps) == 1


def test_what_the_tool_for_reading_back_promises_is_under_its_limit(turn):
    assert plan_offload(turn("x" * 50_200, tool=READER), Budgets(result_chars=2_000)).steps == ()


def test_small_results_stay_where_a_block_would_be_longer(turn):
    plan = plan_offload(turn(*["x" * 900] * 300), DEFAULT)
    assert (plan.steps, plan.over_budget) == ((), 1)


def test_messages_before_the_start_stay(turn):
    messages = [*turn("x" * 150_000), *turn("x" * 150_000)]
    assert [step.at.message for step in plan_offload(messages, DEFAULT, start=3).steps] == [5]


def test_several_results_in_one_message_are_told_apart():
    results = (ToolResult("a", "short"), ToolResult("b", "x" * 150_000))
    calls = (ToolCall("a", "read_file", "{}"), ToolCall("b", "terminal", "{}"))
    [step] = plan_offload([Message("assistant", calls), Message("user", results)], DEFAULT).steps
    assert (step.at, step.tool) == (Location(1, 1), "terminal")


def test_a_result_without_a_call_is_measured_too():
    assert len(plan_offload([Message("tool", (ToolResult("", "x" * 150_000),))], DEFAULT).steps) == 1


def test_no_limits_mean_no_steps(turn):
    assert plan_offload(turn("x" * 10**6), Budgets(math.inf, math.inf, per_tool={})).steps == ()


@given(st.lists(st.integers(0, 60_000), max_size=12), st.integers(1, 100_000), st.integers(1, 60_000))
def test_a_plan_makes_the_turn_fit_or_says_that_it_cannot(sizes, turn_chars, result_chars):
    messages = [Message("tool", (ToolResult("c", "x" * size),)) for size in sizes]
    budgets = Budgets(result_chars, turn_chars, preview_chars=200)
    plan = plan_offload(messages, budgets)
    gone = {step.at.message: len(step.result.text) for step in plan.steps}
    left = sum(budgets.block_chars if index in gone else size for index, size in enumerate(sizes))
    assert all(size > budgets.block_chars for size in gone.values())
    assert left <= sum(sizes)
    assert (left > turn_chars) == bool(plan.over_budget)
    if plan.over_budget:
        assert all(index in gone or size <= budgets.block_chars for index, size in enumerate(sizes))
