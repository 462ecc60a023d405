"""Sessions of clients on this machine: the newest of a folder is found, and no file is written over."""

import json
import os
from pathlib import Path

import pytest

import midfold
from midfold.client_sessions import (
    ClientHomes,
    choose_path,
    find_newest_session,
    list_session_files,
    make_session_id,
    save_session,
)
from midfold.errors import UnreadableTranscript
from midfold.transcripts import load_transcript
from midfold.wire.session_files import CLIENTS

ROLLOUT = Path(__file__).parent / "transcripts" / "codex-rollout.jsonl"


@pytest.fixture
def homes(tmp_path):
    (tmp_path / "home").mkdir()
    return ClientHomes({}, tmp_path / "home")


@pytest.fixture
def project(tmp_path):
    folder = tmp_path / "my_app.x"
    folder.mkdir()
    return folder.resolve()


def put(homes, kind, folder, *, age=0, words=True, session_id=None):
    """Write a small session of a client, changed so many seconds ago."""
    path = choose_path(CLIENTS[kind], str(folder), session_id or make_session_id(), homes)
    path.parent.mkdir(parents=True, exist_ok=True)
    message = {"role": "user", "content": [{"type": "input_text", "text": "hi"}]}
    if kind == "codex":
        lines = [{"type": "session_meta", "payload": {"id": "i", "cwd": str(folder)}}]
        lines += [{"type": "response_item", "payload": {"type": "message", **message}}] if words else []
    else:
        lines = [{"type": "queue-operation", "sessionId": "s"}]
        lines += [{"type": "user", "uuid": "u", "cwd": str(folder), "message": message}] if words else []
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    os.utime(path, (1_000_000 - age, 1_000_000 - age))
    return path


@pytest.mark.parametrize(("claude", "codex", "newest"), [(5, 9, "claude_code"), (9, 5, "codex")])
def test_the_session_that_was_changed_last_is_found_whosever_it_is(homes, project, claude, codex, newest):
    put(homes, "claude_code", project, age=claude)
    put(homes, "codex", project, age=codex)
    found = find_newest_session(project, homes)
    assert (found.client.format, found.folder) == (newest, str(project))


def test_sessions_of_other_folders_are_not_found(homes, project, tmp_path):
    put(homes, "codex", tmp_path / "other")
    put(homes, "claude_code", project.with_name("my-app-x"))  # the same name, once the client has written it
    assert find_newest_session(project, homes) is None


def test_a_session_without_a_message_is_passed_over(homes, project):
    older = put(homes, "claude_code", project, age=5)
    put(homes, "claude_code", project, words=False)
    assert find_newest_session(project, homes).path == older


def test_files_of_subagents_are_passed_over(homes, project):
    put(homes, "claude_code", project, session_id="agent-1")
    assert find_newest_session(project, homes) is None


def test_in_a_folder_below_the_session_of_the_project_is_found(homes, project):
    path = put(homes, "codex", project)
    below = project / "src" / "meter"
    below.mkdir(parents=True)
    assert find_newest_session(below, homes).path == path


def test_the_search_upwards_ends_at_the_home_folder(homes):
    put(homes, "codex", homes.home)
    below = homes.home / "work"
    below.mkdir()
    assert find_newest_session(below, homes) is None
    assert find_newest_session(homes.home, homes) is not None


def test_clients_whose_home_was_moved_are_found_there(homes, project, tmp_path):
    moved = ClientHomes({"CODEX_HOME": str(tmp_path / "moved")}, homes.home)
    path = put(moved, "codex", project)
    assert path.is_relative_to(tmp_path / "moved")
    assert find_newest_session(project, moved).path == path


def test_a_file_that_is_no_json_hides_no_other(homes, project):
    good = put(homes, "codex", project, age=5)
    put(homes, "codex", project).write_bytes(b"\xff not json")
    assert find_newest_session(project, homes).path == good


def test_the_files_of_a_client_s_own_folder_are_listed_newest_first(homes, project):
    older, newer = put(homes, "codex", project, age=9), put(homes, "codex", project, age=5)
    assert list_session_files(homes.home / ".codex" / "sessions", homes) == [newer, older]
    assert list_session_files(project, homes) == []


def test_a_session_is_never_written_over(homes, project):
    loaded = load_transcript(ROLLOUT)
    result = midfold.compress(loaded.request.messages, max_tokens=900)
    path = put(homes, "codex", project)
    before = path.read_bytes()
    with pytest.raises(UnreadableTranscript, match="never written over"):
        save_session(CLIENTS["codex"], loaded.session, result, path, session_id=make_session_id())
    assert path.read_bytes() == before


def test_a_new_session_is_the_newest_of_its_folder_and_is_for_its_owner_alone(homes, tmp_path):
    loaded = load_transcript(ROLLOUT)
    result = midfold.compress(loaded.request.messages, max_tokens=900)
    new = make_session_id()
    path = choose_path(CLIENTS["codex"], loaded.session.facts.folder, new, homes)
    written = save_session(CLIENTS["codex"], loaded.session, result, path, session_id=new)
    assert find_newest_session(Path(loaded.session.facts.folder), homes).path == written.path
    assert written.command == ("codex", "resume", new)
    assert written.path.stat().st_mode & 0o077 == 0
