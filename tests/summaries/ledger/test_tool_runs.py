"""What a call is about, which files it touched and how it ended, whatever the tool is called."""

import json
from dataclasses import replace

import pytest

from midfold.messages import ToolCall, ToolResult
from midfold.redact import redact
from midfold.summaries.ledger.tool_runs import read_tool_run

PATCH = "*** Begin Patch\n*** Update File: src/a.py\n@@\n-x\n+y\n*** Add File: b.py\n+z\n*** End Patch"
DIFF = "--- a/old.py\n+++ b/old.py\n@@ -1 +1 @@\n-x\n+y\n"


def run(tool, arguments, output=None, *, is_error=False):
    spelled = arguments if isinstance(arguments, str) else json.dumps(arguments)
    result = None if output is None else ToolResult("c", output, is_error)
    return read_tool_run(ToolCall("c", tool, spelled), result, redact)


@pytest.mark.parametrize(
    ("tool", "arguments", "kind", "subject"),
    [
        ("bash", {"command": "make test"}, "shell", "make test"),
        ("execute_bash", {"command": "ls\ncat x"}, "shell", "ls; cat x"),
        ("shell", {"command": ["bash", "-lc", "make"]}, "shell", "make"),
        ("run_terminal_cmd", {"command": "npm i"}, "shell", "npm i"),
        ("python", {"code": "print(1)"}, "shell", "print(1)"),
        ("Bash", {"command": "git status", "description": "see"}, "shell", "git status"),
        ("Read", {"file_path": "/a/b.py"}, "read", "/a/b.py"),
        ("view_file", {"path": "b.py"}, "read", "b.py"),
        ("str_replace_editor", {"command": "view", "path": "b.py"}, "read", "b.py"),
        ("Edit", {"file_path": "b.py", "old_string": "x", "new_string": "y"}, "edit", "b.py"),
        ("search_replace", {"file_path": "b.py"}, "edit", "b.py"),
        ("write_to_file", {"path": "b.py", "content": "x"}, "write", "b.py"),
        ("Grep", {"pattern": "TODO", "path": "src"}, "search", "TODO"),
        ("codebase_search", {"query": "where is it"}, "search", "where is it"),
        ("WebFetch", {"url": "https://example.com/a"}, "web", "https://example.com/a"),
        ("list_dir", {"path": "src"}, "list", "src"),
        ("Task", {"description": "look", "prompt": "look hard"}, "agent", "look"),
        ("ask_followup_question", {"question": "Which?"}, "ask", "Which?"),
        ("mcp__jira__get_issue", {"key": "A-1"}, "", ""),
        ("leer_archivo", {"ruta": "src/a.py"}, "", ""),
        ("天气", {"城市": "北京"}, "", ""),
        ("bash", {}, "", ""),
        ("weird", "not json", "", ""),
        ("", "", "", ""),
    ],
)
def test_a_call_is_known_by_its_family_and_subject(tool, arguments, kind, subject):
    found = run(tool, arguments)
    assert (found.kind, found.subject) == (kind, subject)


@pytest.mark.parametrize(
    ("tool", "arguments", "quoted"),
    [
        ("mcp__jira__get_issue", {"key": "A-1"}, "key A-1"),
        ("天气", {"城市": "北京"}, "城市 北京"),
        ("leer_archivo", {"ruta": "src/a.py"}, "ruta src/a.py"),
        ("weird", {"deep": {"er": [1, "two"]}}, "er two"),
        ("weird", "not json", "not json"),
        ("Grep", {"pattern": "x", "path": "src"}, "in src"),
    ],
)
def test_the_other_arguments_are_told_in_words(tool, arguments, quoted):
    assert quoted in run(tool, arguments).details


def test_long_arguments_are_quoted_by_their_lines():
    found = run("write_file", {"path": "a.py", "content": "import os\n\nclass A:\n    limit = 42\n"})
    assert found.content == ("import os", "class A:", "limit = 42")
    assert not any("limit" in detail for detail in found.details)


@pytest.mark.parametrize(
    ("tool", "arguments", "reads", "changes"),
    [
        ("Read", {"file_path": "/a/b.py"}, ("/a/b.py",), ()),
        ("read_many_files", {"paths": ["a.py", "b.py"]}, ("a.py", "b.py"), ()),
        ("Edit", {"file_path": "a.py", "old_string": "x", "new_string": "y"}, (), ("a.py",)),
        ("write_file", {"path": "a.py", "content": "x\ny"}, (), ("a.py",)),
        ("NotebookEdit", {"notebook_path": "a.ipynb", "new_source": "x"}, (), ("a.ipynb",)),
        ("apply_patch", PATCH, (), ("src/a.py", "b.py")),
        ("apply_patch", {"input": PATCH}, (), ("src/a.py", "b.py")),
        ("apply_diff", {"diff": DIFF}, (), ("old.py",)),
        ("mystery", {"body": DIFF}, (), ("old.py",)),
        ("bash", {"command": "cat > out.txt <<'E'\nx\nE"}, (), ("out.txt",)),
        ("shell", {"command": ["bash", "-lc", "echo x > out.txt"]}, (), ("out.txt",)),
        ("Grep", {"pattern": "a.py", "path": "src/b.py"}, (), ()),
        ("WebFetch", {"url": "https://example.com/a.html"}, (), ()),
        ("str_replace_editor", {"command": "create", "path": "n.py", "file_text": "a\nb"}, (), ("n.py",)),
    ],
)
def test_files_are_read_or_changed(tool, arguments, reads, changes):
    found = run(tool, arguments)
    assert (found.reads, found.changes) == (reads, changes)


@pytest.mark.parametrize(
    "arguments",
    [
        {"file_path": "a.py", "old_string": "os.path", "new_string": "self.x"},
        {"file_path": "a.py", "content": "config.yaml"},
    ],
)
def test_what_is_written_into_a_file_is_no_file(arguments):
    assert run("edit_file", arguments).changes == ("a.py",)


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("edit_file", {"filePath": "src/a.ts", "oldString": "x = 1", "newString": "y = 2"}),
        ("replace_file_content", {"TargetFile": "src/a.ts", "ReplacementContent": "y\nz"}),
    ],
)
def test_the_spelling_of_an_argument_does_not_matter(tool, arguments):
    assert run(tool, arguments).changes == ("src/a.ts",)


@pytest.mark.parametrize(
    ("output", "status"),
    [
        ("fine\nExit code: 0", "Exit code: 0"),
        ("<returncode>1</returncode>\nboom", "<returncode>1</returncode>"),
        ("boom\n[exit status 2]", "[exit status 2]"),
        ("Process exited with code 127", "Process exited with code 127"),
        ('{"output": "x", "exit_code": 3}', '"exit_code": 3'),
        ("nothing of the kind", ""),
        ("", ""),
    ],
)
def test_the_status_is_quoted_as_the_tool_spelled_it(output, status):
    found = run("bash", {"command": "x"}, output)
    assert found.status.strip() == status
    assert found.status in output


@pytest.mark.parametrize(
    ("output", "failure"),
    [
        ("a.c:3:1: error: expected ';'\nExit code: 1", "a.c:3:1: error: expected ';'"),
        ("Traceback (most recent call last):\n  File\nKeyError: 'x'\nExit code: 1", "KeyError: 'x'"),
        ("FAILED t/test_a.py::test_b - assert 1 == 2\nExit code: 1", "FAILED t/test_a.py::test_b"),
    ],
)
def test_what_went_wrong_is_quoted(output, failure):
    found = run("bash", {"command": "x"}, output)
    assert found.has_failed
    assert any(failure in line for line in found.failures)
    assert all(line in output for line in found.failures)


def test_a_result_that_is_marked_as_an_error_has_failed_whatever_it_says():
    assert run("mystery", {"a": 1}, "no", is_error=True).has_failed


def test_a_call_without_a_result_has_not_failed():
    assert not run("bash", {"command": "x"}).has_failed


def test_talk_about_errors_in_a_file_is_no_failure():
    assert not run("Read", {"file_path": "a.py"}, "class ParseError(Exception): ...").has_failed


@pytest.mark.parametrize(
    "arguments",
    [
        "[" * 900 + '"x"' + "]" * 900,
        "[" * 5_000,
        '{"a": 1e999, "b": ' + "9" * 5_000 + "}",
        '"\\ud800"',
        "null",
        "\x00",
        json.dumps({str(n): "v" for n in range(5_000)}),
    ],
)
def test_odd_arguments_raise_nothing_and_give_bounded_details(arguments):
    found = run("mystery", arguments, "\ud800\x00")
    assert len(found.details) <= 20
    assert len(found.content) <= 30


SECRET = "gh" + "p_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


@pytest.mark.parametrize(
    "arguments",
    [
        {"command": f"curl -H 'Authorization: Bearer {SECRET}' x"},
        {"command": "x", "note": SECRET},
        {"command": f"export A={SECRET} > out.txt"},
        {"path": "a.py", "content": f"line\ntoken = '{SECRET}'\n"},
        {"deep": [{"er": SECRET}]},
        SECRET,
    ],
)
def test_no_text_of_an_action_has_a_secret(arguments):
    found = run("bash", arguments, f"Error: bad token {SECRET}\nExit code: 1")
    assert SECRET not in repr(replace(found, retry_key=""))


@pytest.mark.parametrize("name", ["password", "api_key", "client_secret"])
def test_a_value_that_only_its_name_gives_away_is_no_part_of_an_action(name):
    found = run("login", {"user": "bob", name: "hunter2-Xk29Qz81vB"})
    assert "hunter2-Xk29Qz81vB" not in repr(replace(found, retry_key=""))


def test_the_name_of_a_tool_has_no_secret():
    assert SECRET not in repr(run(f"tool_{SECRET}", {"a": "b"}))


@pytest.mark.parametrize("depth", [10, 400, 5_000])
def test_arguments_may_be_nested_however_deep(depth):
    assert run("mystery", '{"a": [' * depth + '"core"' + "]}" * depth).tool == "mystery"


def test_arguments_are_read_in_their_order():
    assert run("mystery", {"b": [1, {"c": "two"}, [3]], "a": 4}).details == ("b 1", "c two", "b 3", "a 4")


def test_a_patch_in_a_command_is_read_as_an_edit():
    made = run(
        "shell",
        {"command": ["bash", "-lc", f"apply_patch <<'PATCH'\n{PATCH.replace('+y', '+limit = 3')}\nPATCH"]},
    )
    assert "limit = 3" in made.content
    assert not any(line.startswith(("+", "-", "***")) for line in made.content)


def test_a_file_that_a_call_tells_of_in_words_is_known():
    assert run("write", {"summary": "Tool use: edit • Edit file: docs/tides.md"}, "ok").changes == (
        "docs/tides.md",
    )
    assert run("read", {"summary": "Read file: src/tides.py"}, "ok").reads == ("src/tides.py",)
    assert run("write", {"summary": "Wrote a poem about the sea."}, "ok").changes == ()


def test_a_command_that_a_call_tells_of_is_its_subject():
    made = run("run_terminal_cmd", {"summary": "Tool use: **command** • Run command: cargo check"}, "ok")
    assert (made.subject, made.details) == ("cargo check", ())
