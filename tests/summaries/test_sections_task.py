"""The active task: the newest request in the user's own words."""

import pytest

from midfold.messages import Message, Text, ToolResult
from midfold.summaries.sections import MAX_TASK_CHARS, active_task, is_go_ahead


def user(words):
    return Message("user", (Text(words),))


def test_the_newest_request_is_quoted():
    assert active_task([user("old"), Message("assistant", (Text("ok"),)), user(" new ")]) == "new"


def test_a_long_request_is_cut():
    assert len(active_task([user("x" * 5_000)])) == MAX_TASK_CHARS


def test_nobody_asked_for_anything():
    assert (
        active_task([Message("assistant", (Text("hi"),)), Message("user", (ToolResult("c", "ok"),))])
        == "None."
    )


def test_a_go_ahead_quotes_what_was_asked_before():
    messages = [user("Fix the tariff."), user("continue"), user("ok, go on!")]
    assert active_task(messages) == "ok, go on!\n(Asked before: Fix the tariff.)"


def test_an_earlier_summary_is_no_request():
    assert active_task([user("[CONTEXT COMPACTION] …")], is_summary=0) == "None."


@pytest.mark.parametrize(
    "words", ["continue", "OK, go on!", "yes please", "继续", "да", "weiter, bitte", "はい"]
)
def test_words_that_only_say_to_go_on(words):
    assert is_go_ahead(words)


@pytest.mark.parametrize(
    "words", ["fix the test", "continue with the migration of the users table, please", "no"]
)
def test_words_that_say_more(words):
    assert not is_go_ahead(words)
