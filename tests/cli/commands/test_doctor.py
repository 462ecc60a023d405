"""`midfold doctor`: what is wrong is said, what is safe is mended, and nothing is lost by it."""

import contextlib
import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

import midfold
from midfold.cli.checkup.database import find_holders
from midfold.cli.checkup.findings import Severity
from midfold.config import find_home, load_settings
from midfold.config.home import STORE_FILE, open_own_store
from midfold.errors import StoreError
from midfold.store import Call, SessionKind, find_kept, open_store, replace_damaged
from midfold.store.sqlite.driver import driver
from midfold.testing import transcript
from midfold.tokens.usage import CanonicalUsage

PAGE_BYTES = 4_096


@pytest.fixture
def path():
    """The file of the store."""
    return find_home() / STORE_FILE


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    """The file of a store with some conversations, one of them folded, and what each of them says."""
    path = tmp_path_factory.mktemp("template") / STORE_FILE
    with open_store(path, synchronous="NORMAL") as store:
        for number in range(8):
            items = transcript(turns=12, seed=number, last="go on")
            session = store.create_session(title=f"conversation {number}").id
            store.append(session, items)
            store.record_call(session, Call(CanonicalUsage(input_tokens=100 + number), "m"))
            if number == 3:
                result = midfold.compress(items, max_tokens=4_000, strategy="fold")
                store.continue_session(session, result.messages, result)
        said = said_in(store)
    return path.read_bytes(), said


@pytest.fixture
def filled(template, path):
    """Puts that store in its place; returns what it says."""
    data, said = template
    path.parent.mkdir(mode=0o700)
    path.write_bytes(data)
    path.chmod(0o600)
    return said


def said_in(store):
    return {
        session.conversation_id: [record.item for record in store.history(session.id)]
        for session in store.sessions(limit=1_000)
    }


def told(run, *options):
    status, out, err = run("doctor", "--json", *options)
    assert err == ""
    return status, json.loads(out)


def bad(report):
    return [finding for finding in report["findings"] if finding["level"] == Severity.PROBLEM]


def overwrite(path, offset, data):
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(data)


def sql(path, *statements):
    connection = driver.connect(str(path), isolation_level=None)
    for statement in statements:
        connection.execute(statement)
    connection.close()


def test_without_anything_all_is_well(run):
    status, out, err = run("doctor")
    assert (status, err) == (0, "")
    assert "all is well" in out
    assert not find_home().exists()


def test_a_sound_store_is_told_in_figures(run, filled):
    status, out, _ = run("doctor")
    assert status == 0
    for words in (
        "integrity, index, sequences and chains are sound",
        "9 sessions",
        "schema",
        "free on its disk",
    ):
        assert words in out


def test_what_is_open_to_others_is_said_and_made_private(run, filled, path):
    path.chmod(0o644)
    path.parent.chmod(0o755)
    status, report = told(run)
    assert status == 1
    assert "others may use" in bad(report)[0]["text"]
    status, report = told(run, "--fix")
    assert (status, len(report["fixed"])) == (0, 1)
    assert [each.stat().st_mode & 0o777 for each in (path, path.parent)] == [0o600, 0o700]


def test_a_store_elsewhere_is_looked_at_too(run, filled, path, monkeypatch, tmp_path):
    elsewhere = tmp_path / "elsewhere.db"
    path.rename(elsewhere)
    elsewhere.chmod(0o644)
    monkeypatch.setenv("MIDFOLD_STORE__URL", f"sqlite:///{elsewhere}")
    assert told(run, "--fix")[0] == 0
    assert elsewhere.stat().st_mode & 0o777 == 0o600


@pytest.mark.skipif(os.geteuid() != 0, reason="only the superuser can give files away")
def test_a_file_of_another_user_is_a_problem_that_stays(run, filled, path):
    os.chown(path, 12345, -1)
    status, report = told(run, "--fix")
    assert status == 1
    assert "another user owns sessions.db" in bad(report)[0]["text"]


def test_files_that_a_killed_process_left_go_and_young_ones_stay(run, filled, path):
    names = (".sessions.db.probe-77-7f3a", ".learnt_limits.json.a1b2c3d_", f"pins/.{'0a' * 16}.json.xyz_1234")
    left = [path.parent / name for name in names]
    young = path.with_name(".sessions.db.probe-78-7f3a")
    (path.parent / "pins").mkdir(mode=0o700)
    for each in (*left, young):
        each.touch(0o600)
    for each in left:
        os.utime(each, (time.time() - 7_200,) * 2)
    status, report = told(run, "--fix")
    assert status == 0
    assert "removed" in report["fixed"][0]
    assert [each.exists() for each in (*left, young)] == [False, False, False, True]


def test_pins_that_an_earlier_version_left_are_no_problem(run, filled, path):
    (path.parent / "pins").mkdir(mode=0o700)
    (path.parent / "pins" / f"{'0a' * 16}.json").touch(0o600)
    status, report = told(run)
    assert (status, bad(report)) == (0, [])


def test_bad_settings_are_problems(run, monkeypatch):
    monkeypatch.setenv("MIDFOLD_COMPRESSION__THRESHOLD", "5")
    status, report = told(run)
    assert status == 1
    assert "compression.threshold" in bad(report)[0]["text"]


def test_a_store_url_that_names_none_is_a_problem(run, monkeypatch):
    monkeypatch.setenv("MIDFOLD_STORE__URL", "mysql://host/db")
    status, report = told(run)
    assert status == 1
    assert bad(report)[0]["area"] == "store"


def test_an_index_that_lost_messages_is_made_anew(run, filled, path):
    sql(path, "DELETE FROM message_words_docsize WHERE id < 20")
    status, report = told(run)
    assert status == 1
    assert "search index" in bad(report)[0]["text"]
    status, report = told(run, "--fix")
    assert (status, "anew" in report["fixed"][0]) == (0, True)
    with open_own_store(load_settings()) as store:
        assert said_in(store) == filled


def test_a_store_of_a_later_version_is_left_alone(run, filled, path):
    sql(path, "PRAGMA user_version = 9999")
    status, report = told(run, "--fix")
    assert (status, report["fixed"]) == (1, [])
    assert "upgrade midfold" in bad(report)[0]["text"]


def test_damage_to_what_can_be_made_again_loses_nothing(run, filled, path):
    """An index inside the file is damaged; every row can still be read."""
    connection = driver.connect(str(path))
    (root,) = connection.execute(
        "SELECT rootpage FROM sqlite_schema WHERE name = 'sqlite_autoindex_messages_1'"
    ).fetchone()
    connection.close()
    overwrite(path, (root - 1) * PAGE_BYTES, b"\xff" * 64)
    status, report = told(run)
    assert status == 1
    assert "damaged" in bad(report)[0]["text"]
    status, report = told(run, "--fix")
    assert status == 0, report
    assert "nothing was lost" in report["fixed"][0]
    with open_own_store(load_settings()) as store:
        assert said_in(store) == filled
        assert len(store.folds()) == 1
        assert store.usage().input_tokens == sum(range(100, 108))
    [kept] = find_kept(path)
    assert kept.read_bytes()[(root - 1) * PAGE_BYTES :][:64] == b"\xff" * 64


def test_damaged_messages_cost_only_themselves(run, filled, path):
    connection = driver.connect(str(path))
    pages = (
        connection.execute(
            "SELECT pageno FROM dbstat WHERE name = 'messages' AND pagetype = 'leaf' ORDER BY pageno"
        ).fetchall()
        if _has_dbstat(connection)
        else [(40,)]
    )
    connection.close()
    overwrite(path, (pages[len(pages) // 2][0] - 1) * PAGE_BYTES, bytes(PAGE_BYTES))
    status, report = told(run, "--fix")
    assert status == 0, report
    assert "could not be read" in report["fixed"][0]
    with open_own_store(load_settings()) as store:
        saved = said_in(store)
        assert store.check() == []
        assert saved.keys() == filled.keys()
        assert {name: len(items) for name, items in saved.items()} == {
            name: len(items) for name, items in filled.items()
        }
        pairs = [
            (item, was)
            for name, items in saved.items()
            for item, was in zip(items, filled[name], strict=True)
        ]
        changed = [item for item, was in pairs if item != was]
        assert 0 < len(changed) <= 20
        assert all("damaged" in item["content"] for item in changed)
        assert len(store.folds()) == 1
        assert store.usage().input_tokens == sum(range(100, 108))


def _has_dbstat(connection):
    try:
        connection.execute("SELECT 1 FROM dbstat LIMIT 1").fetchone()
    except driver.Error:
        return False
    return True


@pytest.mark.parametrize("seed", range(8))
def test_whatever_is_damaged_the_doctor_neither_crashes_nor_deletes(filled, path, seed):
    chance = random.Random(seed)
    whole = path.read_bytes()
    for _ in range(chance.randint(1, 3)):
        length = chance.randint(1, 4_096)
        offset = chance.randrange(0, len(whole) - length) if seed else 0
        overwrite(path, offset, chance.randbytes(length))
    damaged = path.read_bytes()
    replaced = replace_damaged(path)
    assert replaced.kept_as.read_bytes() == damaged
    assert not list(path.parent.glob(".*rescued*"))
    with open_own_store(load_settings()) as store:
        assert store.check() == []
        for conversation, items in said_in(store).items():
            assert len(items) <= len(filled.get(conversation, items))


def test_damage_is_one_line_and_one_problem(run, filled, path):
    """SQLite tells it on several lines, and nothing is written to a damaged file: one cause of both."""
    overwrite(path, path.stat().st_size // 2, b"\xff" * 3 * PAGE_BYTES)
    findings = told(run)[1]["findings"]
    [damage] = [each for each in findings if each["area"] == "store" and each["level"] != Severity.OK]
    assert "damaged" in damage["text"]
    assert not set("\n\N{REPLACEMENT CHARACTER}") & set(damage["text"])


def test_a_branch_whose_beginning_cannot_be_read_says_all_that_its_parent_says(run, filled, path):
    with open_own_store(load_settings()) as store:
        branch = store.create_session(kind=SessionKind.BRANCH, parent_id=next(iter(filled))).id
    connection = driver.connect(str(path))
    (root,) = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'ranges'").fetchone()
    connection.close()
    overwrite(path, (root - 1) * PAGE_BYTES, b"\xff" * PAGE_BYTES)
    [done] = told(run, "--fix")[1]["fixed"]
    assert "folds are undone in 2 sessions" in done
    with open_own_store(load_settings()) as store:
        assert store.messages(branch) == filled[next(iter(filled))]


def test_a_file_that_is_no_database_is_moved_aside(run, path):
    path.parent.mkdir(mode=0o700)
    path.write_bytes(b"this is no database" * 1_000)
    path.chmod(0o600)
    status, report = told(run, "--fix")
    assert status == 0
    assert "saved 0 messages" in report["fixed"][0]
    [kept] = find_kept(path)
    assert kept.read_bytes() == b"this is no database" * 1_000


@pytest.fixture
def holder(path):
    """Another process that has the store open."""
    code = "import sys; file = open(sys.argv[1], 'rb'); print('open', flush=True); sys.stdin.read()"
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    process.stdout.readline()
    yield process
    process.communicate("")


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="no /proc to look into")
def test_a_store_in_use_is_said_and_not_replaced(run, filled, path, holder):
    assert [each.pid for each in find_holders([path])] == [holder.pid]
    assert f"process {holder.pid}" in run("doctor")[1]
    overwrite(path, 0, b"\xff" * 100)
    status, report = told(run, "--fix")
    assert (status, report["fixed"]) == (1, [])
    assert str(holder.pid) in bad(report)[0]["advice"]
    assert path.exists()


def test_output_that_messages_mention_and_is_gone_is_said(run):
    with open_own_store(load_settings()) as store:
        session = store.create_session().id
        mention = f'<persisted-output reference="terminal-{"0a" * 16}">'
        store.append(session, {"role": "user", "content": mention})
    status, report = told(run)
    assert status == 0
    assert any("messages mention 1 output no longer kept" in each["text"] for each in report["findings"])


def test_a_rescue_of_nothing_leaves_a_store_that_works(path):
    path.parent.mkdir(mode=0o700)
    path.write_bytes(b"SQLite format 3\0" + b"\xff" * 5_000)
    replace_damaged(path)
    with contextlib.suppress(StoreError), open_own_store(load_settings()) as store:
        assert store.check() == []
        assert store.sessions() == []
