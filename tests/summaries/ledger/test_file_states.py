"""What became of files: edits that were not made, other folders, resets, deletions by a tool."""

import json

import pytest

from midfold.messages import Message, ToolCall, ToolResult, pair_calls
from midfold.summaries.digest import compose
from midfold.summaries.digest.factors import WeightFactors
from midfold.summaries.ledger import collect
from midfold.summaries.ledger.file_states import trace_files


def call(number, tool, output, **arguments):
    said = ToolCall(f"c{number}", tool, json.dumps(arguments))
    return [Message("assistant", (said,)), Message("tool", (ToolResult(f"c{number}", output),))]


def bash(number, command, output="done"):
    return call(number, "bash", output, command=command)


def write(number, path):
    return call(number, "write", "ok", path=path, content=f"first line of {path}\nsecond line")


def ledger_of(*parts):
    messages = [message for part in parts for message in part]
    return collect(messages, range(len(messages)), pair_calls(messages), redact=str)


def fates(*parts):
    """Say of each file what it is now, by all its changes."""
    states = trace_files(ledger_of(*parts).actions)
    return {each.path: each.fate or ("changed" if each.is_changed else "untouched") for each in states}


def heads(*parts):
    return [it.head for it in compose(ledger_of(*parts), pins=(), factors=WeightFactors(), most_lines=20)]


@pytest.mark.parametrize(
    "output",
    [
        "Your edit has introduced new syntax error(s). Read this.\n\nE999 unexpected indent",
        "The edit was not applied: line 4 differs.",
        "Edit cancelled by the user.",
        "No changes were made to fees.py",
        "修正は適用されませんでした",
        "文件未修改",
    ],
)
def test_an_edit_that_was_not_made_changed_nothing(output):
    edit = call(1, "edit", output, path="/app/fees.py", old_text="a = 1\nb = 2", new_text="a = 2\nb = 2")
    assert fates(edit) == {"/app/fees.py": "untouched"}
    assert heads(edit) == ["/app/fees.py (not changed): edit [0]"]


@pytest.mark.parametrize(
    "output",
    ["The file /app/fees.py has been updated.", "File updated. Review the changes.", "1 replacement"],
)
def test_an_edit_that_was_made_did(output):
    edit = call(1, "edit", output, path="/app/fees.py", old_text="a = 1\nb = 2", new_text="a = 2\nb = 2")
    assert fates(edit) == {"/app/fees.py": "changed"}


def test_a_tool_that_deletes_a_file_deletes_it():
    assert fates(write(1, "gpu/build.rs"), call(3, "delete_file", "Deleted.", path="gpu/build.rs")) == {
        "gpu/build.rs": "deleted"
    }
    told = call(3, "delete_file", "Explanation: build.rs is no longer needed", note="clean up")
    assert fates(write(1, "gpu/build.rs"), told) == {"gpu/build.rs": "deleted"}


def test_files_of_another_folder_are_other_files():
    here = [*write(1, "README.md"), *write(3, "/srv/shop/src/a.py")]
    there = bash(5, "cd /srv/docs && sed -i s/a/b/ README.md")
    assert fates(here, there) == {
        "README.md": "changed",
        "/srv/shop/src/a.py": "changed",
        "/srv/docs/README.md": "changed",
    }
    undone = bash(7, "cd /srv/docs && git restore README.md")
    assert fates(here, there, undone)["README.md"] == "changed"
    assert fates(here, there, undone)["/srv/docs/README.md"] == "reverted"
    reset = bash(7, "cd /srv/docs && git reset --hard")
    assert fates(here, there, reset)["/srv/shop/src/a.py"] == "changed"
    assert fates(here, there, reset)["/srv/docs/README.md"] == "reverted"


@pytest.mark.parametrize(
    "commands",
    [["git stash -q && make bench; git stash pop -q"], ["git stash", "make bench", "git stash pop"]],
)
def test_what_was_stashed_and_popped_is_there(commands):
    runs = [bash(3 + 2 * at, command) for at, command in enumerate(commands)]
    assert fates(write(1, "src/a.py"), bash(2, "git stash")) == {"src/a.py": "stashed"}
    assert fates(write(1, "src/a.py"), *runs) == {"src/a.py": "changed"}


def test_a_path_that_goes_up_from_a_folder_is_written_without_detours():
    here = [
        *write(1, "/srv/shop/src/a.py"),
        *bash(3, "cd /srv/shop && make"),
        *bash(5, "cd /srv/shop && make"),
    ]
    there = bash(7, "cd /srv/docs/en && sed -i s/a/b/ ../de/README.md")
    assert "/srv/docs/de/README.md" in fates(here, there)


def test_commands_in_the_folder_of_the_work_are_about_its_files():
    edits = [*bash(1, "cd /repo && sed -i s/a/b/ src/a.py"), *write(3, "/repo/src/a.py")]
    assert fates(edits) == {"/repo/src/a.py": "changed"}
    assert fates(edits, bash(5, "cd /repo && git checkout -- src/a.py")) == {"/repo/src/a.py": "reverted"}


def test_what_is_staged_survives_a_restore_and_no_reset():
    staged = [*write(1, "a.py"), *bash(3, "git add -A")]
    assert fates(staged, bash(5, "git restore .")) == {"a.py": "changed"}
    assert fates(staged, bash(5, "git restore --staged .")) == {"a.py": "changed"}
    assert fates(staged, bash(5, "git reset --hard")) == {"a.py": "reverted"}


@pytest.mark.parametrize(
    ("target", "reverted"),
    [
        ("", []),
        ("HEAD~1", ["b.py"]),
        ("1a2b3c4", ["b.py"]),
        ("origin/main", ["b.py"]),
        ("HEAD~2", ["a.py", "b.py"]),
    ],
)
def test_a_hard_reset_takes_the_commits_behind_its_target_along(target, reverted):
    work = [
        *write(1, "a.py"),
        *bash(3, "git commit -qam a", "[main 1a2b3c4] a"),
        *bash(5, "git push origin main", "1a2b3c4 main -> main"),
        *write(7, "b.py"),
        *bash(9, "git commit -qam b", "[main 5d6e7f8] b"),
    ]
    found = fates(work, bash(11, f"git reset --hard {target}".strip()))
    assert [path for path, fate in found.items() if fate == "reverted"] == reverted


def test_of_many_messages_the_list_shows_that_some_are_left_out():
    edits = [write(number, "a.py") for number in range(1, 20, 2)]
    assert heads(*edits)[0].startswith("a.py (changed): write [0, …, 10, 12, 14, 16, 18]")


def test_a_file_that_only_leaves_the_index_is_still_there():
    assert fates(write(1, "/app/plan.png"), bash(3, "git rm --cached /app/plan.png")) == {
        "/app/plan.png": "changed"
    }
    assert fates(write(1, "/app/plan.png"), bash(3, "git rm /app/plan.png")) == {"/app/plan.png": "deleted"}


def test_a_change_after_a_restore_is_told_without_those_before():
    told = heads(
        write(1, "/app/fees.py"),
        bash(3, "cd /app && cp fees.py.backup fees.py"),
        call(5, "edit", "ok", path="/app/fees.py", old_string="a", new_string="rate = 2"),
    )
    assert [head for head in told if "(changed)" in head] == ["/app/fees.py (changed): edit [4]"]


def test_a_command_that_failed_in_its_folder_has_changed_nothing():
    failed = "sed: -e expression #1, char 0: unmatched `{'\n[exit code: 1]"
    assert not ledger_of(bash(1, "cd /app && sed -i '3{/a/d' fees.py", failed)).actions[0].run.has_changed
    assert ledger_of(bash(1, "sed -i s/a/b/ fees.py && make", failed)).actions[0].run.has_changed
