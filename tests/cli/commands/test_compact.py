"""`midfold compact`, and what `inspect` and `compress` find where no file is named."""

import json
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
CLAUDE = ROOT / "tests" / "transcripts" / "claude-code-session.jsonl"
CODEX = ROOT / "tests" / "transcripts" / "codex-rollout.jsonl"
ID = "0a1b2c3d-0000-4000-8000-00000000000a"


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A folder in which Claude Code was used, as the current one."""
    home, folder = tmp_path / "home", tmp_path / "parking"
    folder.mkdir()
    name = "".join(letter if letter.isalnum() else "-" for letter in str(folder.resolve()))
    sessions = home / ".claude" / "projects" / name
    sessions.mkdir(parents=True)
    lines = [json.loads(line) for line in CLAUDE.read_text("utf-8").split("\n") if line]
    moved = [{**line, "cwd": str(folder.resolve())} if "cwd" in line else line for line in lines]
    (sessions / f"{ID}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in moved))
    for variable in ("CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def sessions(project):
    return next((project.parent / "home" / ".claude" / "projects").iterdir())


def test_inspect_without_a_file_takes_the_newest_session_and_says_which(run, project):
    status, out, err = run("inspect", "--json")
    title, path = err.splitlines()
    assert status == 0
    assert title.startswith("newest session of ")
    assert path.startswith("~/.claude/projects/"), (
        "a path under the home folder is written as people write it"
    )
    assert json.loads(out)["source"].endswith(f"{ID}.jsonl")


def test_compress_without_a_file_takes_it_too(run, project):
    status, out, err = run("compress", "--max-tokens", 900, "--plan")
    assert status == 0
    assert ID in err + out


def test_where_no_client_was_used_one_line_says_so(run, project, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    status, out, err = run("inspect")
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert "has no session of Claude Code or Codex" in err


def test_compact_writes_a_session_beside_the_original_and_prints_how_to_resume_it(run, project, sessions):
    original = sessions / f"{ID}.jsonl"
    before = original.read_bytes()
    status, _, err = run("compact", "--max-tokens", 900)
    [new] = [path for path in sessions.iterdir() if path != original]
    assert status == 0
    assert f"cd {project.resolve()} && claude --resume {new.stem}" in err.replace("\n", " ")
    assert original.read_bytes() == before


def test_a_compacted_session_is_smaller_and_can_be_read_and_compacted_again(run, project):
    first = json.loads(run("compact", "--max-tokens", 900, "--json")[1])
    told = json.loads(run("inspect", "--json")[1])
    assert told["source"] == first["path"]
    assert told["tokens"] <= 900 < first["tokens_before"]
    second = json.loads(run("compact", "--max-tokens", 500, "--json")[1])
    assert second["source"] == first["path"]


def test_a_session_that_is_small_already_is_left_alone(run, project, sessions):
    status, _, err = run("compact", "--max-tokens", 10**6)
    assert (status, len(list(sessions.iterdir()))) == (0, 1)
    assert "No changes" in err


def test_a_rollout_is_compacted_into_the_folder_of_the_day(run, project, tmp_path):
    status, out, _ = run("compact", CODEX, "--max-tokens", 900, "--json")
    told = json.loads(out)
    assert status == 0
    assert Path(told["path"]).is_relative_to(tmp_path / "home" / ".codex" / "sessions")
    assert "codex resume " in told["resume"]


def test_what_no_client_can_resume_is_refused_in_one_line(run, project):
    status, _, err = run("compact", ROOT / "examples" / "transcripts" / "parking-meter.json")
    assert (status, err.count("\n")) == (2, 1)
    assert "it is no session of Claude Code or Codex" in err


def test_compress_writes_a_session_where_the_output_looks_like_one(run, project, tmp_path):
    out = tmp_path / f"{ID[:-1]}b.jsonl"
    status, _, err = run("compress", CLAUDE, "--max-tokens", 900, "-o", out)
    lines = [json.loads(line) for line in out.read_text("utf-8").splitlines()]
    assert status == 0
    assert {line["sessionId"] for line in lines} == {out.stem}
    assert "to resume it, copy it to " in err


def test_compress_writes_messages_where_they_are_asked_for(run, project, tmp_path):
    out = tmp_path / "out.jsonl"
    run("compress", CLAUDE, "--max-tokens", 900, "-o", out, "--as", "messages")
    assert isinstance(json.loads(out.read_text("utf-8")), list)


@pytest.mark.parametrize("form", ["messages", "session"])
def test_the_session_itself_is_no_place_to_write_to(run, project, tmp_path, form):
    own = tmp_path / "own.jsonl"
    shutil.copy(CLAUDE, own)
    status, _, err = run("compress", own, "--max-tokens", 900, "-o", own, "--as", form)
    assert (status, own.read_bytes()) == (2, CLAUDE.read_bytes())
    assert "another file than the transcript itself" in err


def test_several_files_are_inspected_on_a_line_each(run, project):
    status, out, _ = run("inspect", CLAUDE, CODEX)
    assert (status, len(out.splitlines())) == (0, 3)
    assert CLAUDE.name in out
    assert len(json.loads(run("inspect", CLAUDE, CODEX, "--json")[1])) == 2


def test_a_file_among_several_that_cannot_be_read_is_named_and_the_others_are_shown(run, project, tmp_path):
    bad = tmp_path / "bad.json"
    bad.write_text("{")
    status, out, err = run("inspect", bad, CODEX)
    assert status == 2
    assert "bad.json" in err
    assert CODEX.name in out


def test_a_folder_stands_for_its_transcripts_or_its_newest_session(run, project, tmp_path):
    folder = tmp_path / "some"
    folder.mkdir()
    for file in (CLAUDE, CODEX):
        shutil.copy(file, folder)
    assert len(json.loads(run("inspect", folder, "--json")[1])) == 2
    assert json.loads(run("inspect", project, "--json")[1])["source"].endswith(f"{ID}.jsonl")


def test_several_files_are_compressed_into_a_folder_and_nowhere_else(run, project, tmp_path):
    folder = tmp_path / "out"
    status, _, err = run("compress", CLAUDE, CODEX, "--max-tokens", 900)
    assert status == 2
    assert "-o FOLDER" in err
    folder.mkdir()
    status, _, _ = run("compress", CLAUDE, CODEX, "--max-tokens", 900, "-o", folder)
    assert (status, len(list(folder.iterdir()))) == (0, 2)
