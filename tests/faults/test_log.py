"""The write-ahead log: what is missing from it is noticed and told, and it is rarely the only copy."""

import random
import shutil
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from midfold.store import Call, open_store
from midfold.store.sqlite import progress_mark
from midfold.store.sqlite import writer as sqlite_writer
from midfold.store.sqlite.driver import driver
from midfold.tokens.usage import CanonicalUsage

MESSAGE = {"role": "user", "content": "about the harbour office " * 20}
Crash = Callable[[], Path]


def wal(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")


@pytest.fixture
def crash(tmp_path: Path) -> Crash:
    """A store as a killed process leaves it: one session in the file, 40 appends in the log."""

    def crashing() -> Path:
        live, left = tmp_path / "live", tmp_path / "left"
        shutil.rmtree(left, ignore_errors=True)
        with open_store(live / "s.db", synchronous="NORMAL") as store:
            store.create_session(session_id="known", dialect="openai_chat")
            store.append("known", MESSAGE)
        store = open_store(live / "s.db", synchronous="NORMAL")
        for _ in range(40):
            store.append("known", MESSAGE)
        time.sleep(progress_mark.SECONDS_BETWEEN * 1.5)
        store.append("known", MESSAGE)
        shutil.copytree(live, left)
        store.close()
        shutil.rmtree(live)
        return left / "s.db"

    return crashing


def test_a_log_that_was_removed_is_told_when_the_store_is_opened(crash: Crash) -> None:
    path = crash()
    wal(path).unlink()
    with open_store(path) as store:
        assert store.status.warning
        assert "41 messages are missing" in store.status.warning
        assert store.status.may_write
        assert len(store.messages("known")) == 1


def test_what_is_missing_is_told_until_the_person_puts_it_away(crash: Crash) -> None:
    path = crash()
    wal(path).unlink()
    open_store(path).close()
    with open_store(path) as store:
        store.append("known", MESSAGE)
        assert "41 messages" in (store.status.warning or "")
        store.forget_loss()
        assert store.status.warning is None
    with open_store(path) as store:
        assert store.status.warning is None


def test_a_log_that_is_whole_raises_no_alarm(crash: Crash) -> None:
    path = crash()
    with open_store(path) as store:
        assert store.status.warning is None
        assert len(store.messages("known")) == 42


def test_a_damaged_log_is_told_wherever_it_is_hit(crash: Crash, rounds: int) -> None:
    """What is cut off of a log that was in use is noticed, or nothing is missing."""
    path, rng, told = crash(), random.Random(5), 0
    files = {each.name: each.read_bytes() for each in path.parent.iterdir()}
    for _ in range(max(20, rounds)):
        for name, data in files.items():
            (path.parent / name).write_bytes(data)
        path.with_name("s.db-shm").unlink()
        log = bytearray(files["s.db-wal"])
        start = rng.randrange(len(log))
        stop = min(len(log), start + rng.randint(1, 4_096))
        log[start:stop] = rng.randbytes(stop - start)
        wal(path).write_bytes(log if rng.random() < 0.8 else log[:start])
        with open_store(path, synchronous="NORMAL") as store:
            count = len(store.records("known"))
            assert (count < 42) == (store.status.warning is not None)
            told += count < 42
    assert told > 10


@pytest.mark.slow
@pytest.mark.parametrize("number", range(4))
def test_a_killed_process_and_a_deletion_raise_no_alarm(tmp_path: Path, number: int) -> None:
    """Kill -9 at any moment, also right after the newest rows were deleted and their numbers used again."""
    code = """
        import os, signal, sys
        from midfold.store import open_store
        store = open_store(sys.argv[1], synchronous="NORMAL")
        for round in range(400):
            session = store.create_session(dialect="openai_chat").id
            store.append(session, [{"role": "user", "content": "words"}] * 3)
            print(round, flush=True)
            if round % 3 == 1:
                store.delete(session)
    """
    path = tmp_path / "s.db"
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code), str(path)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout
    for _ in range(20 + 7 * number):
        process.stdout.readline()
    process.kill()
    process.communicate()
    with open_store(path) as store:
        assert store.status.warning is None


def test_a_deletion_that_is_missing_is_told(tmp_path: Path) -> None:
    live, left = tmp_path / "live", tmp_path / "left"
    with open_store(live / "s.db") as store:
        store.append(store.create_session(session_id="gone", dialect="openai_chat").id, MESSAGE)
    with open_store(live / "s.db") as store:
        store.delete("gone")
        time.sleep(progress_mark.SECONDS_BETWEEN * 1.5)
        store.create_session()
        shutil.copytree(live, left)
    wal(left / "s.db").unlink()
    with open_store(left / "s.db") as store:
        assert "what was deleted last may be back" in (store.status.warning or "")


def test_usage_and_sessions_that_are_missing_are_told(tmp_path: Path) -> None:
    live, left = tmp_path / "live", tmp_path / "left"
    open_store(live / "s.db").close()
    with open_store(live / "s.db") as store:
        session = store.create_session().id
        time.sleep(progress_mark.SECONDS_BETWEEN * 1.5)
        store.record_call(session, Call(CanonicalUsage(input_tokens=7), "m", id="c"))
        shutil.copytree(live, left)
    wal(left / "s.db").unlink()
    with open_store(left / "s.db") as store:
        assert "1 session, 1 call are missing" in (store.status.warning or "")


@pytest.mark.parametrize("content", [b"", b"nonsense", b"\xff" * 500, None])
def test_a_mark_that_cannot_be_read_says_nothing(crash: Crash, content: bytes | None) -> None:
    path = crash()
    wal(path).unlink()
    mark = path.with_name("s.db.mark")
    if content is None:
        mark.unlink()
    else:
        mark.write_bytes(content)
    with open_store(path) as store:
        assert store.status.warning is None


def test_the_mark_of_another_store_says_nothing(crash: Crash, tmp_path: Path) -> None:
    path, other = crash(), tmp_path / "other" / "s.db"
    open_store(other).close()
    shutil.copy(path.with_name("s.db.mark"), other.with_name("s.db.mark"))
    with open_store(other) as store:
        assert store.status.warning is None


def test_the_mark_is_its_owners_alone(crash: Crash) -> None:
    assert crash().with_name("s.db.mark").stat().st_mode & 0o777 == 0o600


def read_file_alone(path: Path) -> int:
    """Count the messages that are in the file itself, without its log."""
    copy = path.with_name("alone.db")
    # Another process copies it: to open and close the file in this one would drop SQLite's locks.
    subprocess.run(["cp", path, copy], check=True)
    connection = driver.connect(f"file:{copy}?immutable=1", uri=True)
    try:
        return int(connection.execute("SELECT count(*) FROM messages").fetchone()[0])
    except driver.Error:
        return 0  # not even the tables are there yet
    finally:
        connection.close()
        copy.unlink()


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let it be quiet sooner."""
    monkeypatch.setattr(sqlite_writer, "_IDLE_SECONDS", 0.02)
    monkeypatch.setattr(sqlite_writer, "_REST_SECONDS", 0.02)


@pytest.mark.usefixtures("quick")
def test_what_was_written_is_in_the_file_itself_soon_after_writing_stops(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    with open_store(path, synchronous="NORMAL") as store:
        session = store.create_session(dialect="openai_chat").id
        for _ in range(20):
            store.append(session, MESSAGE)
        until = time.monotonic() + 5
        while read_file_alone(path) < 20:
            assert time.monotonic() < until
            time.sleep(0.02)


@pytest.mark.usefixtures("quick")
def test_a_reader_that_holds_on_keeps_nobody_from_writing(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    with open_store(path, synchronous="NORMAL") as store:
        session = store.create_session(dialect="openai_chat").id
        store.append(session, MESSAGE)
        reader = driver.connect(str(path), isolation_level=None)
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM messages").fetchone()
        slowest = 0.0
        for _ in range(20):
            time.sleep(0.03)
            began = time.monotonic()
            store.append(session, MESSAGE)
            slowest = max(slowest, time.monotonic() - began)
        reader.close()
        assert slowest < 1.0
        assert len(store.messages(session)) == 21


@pytest.mark.usefixtures("quick")
def test_a_store_that_rests_has_no_thread_at_work(tmp_path: Path) -> None:
    with open_store(tmp_path / "s.db", synchronous="NORMAL") as store:
        store.append(store.create_session(dialect="openai_chat").id, MESSAGE)
        until = time.monotonic() + 5
        while read_file_alone(tmp_path / "s.db") < 1:
            assert time.monotonic() < until
            time.sleep(0.02)
        time.sleep(0.1)
        assert "midfold-log" not in {thread.name for thread in threading.enumerate()}
        before = time.process_time()
        time.sleep(0.3)
        assert time.process_time() - before < 0.1
