"""What `midfold doctor --fix` must leave alone: files of the person, and output of another store."""

import json
import os
import time
from pathlib import Path

import pytest

from midfold.cli.checkup.findings import Severity
from midfold.config import find_home, load_settings
from midfold.config.home import OUTPUT_FOLDER, STORE_FILE, open_own_outputs, open_own_store
from midfold.offload import FileSink
from midfold.store import read_facts

DAY = 86_400


@pytest.fixture
def home():
    """A home with a store of one conversation."""
    with open_own_store(load_settings(), synchronous="NORMAL") as store:
        store.append(store.create_session(session_id="known").id, {"role": "user", "content": "hello"})
    return find_home()


@pytest.fixture
def outputs(home):
    """The sink of the store in the home."""
    with open_own_store(load_settings(), synchronous="NORMAL") as store:
        return open_own_outputs(store)


def age(path, days=2):
    os.utime(path, (time.time() - days * DAY,) * 2)


def keep(outputs, session):
    """Put something aside for a session, long ago; returns its file."""
    writing = outputs.session(session)
    path = Path(writing.path_of(writing.write("call", f"what {session} printed" * 100)))
    age(path)
    return path


def mend(run):
    status, out, err = run("doctor", "--fix", "--json")
    assert err == ""
    return status, json.loads(out)


@pytest.mark.parametrize(
    "name",
    [
        ".gitlab-ci.yml",
        ".env.local",
        ".config.yaml.original",
        ".MEMORY.md.original",
        ".sessions.db.probe-mine",
        ".sessions.db.probe-12",
        ".sessions.db.rescued",
        ".sessions.db.backup",
        ".other.db.probe-12-7f",
        ".tmp-0123456789abcdef",
        "plugins/.pre-commit-config.yaml",
        "plugins/.learnt_limits.json.a1b2c3d4",
        f"{OUTPUT_FOLDER}/.tmp-notes",
        f"{OUTPUT_FOLDER}/notes/mine/.tmp-0123456789abcdef",
        f"{OUTPUT_FOLDER}/notes/mine/report.txt",
    ],
)
def test_files_that_are_not_ours_stay(run, home, name):
    path = home / name
    for folder in reversed([path.parent, *path.parent.parents]):
        folder.mkdir(mode=0o700, exist_ok=True)
    path.write_text("my own words")
    age(path, days=400)
    assert mend(run)[1]["fixed"] == []
    assert path.read_text() == "my own words"


@pytest.mark.skipif(os.name != "posix", reason="no modes")
def test_files_that_are_not_ours_keep_their_modes(run, home):
    hook, readable = home / "plugins" / "hook.sh", home / "notes.md"
    hook.parent.mkdir(mode=0o755)
    for path, mode in ((hook, 0o775), (readable, 0o644)):
        path.touch()
        path.chmod(mode)
    status, report = mend(run)
    assert (status, report["fixed"]) == (0, [])
    assert [path.stat().st_mode & 0o777 for path in (hook, readable)] == [0o775, 0o644]
    [told] = [each for each in report["findings"] if each["level"] == Severity.WARN]
    assert "others may write to hook.sh" in told["text"]


@pytest.mark.skipif(os.name != "posix", reason="no modes")
def test_what_is_made_private_keeps_what_its_owner_may_do(run, home):
    modes = {"config.yaml": 0o755, "MEMORY.md": 0o444, "chat_history": 0o666}
    for name, mode in modes.items():
        (home / name).touch()
        (home / name).chmod(mode)
    assert mend(run)[0] == 0
    assert [(home / name).stat().st_mode & 0o777 for name in modes] == [0o700, 0o400, 0o600]


def test_output_without_a_session_goes_after_a_day_and_other_output_stays(run, outputs):
    gone, known = keep(outputs, "long gone"), keep(outputs, "known")
    young = keep(outputs, "just begun")
    age(young, days=0)
    report = json.loads(run("doctor", "--json")[1])
    assert any("1 session no longer in the store" in each["text"] for each in report["findings"])
    _, report = mend(run)
    assert report["fixed"] == ["removed 1 file of sessions that are no longer in the store"]
    assert [path.exists() for path in (gone, known, young)] == [False, True, True]
    assert not gone.parent.exists()


def test_half_written_output_goes_after_an_hour(run, outputs):
    folder = keep(outputs, "known").parent
    left, young, mine = (folder / name for name in (f".tmp-{'0a' * 8}", f".tmp-{'0b' * 8}", ".tmp-mine"))
    for path in (left, young, mine):
        path.touch(0o600)
    age(left)
    age(mine)
    assert mend(run)[1]["fixed"] == ["removed 1 file, half written"]
    assert [path.exists() for path in (left, young, mine)] == [False, True, True]


@pytest.mark.parametrize("is_there", [True, False])
def test_output_of_another_store_stays(run, outputs, monkeypatch, tmp_path, is_there):
    path = keep(outputs, "known")
    forgotten = keep(outputs, "long gone")
    monkeypatch.setenv("MIDFOLD_STORE__URL", f"sqlite:///{tmp_path}/other.db")
    if is_there:
        open_own_store(load_settings()).close()
    assert mend(run)[1]["fixed"] == []
    assert path.exists()
    assert forgotten.exists()


def test_output_stays_while_its_store_is_missing(run, home, outputs):
    path = keep(outputs, "known")
    for part in home.glob(f"{STORE_FILE}*"):
        part.rename(part.with_name(f"moved-{part.name}"))
    assert mend(run)[1]["fixed"] == []
    open_own_store(load_settings()).close()
    assert mend(run)[1]["fixed"] == []
    assert path.exists()


def test_output_stays_while_its_store_is_damaged(run, home, outputs):
    path = keep(outputs, "long gone")
    with (home / STORE_FILE).open("r+b") as file:
        file.write(b"\xff" * 200)
    mend(run)
    assert path.exists()
    mend(run)  # the store in its place is another
    assert path.exists()


def test_output_that_no_store_claims_stays(run, home):
    path = keep(FileSink(home / OUTPUT_FOLDER), "long gone")
    assert mend(run)[1]["fixed"] == []
    assert path.exists()


@pytest.mark.parametrize(
    "words", ["<persisted-output reference={!r}>", "read {} again", '{{"reference":"{}"}}']
)
def test_output_that_a_message_mentions_stays(run, outputs, words):
    path = keep(outputs, "long gone")
    with open_own_store(load_settings()) as store:
        store.append("known", {"role": "user", "content": words.format(path.stem)})
    assert mend(run)[1]["fixed"] == []
    assert path.exists()


def test_a_store_has_one_id_wherever_it_is_moved(home, outputs, tmp_path):
    (home / STORE_FILE).rename(tmp_path / "moved.db")
    assert read_facts(tmp_path / "moved.db", 0.0).store_id == outputs.store
