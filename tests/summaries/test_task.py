"""The active task: the newest request in the user's own words."""

import pytest

from midfold.messages import Message, Text, ToolResult
from midfold.provenance import is_go_ahead
from midfold.summaries.task import CUT, MAX_TASK_CHARS, active_task, describe_progress


def user(words):
    return Message("user", (Text(words),))


def test_the_newest_request_is_quoted():
    assert active_task([user("old"), Message("assistant", (Text("ok"),)), user(" new ")]) == "new"


def test_a_long_request_is_cut():
    assert len(active_task([user("x" * 5_000)])) <= MAX_TASK_CHARS


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


def reply(words):
    return Message("assistant", (Text(words),))


def test_an_approval_comes_with_the_question_and_not_with_the_list_before_it():
    report = "Done:\n- moved the table\n- wrote the docs\n\nPR 233 is green. Soll ich sie mergen?"
    task = active_task([user("Migrate the table."), reply(report), user("ja, bitte")])
    assert task.startswith("ja, bitte\n(This answers: PR 233 is green. Soll ich sie mergen?)")


def test_an_approval_of_what_was_not_put_as_a_question_comes_with_the_last_words():
    task = active_task(
        [user("Migrate."), reply("Ready.\n\nAnswer approved to merge PR 233."), user("approved")]
    )
    assert "(Said in reply to: Answer approved to merge PR 233.)" in task


def test_comments_of_a_template_are_no_part_of_the_task():
    words = "<!-- If your issue is a question, ask elsewhere. -->\nexport_text fails with one feature."
    assert active_task([user(words)]) == "export_text fails with one feature."


def test_a_task_is_cut_between_words_and_says_so():
    task = active_task([user("alpha beta gamma " * 200)])
    assert task.endswith(CUT)
    assert set(task.removesuffix(CUT).split()) == {"alpha", "beta", "gamma"}


def test_work_that_the_notes_tell_is_not_to_be_begun_anew():
    said = describe_progress(range(9), {3, 4, 5}, asked=2)
    assert said.startswith("(Begun: these notes ")
    assert describe_progress(range(9), {0, 1}, asked=2) == ""


def test_an_answer_is_named_and_told_where_it_leaves():
    answer = "| a | b |\nMerged as 2ce9805.\n- one\nNothing is left."
    facts = {"asked": 2, "answered": 8, "answer": answer}
    assert describe_progress(range(9), {3}, **facts) == "(Answered: the answer follows these notes.)"
    told = describe_progress(range(9), {3, 8}, **facts)
    assert told == "(Answered, and nothing was asked since: Merged as 2ce9805. … Nothing is left.)"
