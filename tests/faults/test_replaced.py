"""A store whose files are replaced under it says so, stops, and loses nothing that it acknowledged."""

import os
import shutil
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from midfold.errors import StoreReplaced
from midfold.store import open_store
from midfold.store.sqlite.file_identity import DatabaseFiles


def say(words):
    return {"role": "user", "content": words}


def said(path, session="s"):
    with open_store(path) as store:
        return [item["content"] for item in store.messages(session)]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "home" / "sessions.db"


@pytest.fixture
def store(path):
    store = open_store(path)
    store.create_session(session_id="s", dialect="openai_chat")
    for number in range(20):
        store.append("s", say(f"turn {number}"))
    return store


TURNS = [f"turn {number}" for number in range(20)]


def remove_log(path):
    path.with_name("sessions.db-wal").unlink()


def remove_index(path):
    path.with_name("sessions.db-shm").unlink()


def move_index_copy_over(path):
    copy = path.with_name("copy")
    subprocess.run(["cp", f"{path}-shm", copy], check=True)  # closing it here would drop our locks
    copy.replace(path.with_name("sessions.db-shm"))


def remove_all(path):
    for part in path.parent.iterdir():
        part.unlink()


def move_copy_over(path):
    shutil.copy(path, path.with_name("copy"))
    path.with_name("copy").replace(path)


def move_away(path):
    path.rename(path.with_name("elsewhere.db"))


def move_folder(path):
    path.parent.rename(path.parent.with_name("moved"))


def exchange_folder(path):
    shutil.copytree(path.parent, path.parent.with_name("copy"))
    move_folder(path)
    path.parent.with_name("copy").rename(path.parent)


ALL = [
    remove_log,
    remove_index,
    move_index_copy_over,
    remove_all,
    move_copy_over,
    move_away,
    move_folder,
    exchange_folder,
]


@pytest.mark.parametrize("replace", ALL)
def test_nothing_is_written_after_the_files_were_replaced(replace, store, path):
    replace(path)
    for _ in range(2):
        with pytest.raises(StoreReplaced, match="end every process") as told:
            store.append("s", say("lost"))
        assert told.value.path == str(path)
    assert not store.status.may_write
    with pytest.raises(StoreReplaced):
        store.close()


@pytest.mark.parametrize("replace", ALL)
def test_what_was_acknowledged_is_found_somewhere_after_the_files_were_replaced(replace, store, path):
    replace(path)
    with pytest.raises(StoreReplaced) as told:
        store.append("s", say("not acknowledged"))
    where = Path(told.value.kept_as) if told.value.kept_as else path.parent.with_name("moved") / path.name
    assert said(where)[: len(TURNS)] == TURNS


@pytest.mark.slow
@pytest.mark.parametrize("replace", [remove_index, move_index_copy_over])
def test_two_processes_with_different_indexes_of_the_log_do_not_overwrite_each_other(replace, store, path):
    replace(path)
    other = (
        "import sys; from midfold.store import open_store\n"
        "with open_store(sys.argv[1]) as store:\n"
        "    store.create_session(session_id='other', dialect='openai_chat')\n"
        "    for n in range(30): store.append('other', {'role': 'user', 'content': f'{n} ' + 'x' * 500})\n"
    )
    subprocess.run([sys.executable, "-c", other, str(path)], check=True)
    with pytest.raises(StoreReplaced):
        store.append("s", say("not acknowledged"))
    with pytest.raises(StoreReplaced):  # SQLite shares the old index with all connections of this process
        open_store(path)
    look = (
        "import sys; from midfold.store import open_store\n"
        "with open_store(sys.argv[1]) as store:\n"
        "    print(len(store.messages('s')), len(store.messages('other')), store.check())\n"
    )
    found = subprocess.run(
        [sys.executable, "-c", look, str(path)], check=True, capture_output=True, text=True
    )
    assert found.stdout.split() == ["20", "30", "[]"]


def test_the_copy_is_its_owners_alone_and_a_whole_store(store, path):
    remove_all(path)
    with pytest.raises(StoreReplaced) as told:
        store.append("s", say("x"))
    kept = Path(told.value.kept_as)
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    with open_store(kept) as copy:
        assert copy.check() == []


def test_a_store_that_is_idle_when_its_files_are_replaced_says_so_when_it_is_closed(store, path):
    remove_all(path)
    with pytest.raises(StoreReplaced) as told:
        store.close()
    assert said(told.value.kept_as) == TURNS


def test_a_copy_that_cannot_be_written_does_not_hide_what_happened(store, path):
    shutil.rmtree(path.parent)
    with pytest.raises(StoreReplaced) as told:
        store.append("s", say("x"))
    assert told.value.kept_as is None


def test_whoever_lost_the_log_leaves_that_of_the_successor_alone(store, path):
    """SQLite's last act on closing is to fold its log into the file and to remove the log by its name."""
    remove_log(path)
    path.with_name("sessions.db-wal").write_text("the successor's")
    with pytest.raises(StoreReplaced):
        store.close()
    assert path.with_name("sessions.db-wal").read_text() == "the successor's"


def test_a_process_that_ends_leaves_the_files_of_the_successor_alone(run_script, tmp_path):
    """At its end Python closes what nobody closed."""
    run_script(
        """
        import sys
        from pathlib import Path
        from midfold.errors import StoreReplaced
        from midfold.store import open_store
        folder = Path(sys.argv[1]) / "home"
        store = open_store(folder / "s.db")
        session = store.create_session().id
        (folder / "s.db-wal").unlink()
        (folder / "s.db-wal").write_text("the successor's")
        try:
            store.append(session, {"role": "user", "content": "x"})
        except StoreReplaced as error:
            print(error)
        try:
            store.close()
        except StoreReplaced:
            del store
        """
    )
    assert (tmp_path / "home" / "s.db-wal").read_text() == "the successor's"


def test_a_write_that_is_under_way_when_the_files_are_replaced_is_not_acknowledged(store, path):
    def work(connection):
        connection.execute("UPDATE sessions SET title = 'x'")
        remove_all(path)

    with pytest.raises(StoreReplaced):
        store._database.write(work)


def test_a_reader_that_comes_later_reads_no_other_file(store, path):
    move_copy_over(path)
    with pytest.raises(StoreReplaced):
        store._database._open_reader(store._database._writer)
    with pytest.raises(StoreReplaced):
        store.close()


def test_an_idle_store_notices_within_a_moment(store, path):
    store.append("s", say("the last one"))
    remove_log(path)
    until = time.monotonic() + 10
    while store.status.may_write and time.monotonic() < until:
        threading.Event().wait(0.01)
    assert not store.status.may_write
    with pytest.raises(StoreReplaced) as told:
        store.close()
    assert said(told.value.kept_as) == [*TURNS, "the last one"]


def test_a_store_behind_a_link_is_known_by_what_the_link_leads_to(tmp_path):
    real, link = tmp_path / "real" / "s.db", tmp_path / "link.db"
    real.parent.mkdir()
    link.symlink_to(real)
    with open_store(link) as store:
        store.create_session(session_id="s")
        store.append("s", say("one"))
        assert store.status.may_write
    store = open_store(link)
    real.with_name("s.db-wal").unlink()
    with pytest.raises(StoreReplaced):
        store.append("s", say("two"))


def test_a_store_that_is_left_alone_is_never_taken_for_another(path):
    with open_store(path) as store:
        session = store.create_session().id
        for number in range(50):
            store.append(session, say(f"{number}"))
            with open_store(path) as other:  # comes and goes
                assert len(other.messages(session)) == number + 1
        path.chmod(0o600)
        store.rebuild_index()
    assert len(said(path, session)) == 50


def test_who_may_not_look_at_the_files_takes_them_for_the_same(tmp_path, monkeypatch):
    (tmp_path / "s.db").touch()
    files = DatabaseFiles(tmp_path / "s.db")

    def refuse(_path):
        raise PermissionError

    monkeypatch.setattr(os, "stat", refuse)
    files.check()
    files.check_before_answering()
    files.close()
