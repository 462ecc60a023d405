"""Repair: what stays is made legal, and nothing else is touched."""

from midfold.folding.fold import Edit, Insert
from midfold.folding.repair import NO_RESULT, repair
from midfold.messages import Message, Removed, Text, ToolCall, ToolResult, pair_calls

USER = Message("user", (Text("do it"),))


def calls(*ids):
    return Message("assistant", tuple(ToolCall(call_id, "t", "{}") for call_id in ids))


def results(*ids):
    return Message("tool", tuple(ToolResult(call_id, "ok") for call_id in ids))


def repairs_of(messages, waiting=None, gone=()):
    return repair(messages, gone, pair_calls(messages), waiting)


def test_a_clean_conversation_needs_nothing():
    repairs = repairs_of([USER, calls("a"), results("a"), USER])
    assert (repairs.drops, repairs.edits, repairs.inserts) == ((), (), ())


def test_a_call_without_a_result_gets_a_stub_behind_its_group():
    repairs = repairs_of([USER, calls("a", "b"), results("a"), USER])
    assert repairs.inserts == (Insert(2, Message("tool", (ToolResult("b", NO_RESULT, name="t"),))),)


def test_a_call_that_waits_is_left_alone():
    assert repairs_of([USER, calls("a")], waiting=1).inserts == ()


def test_a_result_without_a_call_goes():
    rider = Message("user", (ToolResult("x", "lost"), Text("and?")))
    repairs = repairs_of([USER, results("y"), rider])
    assert repairs.drops == (1,)
    assert repairs.edits == (Edit(2, ((0, Removed()),)),)


def test_a_result_whose_call_was_folded_goes_with_it():
    assert repairs_of([USER, calls("a"), results("a"), USER], gone=[1]).drops == (2,)


def test_an_empty_turn_goes():
    assert repairs_of([USER, Message("assistant", (Text(" "),)), Message("assistant", ())]).drops == (1, 2)


def test_stubs_of_parallel_calls_come_in_one_message():
    repairs = repairs_of([USER, calls("a", "b"), USER])
    [insert] = repairs.inserts
    assert (insert.after, [result.call_id for result in insert.message.results]) == (1, ["a", "b"])


def test_a_stub_stays_with_its_call_where_ids_stand_twice():
    """A later result with the same id is paired with a call of the earlier turn."""
    spoken = Message("assistant", (Text("done"),))
    repairs = repairs_of([USER, calls("a", "a"), spoken, USER, calls("a"), results("a"), results("a"), USER])
    assert [insert.after for insert in repairs.inserts] == [1]
