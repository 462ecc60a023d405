"""The last result of a thing decides, and what failed is not told as done."""

import json

import pytest

from midfold.messages import Message, Text, ToolCall, ToolResult, pair_calls
from midfold.summaries.digest import compose
from midfold.summaries.digest.entries import EntryKind
from midfold.summaries.digest.factors import WeightFactors
from midfold.summaries.ledger import collect
from midfold.summaries.ledger.file_states import trace_files
from midfold.summaries.ledger.invocations import RunEnd


def call(number, tool, output, **arguments):
    said = ToolCall(f"c{number}", tool, json.dumps(arguments))
    return [Message("assistant", (said,)), Message("tool", (ToolResult(f"c{number}", output),))]


def bash(number, command, output="done"):
    return call(number, "bash", output, command=command)


def ledger_of(messages):
    return collect(messages, range(len(messages)), pair_calls(messages), redact=str)


def entries_of(messages):
    return compose(ledger_of(messages), pins=(), factors=WeightFactors(), most_lines=20)


def render(messages):
    return [entry.render(entry.units) for entry in entries_of(messages)]


@pytest.mark.parametrize(
    "output",
    [
        "Ran into [Errno 2] No such file or directory: 'a.py' while trying to write.",
        "Invalid `path` parameter: a.py. The path should be an absolute path.",
        '{"success": false, "message": "disk is full"}',
        '{"status": "failed"}',
        "échec : disque plein",
        "错误：没有权限",
    ],
)
def test_a_write_that_failed_changed_nothing_whatever_its_flag_says(output):
    ledger = ledger_of(call(1, "write_file", output, path="/app/a.py", content="print(1)\nprint(2)"))
    assert ledger.actions[0].run.has_failed
    assert ledger.changed_files == {}


@pytest.mark.parametrize("output", ["OK", "File written: 2 lines", "Saved error_handler.py", ""])
def test_a_write_that_worked_changed_its_file(output):
    ledger = ledger_of(call(1, "write_file", output, path="/app/a.py", content="print(1)\nprint(2)"))
    assert list(ledger.changed_files) == ["/app/a.py"]


def test_a_command_that_never_ran_wrote_nothing():
    ledger = ledger_of(
        bash(1, "python3 - <<'E'\nopen('a.md', 'w')\nE", "/c: Is a directory\n\nExit Code: 126")
    )
    assert ledger.changed_files == {}


def test_a_search_that_came_back_empty_says_so():
    [entry] = render(call(1, "search_flights", "[]", origin="MSP"))
    assert "came back empty" in entry


def test_the_last_run_of_a_command_decides():
    failed = "Traceback (most recent call last):\n  File x\nIndexError: list index out of range"
    [entry] = render([*bash(1, "python bug.py", failed), *bash(2, "python bug.py", "tree printed")])
    assert entry.endswith("[1] IndexError: list index out of range (settled) · [3] tree printed")


def test_a_refusal_of_an_edit_that_then_worked_is_told_once_as_overcome():
    refused, edit = "Error: File has not been read yet.", {"old_string": "x", "new_string": "y"}
    edits = [
        call(number, "edit", output, path=path, **edit)
        for number, (path, output) in enumerate(
            (path, output) for path in ("/a/b.py", "/a/c.py") for output in (refused, "Replaced 1 line.")
        )
    ]
    first, second = render([message for each in edits for message in each])
    assert first.startswith(
        "- /a/b.py (changed): edit [2] · [1] Error: File has not been read yet. (settled)"
    )
    assert "not been read" not in second


def test_the_status_of_what_was_overcome_is_told_once():
    failed = "Error: no such table\n[exit code: 3]"
    runs = [bash(1, "make a", failed), bash(2, "make a"), bash(3, "make b", failed), bash(4, "make b")]
    first, second = render([message for run in runs for message in run])
    assert "[exit code: 3] (settled)" in second
    assert "exit code" not in first


def test_the_same_call_again_and_again_is_told_as_such():
    [entry] = render(
        [each for number in range(9) for each in bash(number, "curl -s host/a", "502 Bad Gateway")]
    )
    assert "9 times, each with the same result" in entry


def settled(*messages):
    entries = entries_of(list(messages))
    return next(entry.head for entry in entries if entry.order == 0)


FAILED = bash(1, "cd /repo/app && cargo clippy", "error: unused variable\nerror: aborting\n[exit code: 101]")


def test_a_failure_is_settled_by_the_first_success_of_the_same_thing():
    passed = [bash(number, "cd /repo/app && cargo clippy", "Finished\n[exit code: 0]") for number in (2, 3)]
    assert "settled by" not in settled(*FAILED, *bash(2, "cd /other && cargo clippy", "[exit code: 0]"))
    ledger = ledger_of([*FAILED, *passed[0], *passed[1]])
    assert ledger.settlers == {0: 2}


@pytest.mark.parametrize(
    "other",
    [
        bash(2, "cd /repo/app && git commit -m 'clippy: 0 errors'", "[main 0a1b2c3] clippy\n[exit code: 0]"),
        bash(2, "cd /repo/app && cargo clippy 2>&1 | grep warning | head", ""),
        bash(2, "cd /repo/else && cargo clippy", "Finished\n[exit code: 0]"),
        [Message("assistant", (Text("All checks pass now, clippy is clean."),))],
    ],
)
def test_nothing_else_settles_it_by_number(other):
    assert ledger_of([*FAILED, *other]).settlers == {}


def test_a_filter_at_the_end_of_a_pipe_proves_nothing():
    ledger = ledger_of(bash(1, "make check | grep -i error", ""))
    assert ledger.actions[0].run.end is RunEnd.UNCLEAR


def fates(messages):
    return {state.path: state.fate for state in trace_files(ledger_of(messages).actions) if state.is_changed}


def test_a_backup_that_is_copied_back_ends_the_change():
    edit = bash(1, "sed -i 's/a/b/' src/rule.py")
    assert fates([*edit, *bash(2, "cp src/rule.py.bak src/rule.py")]) == {"src/rule.py": "reverted"}
    assert fates([*edit, *bash(2, "cp /tmp/new.py src/rule.py")]) == {"src/rule.py": ""}


@pytest.mark.parametrize("command", ["git reset --hard", "git checkout -- .", "git restore ."])
def test_what_was_not_committed_is_reverted_with_everything(command):
    before = [
        *bash(1, "touch a.py"),
        *bash(2, "git commit -am a", "[main 0a1b2c3] a"),
        *bash(3, "touch b.py"),
    ]
    assert fates([*before, *bash(4, command)]) == {"a.py": "", "b.py": "reverted"}


def test_a_worktree_that_was_removed_holds_no_files():
    messages = [*bash(1, "touch /w/fix/a.py"), *bash(2, "git worktree remove /w/fix")]
    assert fates(messages) == {"/w/fix/a.py": "deleted"}


def test_looking_at_a_file_is_no_change_to_it():
    looks = [*bash(2, "cat src/rule.py"), *bash(3, "sed -n 1,20p src/rule.py")]
    entries = entries_of([*bash(1, "sed -i 's/a/b/' src/rule.py"), *looks])
    [entry] = [each for each in entries if each.kind in (EntryKind.CHANGED, EntryKind.READ)]
    assert entry.kind is EntryKind.CHANGED
    assert entry.head == "src/rule.py (changed): bash [0]"


def test_an_edit_by_line_numbers_is_one_of_the_open_file():
    def say(command):
        return Message("assistant", (Text(f"I go on.\n```\n{command}\n```"),))

    state = "(Open file: /repo/sklearn/tree/export.py)\n(Current directory: /repo)\nbash-$"
    messages = [Message("user", (Text("Fix the export of a tree."),))]
    for command in (
        "open sklearn/tree/export.py",
        "edit 12:13\nreturn name\nend_of_edit",
        "ls",
        "pwd",
        "ls -a",
    ):
        messages += [say(command), Message("user", (Text(state),))]
    assert list(ledger_of(messages).changed_files) == ["/repo/sklearn/tree/export.py"]


def test_so_it_is_where_the_tool_takes_commands_as_an_argument():
    state = "[File: /repo/sum.py (40 lines total)]\n1: x\n(Open file: /repo/sum.py)"
    messages = [*call(1, "execute", state, command="open sum.py")]
    messages += call(2, "execute", state, command="edit 3:4\nreturn x\nend_of_edit")
    assert list(ledger_of(messages).changed_files) == ["/repo/sum.py"]


def test_a_failure_that_came_back_is_not_told_as_overcome():
    failed = "Traceback (most recent call last):\n  File x\nIndexError: list index out of range"
    runs = [bash(1, "python bug.py", failed), bash(2, "python bug.py"), bash(3, "python bug.py", failed)]
    [entry] = render([message for run in runs for message in run])
    assert "(overcome)" not in entry
    assert "[5] IndexError: list index out of range" in entry


def test_a_terminal_that_echoes_its_command_says_nothing_new():
    command = "git push --set-upstream origin topic/fees"
    (line,) = render(bash(1, command, f"{command}\nbranch 'topic/fees' set up to track 'origin/topic/fees'"))
    assert line.count(command) == 1
    assert "set up to track" in line


def told(number, command, output):
    """Return what the conclusions of one run say."""
    units = [unit for entry in entries_of(bash(number, command, output)) for unit in entry.units]
    return [unit.text for unit in units if unit.is_conclusion]


@pytest.mark.parametrize(
    ("command", "output", "outcome"),
    [
        (
            "gh pr create --title Prices",
            "Warning: 5 uncommitted changes\nhttps://forge.example/shop/pull/7",
            "https://forge.example/shop/pull/7",
        ),
        (
            "git commit -m Prices",
            "On branch main\nnothing to commit, working tree clean",
            "nothing to commit",
        ),
        ("gh pr close 7", "! Pull request shop#7 (Prices) is already closed", "already closed"),
        (
            "cargo test",
            "\n".join(["test result: ok. 2 passed; 0 failed", *["   Doc-tests shop", "running 0 tests"] * 4]),
            "2 passed",
        ),
    ],
)
def test_the_outcome_of_a_run_is_its_conclusion(command, output, outcome):
    assert any(outcome in line for line in told(1, command, output))


def test_a_shell_that_waits_is_no_outcome():
    lines = render(bash(1, "python load.py", "memory: 240 MB\n(Open file: /app/load.py)\nbash-$"))
    assert "240 MB" in lines[0]
    assert "bash-$" not in lines[0]
