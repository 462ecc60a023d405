"""`midfold sessions export` and `import`, as a person runs them."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from midfold.config import find_home, load_settings
from midfold.config.home import open_own_store

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "tests" / "transcripts" / "codex-rollout.jsonl"
SECRET = "ghp" + "_" + "aB3dE5gH7jK9mN1pQ3sT5vX7zA9cE1gI3kM5"


@pytest.fixture
def put():
    """Writes a conversation; returns its id."""

    def putting(*texts, **facts):
        with open_own_store(load_settings(), synchronous="NORMAL") as opened:
            session = opened.create_session(dialect="openai_chat", **facts).id
            roles = ("user", "assistant")
            opened.append(session, [{"role": roles[n % 2], "content": text} for n, text in enumerate(texts)])
            return session

    return putting


@pytest.fixture
def file(tmp_path):
    """Writes a transcript of one message; returns its path."""

    def writing(name, text="hello"):
        path = tmp_path / name
        path.write_text(json.dumps({"messages": [{"role": "user", "content": text}]}))
        return path

    return writing


def test_export_and_import_go_through_files_and_pipes(run, put, tmp_path):
    session = put("hello", "good morning", title="Greetings", model="m")
    path = tmp_path / "out.json"
    status, out, err = run("sessions", "export", session, "-o", path)
    assert (status, out) == (0, "")
    assert "2 messages" in err
    assert path.stat().st_mode & 0o777 == 0o600
    assert run("sessions", "export", session)[1] == path.read_text("utf-8")
    run("sessions", "delete", session, "--yes")
    [imported] = json.loads(run("sessions", "import", path, "--json")[1])
    assert imported["session"]["title"] == "Greetings"
    assert "already here" in run("sessions", "import", path)[1]


def test_the_name_of_a_file_chooses_lines(run, put, tmp_path):
    session = put("hello", "good morning")
    run("sessions", "export", session, "-o", tmp_path / "out.jsonl")
    assert len((tmp_path / "out.jsonl").read_text().splitlines()) == 2
    row = json.loads(run("sessions", "export", session, "--format", "sharegpt")[1])
    assert [turn["from"] for turn in row["conversations"]] == ["human", "gpt"]


def test_a_folder_that_is_missing_is_named_and_no_temporary_file(run, put, tmp_path):
    status, _, err = run("sessions", "export", put("hello"), "-o", tmp_path / "nowhere" / "out.json")
    assert (status, err.strip().endswith("nowhere/out.json: No such file or directory")) == (2, True)


def test_bad_files_are_named_and_the_others_come_in(run, tmp_path, file):
    bad = [tmp_path / name for name in ("bad.json", "summary.jsonl")]
    bad[0].write_text("{")
    bad[1].write_text('{"type": "summary", "summary": "what it was about"}\n')
    status, out, err = run("sessions", "import", EXAMPLE, *bad, tmp_path / "missing.json", file("good.json"))
    assert status == 2
    assert "44 messages" in out
    assert "1 message " in out
    lines = err.splitlines()
    assert len(lines) == 3
    for line, name in zip(lines, ("bad.json", "summary.jsonl", "missing.json"), strict=True):
        assert line.startswith("midfold: ")
        assert name in line


def test_a_title_is_in_what_is_reported(run, file):
    [imported] = json.loads(run("sessions", "import", file("a.json"), "--title", "Mine", "--json")[1])
    assert imported["session"]["title"] == "Mine"


def test_what_is_reported_of_an_import_has_no_credential(run, file, monkeypatch):
    monkeypatch.setenv("MIDFOLD_STORE__REDACT", "false")
    out = run("sessions", "import", file("a.json"), "--title", f"with {SECRET}", "--json")[1]
    assert SECRET not in out
    assert json.loads(out)[0]["is_new"] is True


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="needs a shell")
def test_a_reader_who_has_seen_enough_does_not_end_the_import(file, tmp_path):
    files = " ".join(str(file(f"{number}.json", f"talk {number}")) for number in range(12))
    command = f"PYTHONUNBUFFERED=1 {sys.executable} -m midfold sessions import {files} | true"
    environment = {**os.environ, "MIDFOLD_HOME": str(tmp_path / "home")}
    subprocess.run(["bash", "-c", command], env=environment, check=True)
    with open_own_store(load_settings(), environment=environment) as store:
        assert len(store.sessions()) == 12


def test_a_full_store_says_so(run, monkeypatch):
    monkeypatch.setenv("MIDFOLD_STORE__QUOTA_BYTES", "100")
    status, _, err = run("sessions", "import", EXAMPLE)
    assert status == 2
    assert "quota of 100 bytes" in err


def test_an_export_never_takes_the_place_of_the_store(run, put):
    """The name of an output may be that of the store."""
    session = put("hello", "good morning")
    for name in ("sessions.db", "sessions.db-wal", "sessions.db-journal"):
        status, _, err = run("sessions", "export", session, "-o", find_home() / name)
        assert status != 0
        assert "own session store" in err
        assert len(err.strip().splitlines()) == 1
    assert run("sessions", "show", session)[0] == 0


def test_the_store_itself_is_no_file_to_import(run, put, tmp_path):
    """Reading it beside SQLite would take its locks away."""
    put("hello", "good morning")
    os.link(find_home() / "sessions.db", tmp_path / "backup.json")
    for path in (find_home() / "sessions.db", tmp_path / "backup.json"):
        status, _, err = run("sessions", "import", path)
        assert status == 2
        assert "belongs to midfold's own session store" in err


def test_an_import_brings_the_title_and_what_the_client_spent(run):
    status, out, _ = run("sessions", "import", ROOT / "tests" / "transcripts" / "claude-code-session.jsonl")
    assert status == 0
    _, told, _ = run("insights", "--days", "3650", "--json")
    assert f"{json.loads(told)['calls']} recorded call" in out


def test_a_second_import_says_so_where_the_line_is_short_and_counts_no_call_twice(run):
    run("sessions", "import", ROOT / "tests" / "transcripts" / "claude-code-session.jsonl")
    before = run("insights", "--days", "3650", "--json")[1]
    _, out, _ = run(
        "sessions", "import", ROOT / "tests" / "transcripts" / "claude-code-session.jsonl", columns=60
    )
    after = run("insights", "--days", "3650", "--json")[1]
    assert "already here" in out
    assert json.loads(after)["calls"] == json.loads(before)["calls"] > 0
