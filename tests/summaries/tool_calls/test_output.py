"""Texts cut down: both ends, one line, strings inside JSON, how a command ended, what went wrong."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from midfold.summaries.tool_calls.arguments import shorten_strings
from midfold.summaries.tool_calls.output import (
    ToolOutcome,
    excerpt,
    find_failure,
    first_words,
    is_excerpt,
    last_words,
    one_line,
    read_outcome,
)

LINES = "\n".join(f"line {number} of the log" for number in range(400))
anything = st.one_of(
    st.text(max_size=80),
    st.builds(lambda text, times: text * times, st.text(min_size=1, max_size=30), st.integers(1, 300)),
    st.builds("\n".join, st.lists(st.text(max_size=60), max_size=60)),
)
json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=20), anything),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=8,
)


def test_an_excerpt_keeps_both_ends_and_says_how_much_is_gone_between():
    kept = excerpt(LINES, 100, 60)
    assert kept == (
        "line 0 of the log\nline 1 of the log\nline 2 of the log\nline 3 of the log\nline 4 of the log\n"
        "[… 7,741 characters cut …]\n"
        "line 397 of the log\nline 398 of the log\nline 399 of the log"
    )


def test_a_text_without_lines_is_cut_where_the_budget_ends():
    assert excerpt("x" * 1000, 10, 5) == "x" * 10 + "\n[… 985 characters cut …]\n" + "x" * 5


@pytest.mark.parametrize("length", [0, 1, 1600, 1700])
def test_a_text_that_would_hardly_get_shorter_comes_back_itself(length):
    text = "x" * length
    assert excerpt(text) is text


def test_either_end_can_be_left_out():
    assert excerpt("a" * 500, 20, 0) == "a" * 20 + "\n[… 480 characters cut …]\n"
    assert excerpt("a" * 500, -1, 20) == "\n[… 480 characters cut …]\n" + "a" * 20


@given(anything, st.integers(0, 300), st.integers(0, 300))
def test_an_excerpt_is_never_longer_and_is_not_cut_again(text, head_chars, tail_chars):
    kept = excerpt(text, head_chars, tail_chars)
    assert kept is text or (len(kept) < len(text) and is_excerpt(kept))
    assert excerpt(kept, head_chars, tail_chars) == kept


def test_one_line_has_no_breaks_colours_or_control_characters():
    assert one_line("\x1b[31mred\x1b[0m\tand\n\n  bold\x00\u2028end \ud83d", 80) == "red and bold end"


def test_a_line_that_was_cut_says_so():
    assert one_line("a long command", 7) == "a long…"


@given(anything, st.integers(1, 200))
def test_one_line_is_printable_and_within_its_limit(text, limit):
    line = one_line(text, limit)
    assert len(line) <= limit
    assert line.encode().decode() == line
    assert not any(ord(character) < 32 or 127 <= ord(character) < 160 for character in line)


def test_long_strings_are_shortened_inside_their_json():
    arguments = json.dumps({"path": "a.py", "edits": [{"new": "x" * 900, "line": 3}]})
    assert json.loads(shorten_strings(arguments)) == {
        "path": "a.py",
        "edits": [{"new": "x" * 200 + "… [700 more characters]", "line": 3}],
    }


def test_other_scripts_stay_as_they_are_written():
    shortened = shorten_strings(json.dumps({"content": "数据" * 500}))
    assert "数据数据" in shortened


def test_half_a_character_stays_escaped():
    shortened = shorten_strings('{"content": "' + "a" * 600 + '", "emoji": "\\ud83d"}')
    assert "\\ud83d" in shortened
    assert shortened.encode()


@pytest.mark.parametrize(
    "arguments",
    ["", "not json " * 100, '"' + "a string alone " * 60 + '"', "7", '{"n": NaN, "t": "' + "x" * 600 + '"}'],
)
def test_what_is_no_json_object_or_list_stays_untouched(arguments):
    assert shorten_strings(arguments) is arguments


def test_deeply_nested_arguments_stay_untouched():
    arguments = "[" * 100_000 + "]" * 100_000
    assert shorten_strings(arguments) is arguments


@given(json_values)
def test_shortened_arguments_are_json_with_the_same_keys_and_not_longer(value):
    arguments = json.dumps(value)
    shortened = shorten_strings(arguments)
    assert len(shortened) <= len(arguments)
    assert shorten_strings(shortened) is shortened
    if isinstance(value, dict):
        assert list(json.loads(shortened)) == list(value)


@pytest.mark.parametrize(
    ("text", "exit_code"),
    [
        ("Exit code 127\nzsh: command not found: pytset", 127),
        ("<returncode>1</returncode>\n<output>\n…</output>", 1),
        ("collected 3 items\n[exit status 2]", 2),
        ("Chunk ID: 8a\nWall time: 0.2 seconds\nProcess exited with code 0\nOutput:\nok", 0),
        ("12 passed\n\nCommand exited with code 0", 0),
        ("hello\n[The command completed with exit code 3.]\n[Current working directory: /srv]", 3),
        ("Output: (empty)\nError: (none)\nExit Code: 1\nSignal: (none)", 1),
        ('{"output": "boom", "exit_code": -9, "error": null}', -9),
        ('{"output": "ok", "metadata": {"exit_code": 0, "duration_seconds": 0.1}}', 0),
        ("the exit code is documented in section 3", None),
        ("", None),
    ],
)
def test_the_exit_status_is_read_in_many_spellings(text, exit_code):
    assert read_outcome(text).exit_code == exit_code


def test_a_result_is_taken_out_of_its_json():
    wrapped = json.dumps({"output": "one\ntwo", "exit_code": 0, "error": None})
    assert read_outcome(wrapped) == ToolOutcome("one\ntwo", 0, "")


@pytest.mark.parametrize(
    "wrapped",
    [
        {"error": "no such order"},
        {"error": {"type": "not_found", "message": "no such order"}},
        {"success": False, "message": "no such order"},
    ],
)
def test_the_error_that_a_json_result_names_is_its_complaint(wrapped):
    assert read_outcome(json.dumps(wrapped)).complaint == "no such order"


def test_a_code_and_its_explanation_are_one_complaint():
    wrapped = {"error": "price_difference", "message": "pass accept_difference"}
    assert read_outcome(json.dumps(wrapped)).complaint == "price_difference: pass accept_difference"


def test_first_words_pass_over_a_status_and_follow_an_announcement():
    assert first_words("Exit code 1\n\nno tests ran") == "no tests ran"
    assert first_words("It was refused. The user said:\nuse the other file") == (
        "The user said: use the other file"
    )


def test_last_words_pass_over_labels_and_status_lines():
    assert last_words("step 1\nCommand aborted\nSignal: (none)\nExit Code: 1\n") == "Command aborted"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (
            "Traceback (most recent call last):\n"
            '  File "a.py", line 3, in <module>\n    go()\n'
            "KeyError: 'zone'\n\nDuring handling of the above exception, another exception occurred:\n\n"
            "Traceback (most recent call last):\n"
            '  File "a.py", line 9, in <module>\n    stop()\n    ^^^^^^\n'
            "meters.JamError: coin slot 3\n",
            "meters.JamError: coin slot 3",
        ),
        (
            "...F\nE       assert 1 == 2\nE       AssertionError\n"
            "=== short test summary info ===\nFAILED tests/test_a.py::test_sum - assert 1 == 2\n1 failed",
            "FAILED tests/test_a.py::test_sum - assert 1 == 2",
        ),
        ("E   SyntaxError: invalid syntax", "E SyntaxError: invalid syntax"),
        (
            "main.c: In function 'main':\nmain.c:4:5: error: expected ';' before 'return'\n1 error",
            "main.c:4:5: error: expected ';' before 'return'",
        ),
        (
            "   Compiling coin v0.1.0\nerror[E0432]: unresolved import `meter`\n"
            "error: could not compile `coin`",
            "error[E0432]: unresolved import `meter`",
        ),
        (
            "> tsc\n\nsrc/app/(shop)/page.tsx(4,27): error TS2307: Cannot find module 'next'.",
            "src/app/(shop)/page.tsx(4,27): error TS2307: Cannot find module 'next'.",
        ),
        (
            "# zone\ncmd/zone.go:48:23: undefined: tariff\nFAIL\tzone [build failed]",
            "cmd/zone.go:48:23: undefined: tariff",
        ),
        (
            "=== RUN TestFee\n--- FAIL: TestFee (0.00s)\n    fee_test.go:9: start\n"
            "    fee_test.go:12: want 2, got 3\nFAIL",
            "--- FAIL: TestFee (0.00s) fee_test.go:12: want 2, got 3",
        ),
        (
            "panic: runtime error: index out of range [3]\n\ngoroutine 1",
            "panic: runtime error: index out of range [3]",
        ),
        (
            "thread 'main' panicked at src/main.rs:4:5:\ncalled `unwrap()` on a `None` value\nnote: run with",
            "thread 'main' panicked at src/main.rs:4:5: called `unwrap()` on a `None` value",
        ),
        (
            'Exception in thread "main" java.lang.IllegalStateException: x\n\tat A.b(A.java:3)\n'
            "Caused by: java.io.IOException: disk full\n\t... 3 more",
            "Caused by: java.io.IOException: disk full",
        ),
        (
            "npm ERR! code ERESOLVE\nnpm ERR! ERESOLVE unable to resolve dependency tree",
            "npm ERR! ERESOLVE unable to resolve dependency tree",
        ),
        (
            "node:internal\n\nTypeError: fee is not a function\n    at x.js:3",
            "TypeError: fee is not a function",
        ),
        (
            "du : El término 'du' no se reconoce como nombre de un cmdlet. Compruebe si incluyó una \n"
            "ruta de acceso.\nEn línea: 1 Carácter: 1\n+ du -sh .\n+ ~~\n"
            "    + CategoryInfo          : ObjectNotFound: (du:String) [], CommandNotFoundException\n",
            "du : El término 'du' no se reconoce como nombre de un cmdlet. Compruebe si incluyó una",
        ),
        (
            "git : fatal: no upstream\nAt line:1 char:1\n+ git push\n+ ~~~~\n"
            "    + CategoryInfo          : NotSpecified: (fatal: no upstream:String) [], RemoteException",
            "git : fatal: no upstream",
        ),
        ("● fees › rounds up\n\n  expect(received)", "● fees › rounds up"),
        ("ok 1 - a\nnot ok 2 - rounds up\n", "not ok 2 - rounds up"),
        ("fatal: not a git repository (or any of the parent directories): .git", None),
        ("bash: line 1: tree: command not found", None),
        ("bash: nginx: 未找到命令", None),
        ("ls: cannot access 'x': No such file or directory", None),
        ("make: *** [Makefile:12: test] Error 2", None),
        ("[build] ERROR task failed", None),
        ("错误：找不到文件", None),
        ("Fehler: Datei fehlt", None),
        ("fees.py:11:0: C0303: Trailing whitespace (trailing-whitespace)", None),
        ("<tool_use_error>File does not exist.</tool_use_error>", None),
    ],
)
def test_the_decisive_line_is_found_in_many_tools_output(text, line):
    assert find_failure(text) == (line or text)
    assert find_failure(f"starting\n{text}\ndone in 3 s") == (line or text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "12 passed in 0.31s",
        "0 errors, 0 warnings",
        "Error: (none)",
        '    12→    raise ValueError("error: no zone")',
        "def handle_error(error):\n    return Failure(error)",
        "the error handling of this module",
    ],
)
def test_a_mention_of_errors_is_not_an_error(text):
    assert find_failure(text) is None


def test_a_decisive_line_is_at_most_200_characters():
    assert len(find_failure("Error: " + "x" * 5000) or "") == 200


def test_only_the_ends_of_a_long_text_are_looked_at():
    filler = "all is well\n" * 10_000
    assert find_failure(f"{filler}Error: in the middle\n{filler}") is None
    assert find_failure(f"{filler}Error: at the end") == "Error: at the end"


@given(anything)
def test_no_text_is_too_odd(text):
    for read in (find_failure, first_words, last_words):
        assert isinstance(read(text), str | None)
    assert read_outcome(text) == read_outcome(text)
