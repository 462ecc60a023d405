"""A failure is overcome where the conversation itself shows it."""

import pytest

from midfold.evaluation.conversations import make_conversation
from midfold.evaluation.failures import FailureHistory
from midfold.wire import read_request


def history(*runs):
    items = [{"role": "user", "content": "Build it."}]
    for number, (command, output) in enumerate(runs):
        function = {"name": "bash", "arguments": f'{{"command": "{command}"}}'}
        made = {"id": f"c{number}", "type": "function", "function": function}
        items.append({"role": "assistant", "tool_calls": [made]})
        items.append({"role": "tool", "tool_call_id": f"c{number}", "content": output})
    return FailureHistory(make_conversation("c", read_request(items), ()))


BROKEN = ("make all", "error: no rule")


def test_a_later_run_without_a_failure_overcomes_it():
    found = history(BROKEN, ("cd /tmp/x && make all 2>&1 | tail -5", "done")).why_overcome([1, 2])
    assert found == "the same command ran without a failure at [3]"


@pytest.mark.parametrize(
    "later", [("make all", "2 errors"), ("make docs", "done"), ("make all", "exit code 2")]
)
def test_another_failure_or_another_command_does_not(later):
    assert history(BROKEN, later).why_overcome([1, 2]) is None


def test_no_errors_is_no_failure():
    assert history(BROKEN, ("make all", "0 errors, no failures")).why_overcome([1])


def test_a_look_without_a_match_is_no_failure():
    assert (
        history(("grep -n x a.py", "exit code 1")).why_overcome([1]) == "a look without a match is no failure"
    )


def test_a_run_that_ended_with_status_0_is_no_failure():
    assert history(("make all", "exit code 0")).why_overcome([2]) == "it ended with exit status 0"


def test_messages_without_a_command_show_nothing():
    assert history(BROKEN).why_overcome([0]) is None


def test_a_string_tells_a_failure_when_it_is_rare_or_long():
    often = history(*[("make all", "error 7 in the seventh of the many rules of this file")] * 3)
    assert not often.is_telling("error 7")
    assert often.is_telling("error 7 in the seventh of the many rules of this file")
    assert history(BROKEN).is_telling("no rule")
