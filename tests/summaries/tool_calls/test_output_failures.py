"""The lines that say what went wrong, word for word, the most telling first."""

import pytest

from midfold.summaries.tool_calls.output import find_failure, find_failures
from support.pace import is_linear

PYTEST = """\
tests/test_a.py F
E   AssertionError: assert 1 == 2
FAILED tests/test_a.py::test_one - assert 1 == 2
FAILED tests/test_b.py::test_two - KeyError
2 failed, 3 passed in 0.1s"""


@pytest.mark.parametrize(
    ("output", "line"),
    [
        ("x\nsrc/a.c:3:1: error: expected ';'\ny", "src/a.c:3:1: error: expected ';'"),
        ("error[E0308]: mismatched types", "error[E0308]: mismatched types"),
        ("./main.go:7:2: undefined: x", "./main.go:7:2: undefined: x"),
        ("src/a.ts(3,1): error TS2304: Cannot find name", "src/a.ts(3,1): error TS2304: Cannot find name"),
        ("bash: foo: command not found", "bash: foo: command not found"),
        ("cat: x: No such file or directory", "cat: x: No such file or directory"),
        ("fatal: not a git repository", "fatal: not a git repository"),
        ("npm ERR! missing script: build", "npm ERR! missing script: build"),
        ("java.lang.IllegalStateException: no", "java.lang.IllegalStateException: no"),
        ("ok\n--- FAIL: TestX (0.00s)\n", "--- FAIL: TestX (0.00s)"),
        ("错误: 找不到文件", "错误: 找不到文件"),
        ("Ошибка: нет файла", "Ошибка: нет файла"),
    ],
)
def test_the_line_that_says_so_is_found(output, line):
    assert find_failures(output, 5) == [line]


def test_a_traceback_boils_down_to_its_last_line():
    output = "Traceback (most recent call last):\n  File 'a', line 1\n    x\nValueError: bad x"
    assert find_failures(output, 3)[0] == "ValueError: bad x"


def test_a_root_cause_comes_first():
    output = "Exception in thread main\n\tat a.b\nCaused by: java.io.IOException: disk full\n\tat c"
    assert find_failures(output, 3)[0] == "Caused by: java.io.IOException: disk full"


def test_failed_tests_come_before_what_counts_them():
    found = find_failures(PYTEST, 3)
    assert found[0].startswith("FAILED tests/test_a.py::test_one")
    assert found[1].startswith("FAILED tests/test_b.py::test_two")


@pytest.mark.parametrize("most", [0, 1, 2, 50])
def test_no_more_than_asked_for_and_each_once(most):
    found = find_failures(PYTEST * 3, most)
    assert len(found) <= most
    assert len(set(found)) == len(found)


def test_every_line_is_quoted():
    assert all(line in PYTEST for line in find_failures(PYTEST, 9))


@pytest.mark.parametrize(
    "output", ["", "all good", "3 passed", "0 errors, 0 failures", "error: (none)", "\x00"]
)
def test_where_nothing_went_wrong_nothing_is_found(output):
    assert find_failures(output, 5) == []


def test_one_failure_is_among_the_many():
    assert find_failure(PYTEST) in find_failures(PYTEST, 5)


@pytest.mark.parametrize(
    "piece", ["Error: x\n", "a", "E   ", ":1:", "sh: ", "Traceback (most recent call last)\n"]
)
def test_hostile_output_is_read_in_no_time(piece):
    assert is_linear(lambda size: find_failures(piece * (size // len(piece)), 5), 2_000_000)
    found = find_failures(piece * (2_000_000 // len(piece)), 5)
    assert all(len(line) <= 400 for line in found)
