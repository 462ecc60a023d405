"""Messages are values: edits make new ones and leave the old alone."""

import dataclasses

import pytest

from midfold.messages import Message, Reasoning, Removed, Text, ToolCall, ToolResult

CALL = ToolCall("c1", "read_file", '{"path": "a.py"}')


def test_a_message_cannot_be_changed_in_place():
    message = Message("user", (Text("hello"),))
    with pytest.raises(dataclasses.FrozenInstanceError):
        message.role = "assistant"


def test_an_edit_remembers_its_position_and_leaves_the_original_alone():
    raw = {"role": "user", "content": "hello"}
    message = Message("user", (Text("hello"),), raw)
    edited = message.with_part(0, Text("bye"))
    assert (edited.text, edited.edited, edited.raw is raw) == ("bye", frozenset({0}), True)
    assert (message.text, message.edited) == ("hello", frozenset())


def test_an_edit_that_changes_nothing_is_no_edit():
    message = Message("user", (Text("hello"),))
    assert message.with_part(0, Text("hello")) is message


def test_a_removed_part_keeps_the_positions_of_the_others():
    message = Message("assistant", (Reasoning("hm"), Text("so"), CALL))
    assert message.without_part(0).parts == (Removed(), Text("so"), CALL)


def test_a_negative_position_counts_from_the_end():
    message = Message("assistant", (Text("so"), CALL))
    assert message.without_part(-1).edited == {1}


def test_text_is_the_words_alone():
    message = Message("assistant", (Reasoning("hm"), Text("one"), CALL, Text("two")))
    assert message.text == "one\ntwo"


def test_calls_and_results_are_found_among_the_parts():
    result = ToolResult("c1", "ok")
    assert list(Message("assistant", (Text("x"), CALL)).calls) == [CALL]
    assert list(Message("tool", (result,)).results) == [result]


@pytest.mark.parametrize("arguments", ["{broken", "[" * 10_000, ""])
def test_arguments_that_are_not_json_come_back_as_text(arguments):
    assert ToolCall("c", "t", arguments).parse_arguments() == arguments


def test_messages_compare_by_what_they_say_not_by_their_raw_object():
    assert Message("user", (Text("a"),), {"x": 1}) == Message("user", (Text("a"),), {"x": 2})
