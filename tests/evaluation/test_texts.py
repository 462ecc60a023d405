"""What a search sees, and what stands together in a summary."""

import pytest

from midfold.evaluation.texts import (
    ContextEntry,
    escaped_forms,
    holds,
    index_context,
    index_source,
    split_points,
)
from midfold.messages import Message, Text, ToolCall


def test_a_bullet_goes_on_until_the_next_one():
    text = "## Goal\n- one\n  more of one\n- two\n\n  still two\n1. three"
    assert split_points(text)[1:] == ["- one\n  more of one", "- two\n\n  still two", "1. three"]


def test_what_is_not_indented_does_not_go_on_across_an_empty_line():
    assert split_points("- one\nlazy\n\nother")[-2:] == ["- one\nlazy\n", "other"]


@pytest.mark.parametrize(
    ("text", "indices"),
    [("- [12] a", {12}), ("- [3, 5] a", {3, 5}), ("- [7-9] a", {7, 8, 9}), ("- a[x] [1…]", set())],
)
def test_brackets_name_messages(text, indices):
    assert ContextEntry(text, is_summary=True).references() == indices


def test_an_absurd_range_names_nothing():
    assert ContextEntry("[0-999999999]", is_summary=True).references() == set()


def test_escaped_spellings_count_as_the_string_they_spell():
    arguments = '{"command": "echo \\"hi\\"\\nls"}'
    source = index_source([Message("assistant", (ToolCall("1", "bash", arguments),))])
    assert source.holders('echo "hi"\nls') == [0]
    assert holds('say \\"hi\\"', escaped_forms('"hi"'))


def test_nothing_is_found_across_two_messages():
    messages = [Message("user", (Text("one"),)), Message("user", (Text("two"),))]
    assert "one\ntwo" not in index_context(messages, None).joined


def test_a_summary_is_told_from_the_words_around_it():
    message = Message("user", (Text("before\n- [4] fact\nafter"),))
    entries = index_context([message], "- [4] fact").entries
    assert [(entry.text.strip(), entry.is_summary) for entry in entries] == [
        ("before", False),
        ("after", False),
        ("- [4] fact", True),
    ]
