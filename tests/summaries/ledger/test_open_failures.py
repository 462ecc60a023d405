"""Open is only what is broken at the end: success, the model's word, removal of the cause or age close it."""

import json

import pytest

from midfold.messages import Message, Text, ToolCall, ToolResult, pair_calls
from midfold.summaries.ledger import collect


def user(words):
    return [Message("user", (Text(words),))]


def says(words):
    return [Message("assistant", (Text(words),))]


def step(tool, arguments, output="ok", *, is_error=False):
    call = ToolCall("c", tool, json.dumps(arguments))
    return [Message("assistant", (call,)), Message("tool", (ToolResult("c", output, is_error),))]


def run(command, output="ok", *, code=0):
    return step("bash", {"command": command}, f"{output}\nExit code: {code}")


def others(count):
    return [message for number in range(count) for message in run(f"./step{number}.sh")]


def open_commands(*parts):
    messages = [message for part in parts for message in part]
    ledger = collect(messages, range(len(messages)), pair_calls(messages), redact=str)
    return [ledger.actions[position].run.subject for position in sorted(ledger.open_failures)]


BROKEN = run(
    "cd app && pytest tests/test_fees.py 2>&1 | tail -5", "FAILED tests/test_fees.py::test_b - boom", code=1
)


@pytest.mark.parametrize(
    "later",
    [
        run("uv run pytest -q tests/test_fees.py", "3 passed"),
        run("pytest", "40 passed"),
        run("make test", "ok"),
        says("All tests pass now."),
        says("测试全部通过。"),
        says("テストは全て成功しました。"),
        says("모든 테스트가 통과했습니다."),
        says("The rounding in `tests/test_fees.py` is fixed."),
    ],
)
def test_a_failed_test_is_closed(later):
    assert open_commands(BROKEN) != []
    assert open_commands(BROKEN, later) == []


@pytest.mark.parametrize(
    "later",
    [
        run("pytest tests/test_zones.py", "3 passed"),
        run("ruff check .", "ok"),
        says("Let me see if all tests pass now."),
        says("The tests should pass."),
        says("The file was read successfully."),
        user("Go on."),
    ],
)
def test_a_failed_test_stays_open(later):
    assert open_commands(BROKEN, later) != []


def test_only_the_newest_failure_of_one_thing_is_open():
    again = run("pytest -x tests/test_fees.py", "FAILED tests/test_fees.py::test_c - bang", code=1)
    assert open_commands(BROKEN, again) == ["pytest -x tests/test_fees.py"]


@pytest.mark.parametrize(
    ("command", "output", "code"),
    [
        ("grep -rn missing src", "", 1),
        ("cd x && ls nowhere", "ls: cannot access 'nowhere': No such file or directory", 2),
        ("test -f a.txt", "", 1),
        ("pytest | tail -3", "ERROR: something in a log", 0),
    ],
)
def test_a_look_without_a_match_and_exit_0_are_no_failures(command, output, code):
    assert open_commands(run(command, output, code=code)) == []


def test_a_refusal_by_the_user_is_no_failure():
    refused = step(
        "bash", {"command": "git push"}, "The user doesn't want to proceed with this tool use.", is_error=True
    )
    assert open_commands(refused) == []


def test_what_was_missing_and_is_installed_is_closed():
    missing = run("python probe.py", "ModuleNotFoundError: No module named 'asgiref'", code=1)
    assert open_commands(missing, run("pip install 'asgiref>=3'")) == []


def test_a_command_that_was_only_a_means_is_closed_when_the_work_went_on():
    slip = run("python probe.py", "ValueError: no", code=1)
    assert open_commands(slip, others(1)) != []
    assert open_commands(slip, others(5)) == []


def test_a_failed_test_is_closed_by_age():
    assert open_commands(BROKEN, others(50)) != []
    assert open_commands(BROKEN, others(120)) == []


def test_what_the_surroundings_do_not_let_happen_stays_open():
    denied = run("bun test", "bun: command not found", code=127)
    assert open_commands(denied, others(150)) == ["bun test"]


def test_a_tool_that_never_worked_is_named_once():
    broken = [
        message for n in range(4) for message in step("probe", {"n": n}, "Error: no line", is_error=True)
    ]
    messages = [*broken, *others(9)]
    ledger = collect(messages, range(len(messages)), pair_calls(messages), redact=str)
    assert sorted(ledger.open_failures) == [3]


def test_an_edit_that_did_not_fit_is_closed_by_one_that_did():
    missed = step("edit_file", {"path": "/w/src/a.py", "old_string": "x"}, "Error: not found", is_error=True)
    assert open_commands(missed, step("edit_file", {"path": "src/a.py", "old_string": "y"})) == []


def test_a_test_runner_that_is_missing_is_closed_by_tests_that_another_program_ran():
    missing = run("python -m pytest test_fees.py", "python: No module named pytest", code=1)
    assert open_commands(missing, run("python try_fees.py", "Ran 11 tests in 0.1s\n\nOK")) == []
    for said in ("Ran 11 tests in 0.1s\n\nFAILED (failures=2)", "Ran 0 tests in 0.0s\n\nOK", "OK"):
        assert open_commands(missing, run("python try_fees.py", said)) == ["python -m pytest test_fees.py"]
