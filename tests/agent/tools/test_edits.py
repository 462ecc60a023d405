"""Files are written when the user lets it happen, and can be had back."""

import json
import os
import stat

import pytest

from midfold.agent import (
    ApprovalRequested,
    FileChangedSince,
    NoEditToUndo,
    Risk,
    ToolFailed,
    ToolFinished,
    allow_edits,
    allow_everything,
)
from midfold.agent.edit_history import EditHistory
from midfold.agent.tools import diffs
from midfold.agent.tools.diffs import describe_change
from midfold.agent.tools.file_edits import FileEdits
from midfold.agent.tools.files import file_tools
from midfold.agent.tools.workspace import Workspace
from midfold.messages import ToolCall
from midfold.testing.upstream import Reply, Upstream
from support.pace import is_linear


def write(path, content, number=1):
    arguments = json.dumps({"path": path, "content": content})
    return Reply("", (ToolCall(f"c{number}", "write_file", arguments),))


@pytest.fixture
def edits(workspace, tmp_path):
    return FileEdits(
        Workspace.open(workspace, home=tmp_path / "home"), EditHistory(tmp_path / "home", lambda: "talk")
    )


@pytest.fixture
def propose(edits):
    by_name = {each.name: each for each in file_tools(edits)}
    return lambda name, **arguments: by_name[name].run(arguments)


def test_an_agent_without_anybody_to_ask_writes_nothing(make_agent, workspace):
    (workspace / "notes.txt").write_text("old\n")
    with Upstream([write("notes.txt", "new\n"), Reply("ok")]) as up:
        events = list(make_agent(up).run("write it"))
    [finished] = [event for event in events if isinstance(event, ToolFinished)]
    assert finished.is_error
    assert "did not allow" in finished.text
    assert (workspace / "notes.txt").read_text() == "old\n"


def test_the_question_shows_a_diff_and_what_is_at_stake(make_agent, workspace, play):
    (workspace / "notes.txt").write_text("one\ntwo\nthree\n")
    with Upstream([write("notes.txt", "one\n2\nthree\n"), Reply("ok")]) as up:
        events = play(make_agent(up), "write it")
    [asked] = [event for event in events if isinstance(event, ApprovalRequested)]
    assert asked.risk is Risk.EDIT
    assert asked.preview == "notes.txt: 1 line added, 1 removed\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three"
    assert (workspace / "notes.txt").read_text() == "one\n2\nthree\n"


def test_a_ready_answer_allows_plain_edits_alone(make_agent, workspace):
    script = [write("a.txt", "a"), write(".envrc", "b", 2), Reply("ok")]
    with Upstream(script) as up:
        list(make_agent(up, approve=allow_edits).run("write them"))
    assert sorted(each.name for each in workspace.iterdir()) == ["a.txt"]


def test_a_ready_answer_allows_everything_but_version_control(make_agent, workspace):
    (workspace / ".git").mkdir()
    script = [write(".envrc", "b"), write(".git/config", "c", 2), Reply("ok")]
    with Upstream(script) as up:
        list(make_agent(up, approve=allow_everything).run("write them"))
    assert (workspace / ".envrc").read_text() == "b"
    assert not list((workspace / ".git").iterdir())


@pytest.mark.parametrize(
    "path",
    [
        ".git/hooks/pre-commit",
        ".git/config",
        "sub/.git/config",
        ".GIT/config",
        ".git./config",
        ".g\u200cit/config",
        ".git",
        "link/config",
        ".hg/hgrc",
        "bare/config",
    ],
)
def test_version_control_is_refused_before_anybody_is_asked(path, propose, workspace):
    (workspace / ".git").mkdir()
    (workspace / "link").symlink_to(workspace / ".git")
    for part in ("objects", "refs"):
        (workspace / "bare" / part).mkdir(parents=True)
    (workspace / "bare" / "HEAD").write_text("ref: refs/heads/main\n")
    with pytest.raises(ToolFailed):
        propose("write_file", path=path, content="x")


@pytest.mark.parametrize(
    "path",
    [
        ".envrc",
        ".vscode/tasks.json",
        ".idea/workspace.xml",
        ".github/workflows/ci.yml",
        ".gitlab-ci.yml",
        ".bashrc",
        "AGENTS.md",
        "docs/CLAUDE.md",
        "claude.local.md",
        "Jenkinsfile",
        "sitecustomize.py",
        "lib/evil.pth",
        "shadow/HEAD",
        ".husky/pre-commit",
    ],
)
def test_files_that_programs_run_or_agents_obey_are_guarded(path, propose):
    assert propose("write_file", path=path, content="x").risk is Risk.GUARDED_EDIT


@pytest.mark.parametrize("path", ["notes.txt", "src/app.py", "README.md", "agents/list.md", "header"])
def test_other_files_are_plain(path, propose):
    assert propose("write_file", path=path, content="x").risk is Risk.EDIT


def test_nothing_is_written_before_the_yes(propose, workspace):
    proposal = propose("write_file", path="a/b.txt", content="x")
    assert list(workspace.iterdir()) == []
    proposal.run()
    assert (workspace / "a" / "b.txt").read_text() == "x"


def test_a_file_that_changed_during_the_question_is_left_alone(propose, workspace):
    (workspace / "a.txt").write_text("one")
    proposal = propose("edit_file", path="a.txt", old_string="one", new_string="two")
    (workspace / "a.txt").write_text("one, by somebody else")
    with pytest.raises(ToolFailed, match="changed by somebody else"):
        proposal.run()
    assert (workspace / "a.txt").read_text() == "one, by somebody else"


def test_an_edit_is_taken_back(propose, edits, workspace):
    file = workspace / "a.txt"
    file.write_bytes(b"one\r\n\xc3\xa4")
    file.chmod(0o640)
    propose("write_file", path="a.txt", content="two").run()
    assert edits.undo().path == file
    assert file.read_bytes() == b"one\r\n\xc3\xa4"
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    with pytest.raises(NoEditToUndo):
        edits.undo()


def test_taking_back_a_new_file_removes_it(propose, edits, workspace):
    propose("write_file", path="new.txt", content="x").run()
    edits.undo()
    assert not (workspace / "new.txt").exists()


def test_edits_are_taken_back_one_by_one_or_by_file(propose, edits, workspace):
    for number in (1, 2):
        propose("write_file", path="a.txt", content=f"a{number}").run()
    propose("write_file", path="b.txt", content="b").run()
    edits.undo("a.txt")
    assert ((workspace / "a.txt").read_text(), (workspace / "b.txt").read_text()) == ("a1", "b")
    edits.undo()
    assert not (workspace / "b.txt").exists()


def test_work_of_the_user_since_the_edit_is_not_lost_unless_forced(propose, edits, workspace):
    (workspace / "a.txt").write_text("one")
    propose("write_file", path="a.txt", content="two").run()
    (workspace / "a.txt").write_text("three, by hand")
    with pytest.raises(FileChangedSince, match=r"a\.txt changed since"):
        edits.undo()
    assert (workspace / "a.txt").read_text() == "three, by hand"
    edits.undo(force=True)
    assert (workspace / "a.txt").read_text() == "one"


def test_versions_are_for_their_owner_alone(propose, tmp_path, workspace):
    (workspace / "a.txt").write_text("secret")
    propose("write_file", path="a.txt", content="two").run()
    [version] = (tmp_path / "home" / "edits" / "talk").iterdir()
    assert stat.S_IMODE(version.stat().st_mode) == 0o600
    assert stat.S_IMODE(version.parent.stat().st_mode) == 0o700


def test_versions_are_bounded_and_the_oldest_go(propose, edits, monkeypatch, workspace):
    monkeypatch.setattr("midfold.agent.edit_history.MAX_VERSIONS", 3)
    for number in range(6):
        propose("write_file", path="a.txt", content=str(number)).run()
        os.utime(edits.history.versions()[-1].file, (number, number))
    assert [version.before for version in edits.history.versions()] == [b"2", b"3", b"4"]


def test_an_edit_whose_version_cannot_be_kept_is_not_made(propose, tmp_path, workspace):
    (workspace / "a.txt").write_text("one")
    (tmp_path / "home").write_text("no folder")
    with pytest.raises(ToolFailed, match="cannot be kept"):
        propose("write_file", path="a.txt", content="two").run()
    assert (workspace / "a.txt").read_text() == "one"


def test_versions_are_out_of_bounds_for_tools(edits, tmp_path):
    bounds = Workspace.open(tmp_path, home=tmp_path / "home")
    FileEdits(bounds, edits.history).propose(tmp_path / "x.txt", None, "x", "done").run()
    with pytest.raises(ToolFailed, match="midfold's own store"):
        bounds.find("home/edits/talk/00000001.before")


def test_the_model_is_told_that_its_edit_was_taken_back(make_agent, workspace, play):
    with Upstream([write("a.txt", "x"), Reply("ok"), Reply("I see")]) as up:
        agent = make_agent(up)
        play(agent, "write it")
        assert agent.undo_edit() == "a.txt"
        play(agent, "go on")
        assert "The user took back the newest edit of a.txt" in json.dumps(up.requests[-1].json)
    assert agent.messages[-2].text.endswith("\n\ngo on")


def test_changes_of_a_conversation_are_told_from_its_beginning(propose, edits, workspace):
    (workspace / "a.txt").write_text("1\n")
    for number in (2, 3):
        propose("write_file", path="a.txt", content=f"{number}\n").run()
    propose("write_file", path="b.txt", content="b\n").run()
    assert edits.changes() == [
        "a.txt: 1 line added, 1 removed\n@@ -1 +1 @@\n-1\n+3",
        "b.txt: new file, 1 line\n+b",
    ]


def test_a_diff_shows_lines_around_and_counts_right():
    old = "".join(f"{number}\n" for number in range(1, 31))
    new = old.replace("\n5\n", "\nfive\n").replace("\n25\n", "\n")
    assert describe_change("x", old.encode(), new).split("\n") == [
        "x: 1 line added, 2 removed",
        "@@ -2,7 +2,7 @@",
        *[" 2", " 3", " 4", "-5", "+five", " 6", " 7", " 8"],
        "@@ -22,7 +22,6 @@",
        *[" 22", " 23", " 24", "-25", " 26", " 27", " 28"],
    ]


def test_an_end_without_a_newline_is_seen():
    assert describe_change("x", b"a\n", "a").split("\n")[1:] == ["-a", "+a\\ no newline at the end"]


def test_long_hostile_files_are_compared_in_no_time(monkeypatch):
    assert is_linear(lambda size: describe_change("x", b"a\nb\n" * size, "b\nc\n" * size), 50_000)
    assert diffs._MOST_COMPARED_LINES <= 2_000
