"""Disks that are full, read-only or locked: a typed error, nothing lost, and on again when it is over."""

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from midfold.errors import StoreUnavailable
from midfold.store import open_store
from midfold.store.sqlite import driver as sqlite_driver
from midfold.store.sqlite import wal as sqlite_wal
from midfold.store.sqlite import writer as sqlite_writer
from midfold.store.sqlite.driver import driver
from midfold.store.sqlite.wal import MAX_LOG_BYTES

Script = Callable[..., list[str]]
Fill = Callable[[Path, int], str]

MESSAGE = {"role": "user", "content": "about the harbour office " * 20}
IN_TROUBLE = """
    import resource, signal, subprocess, sys, time
    from pathlib import Path
    from midfold.errors import StoreUnavailable
    from midfold.store import open_store

    def refused(store, session, text):
        try:
            store.append(session, text)
        except StoreUnavailable:
            return True
        return False

    def go_on(store, session, text, seconds=10):
        until = time.monotonic() + seconds
        while refused(store, session, text):
            assert time.monotonic() < until, "it does not heal"
            time.sleep(0.1)

    def fill_up(store, session, text):
        kept = 0
        while not refused(store, session, text):
            kept += 1
            assert kept < 1000
        return kept

    text = {"role": "user", "content": "harbour " * 2000}
    small = {"role": "user", "content": "small"}
"""


@pytest.mark.slow
def test_a_limit_on_file_sizes_is_said_and_nothing_promised_is_lost(run_script: Script) -> None:
    """The store says no, keeps what it has, and goes on by itself when there is room again."""
    lines = run_script(
        IN_TROUBLE
        + """
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    store = open_store(Path(sys.argv[1]) / "s.db", synchronous="NORMAL")
    session = store.create_session().id
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, resource.RLIM_INFINITY))
    kept = fill_up(store, session, text)
    print(kept > 10, refused(store, session, small), store.status.may_write)
    assert len(store.messages(session)) == kept
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    go_on(store, session, text)
    print(len(store.messages(session)) == kept + 1, store.status.may_write, store.check())
    store.close()
    """
    )
    assert lines == ["True True False", "True True []"]


def test_a_full_disk_is_said_and_nothing_promised_is_lost(run_script: Script) -> None:
    """Three megabytes in all; somebody else's file makes room when it goes."""
    lines = run_script(
        IN_TROUBLE
        + """
    folder = Path(sys.argv[1]) / "small"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(folder)], check=True)
    (folder / "other").write_bytes(bytes(1 << 20))
    store = open_store(folder / "s.db", synchronous="NORMAL")
    session = store.create_session().id
    started = time.monotonic()
    kept = fill_up(store, session, text)
    print(kept > 5, refused(store, session, small), store.status.may_write)
    assert len(store.messages(session)) == kept
    store.close()
    store = open_store(folder / "s.db", synchronous="NORMAL")
    assert len(store.messages(session)) == kept, "opened on a full disk"
    (folder / "other").unlink()
    go_on(store, session, small)
    print(len(store.messages(session)) == kept + 1, store.status.may_write)
    store.close()
    store = open_store(folder / "s.db", synchronous="NORMAL")
    print(store.check())
    store.close()
    """,
        mounts=True,
    )
    assert lines == ["True True False", "True True", "[]"]


@pytest.mark.slow
def test_a_read_only_file_system_can_be_read_and_says_so(run_script: Script) -> None:
    """Reading and searching go on, writing is refused in words, and is taken up again by itself."""
    lines = run_script(
        IN_TROUBLE
        + """
    folder = Path(sys.argv[1]) / "frozen"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", str(folder)], check=True)
    with open_store(folder / "s.db", synchronous="NORMAL") as store:
        session = store.create_session().id
        for _ in range(5):
            store.append(session, text)
        store.search("harbour")
    subprocess.run(["mount", "-o", "remount,ro", str(folder)], check=True)
    store = open_store(folder / "s.db")
    print(len(store.messages(session)), len(store.search("harbour").hits), store.status.may_write)
    try:
        store.append(session, small)
    except StoreUnavailable as error:
        print(str(error).count("cannot be used"), store.check())
    subprocess.run(["mount", "-o", "remount,rw", str(folder)], check=True)
    go_on(store, session, small)
    print(len(store.messages(session)), store.status.may_write)
    store.close()
    """,
        mounts=True,
    )
    # The five messages say the same, and are found as one.
    assert lines == ["5 1 False", "1 []", "6 True"]


@pytest.mark.slow
def test_the_doctor_looks_at_a_read_only_disk_to_the_end_and_says_what_it_could_not_fix(
    run_script: Script,
) -> None:
    lines = run_script(
        IN_TROUBLE
        + """
    import json, os
    folder = Path(sys.argv[1]) / "frozen"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", str(folder)], check=True)
    with open_store(folder / "sessions.db", synchronous="NORMAL") as store:
        store.append(store.create_session().id, text)
    folder.chmod(0o755)
    subprocess.run(["mount", "-o", "remount,ro", str(folder)], check=True)
    doctor = [sys.executable, "-m", "midfold", "doctor", "--fix", "--json"]
    environment = {**os.environ, "MIDFOLD_HOME": str(folder)}
    done = subprocess.run(doctor, env=environment, capture_output=True, text=True)
    said = json.loads(done.stdout)
    texts = [finding["text"] for finding in said["findings"]]
    print(done.returncode, any("1 message" in each for each in texts), said["fixed"], said["failed"])
    print(sum("cannot be written" in each for each in texts), done.stderr)
    """,
        mounts=True,
    )
    assert lines == ["1 True [] ['others may use frozen: Read-only file system']", "1 "]


@pytest.mark.timeout(60)
def test_a_locked_file_is_waited_for_and_then_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rounds: int
) -> None:
    """Everybody waits their time for a lock and no longer, then is told; order is kept."""
    patience = 5.0 if rounds >= 200 else 0.4
    for module in (sqlite_driver, sqlite_writer):
        monkeypatch.setattr(module, "BUSY_SECONDS", patience)
    path = tmp_path / "s.db"
    with open_store(path, synchronous="NORMAL") as store:
        session = store.create_session().id
        store.append(session, MESSAGE)
        other = driver.connect(str(path), isolation_level=None, check_same_thread=False)
        other.execute("BEGIN IMMEDIATE")
        waits: list[float] = []
        threads = [threading.Thread(target=_wait_for_refusal, args=(store, session, waits)) for _ in range(4)]
        for thread in threads:
            thread.start()
            time.sleep(patience / 8)
        for thread in threads:
            thread.join()
        assert len(waits) == 4
        assert max(waits) < patience + 1
        threading.Timer(patience / 4, other.execute, ("ROLLBACK",)).start()
        assert store.append(session, MESSAGE) == 1
        other.close()


def _wait_for_refusal(store: object, session: str, waits: list[float]) -> None:
    started = time.monotonic()
    with pytest.raises(StoreUnavailable, match="locked"):
        store.append(session, MESSAGE)  # type: ignore[attr-defined]
    waits.append(time.monotonic() - started)


def test_what_others_committed_meanwhile_is_no_reason_to_fail(tmp_path: Path) -> None:
    """A transaction never begins with a read that goes stale."""
    path = tmp_path / "s.db"
    with open_store(path, synchronous="NORMAL") as first, open_store(path, synchronous="NORMAL") as second:
        if not second.status.may_write:
            pytest.skip("this SQLite lets one process write")
        session = first.create_session().id
        for turn in range(20):
            store = (first, second)[turn % 2]
            assert store.append(session, MESSAGE) == turn


@pytest.mark.slow
def test_the_log_stays_short_whatever_readers_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader that never ends keeps the log from being reset; once it does, the log is cut."""
    monkeypatch.setattr(sqlite_wal, "MAX_LOG_BYTES", 1 << 20)
    monkeypatch.setattr(sqlite_wal, "_SECONDS_BETWEEN_CHECKPOINTS", 0.0)
    assert MAX_LOG_BYTES <= 64 << 20
    path = tmp_path / "s.db"
    with open_store(path, synchronous="NORMAL") as store:
        session = store.create_session().id
        reader = driver.connect(str(path), isolation_level=None)
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM messages").fetchone()
        for _ in range(8):
            store.append(session, [MESSAGE] * 200)
        assert path.with_name("s.db-wal").stat().st_size > 1 << 20
        reader.close()
        store.append(session, MESSAGE)
        assert path.with_name("s.db-wal").stat().st_size < 1 << 20


def test_a_fork_does_not_use_the_store_of_its_parent(tmp_path: Path) -> None:
    """Its writer is a thread, and threads do not come along."""
    with open_store(tmp_path / "s.db", synchronous="NORMAL") as store:
        session = store.create_session().id
        child = os.fork()
        if child == 0:
            try:
                store.append(session, MESSAGE)
            except StoreUnavailable:
                os._exit(7)
            os._exit(1)
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) == 7
        assert store.append(session, MESSAGE) == 0


def test_closing_finishes_what_is_waiting(tmp_path: Path) -> None:
    store = open_store(tmp_path / "s.db", synchronous="NORMAL")
    session = store.create_session(dialect="openai_chat").id
    done: list[int] = []
    refused: list[StoreUnavailable] = []

    def work() -> None:
        try:
            while True:
                done.append(store.append(session, MESSAGE))
        except StoreUnavailable as error:
            refused.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    while len(done) < 40:
        time.sleep(0.001)
    store.close()
    for thread in threads:
        thread.join(10)
    assert len(refused) == 4
    with open_store(tmp_path / "s.db") as again:
        assert sorted(done) == [record.seq for record in again.records(session)]


def test_a_failure_of_one_caller_s_own_leaves_the_others_alone(tmp_path: Path) -> None:
    """Those that share a commit share nothing else."""
    with open_store(tmp_path / "s.db", synchronous="NORMAL") as store:
        session = store.create_session().id
        is_ready = threading.Event()
        holding = threading.Thread(target=store._database.write, args=(lambda _: is_ready.wait(5),))
        holding.start()
        failures: list[BaseException] = []

        def fail(error: Exception) -> None:
            def work(connection: object) -> None:
                connection.execute("UPDATE sessions SET title = 'spoilt'")  # type: ignore[attr-defined]
                raise error

            try:
                store._database.write(work)
            except BaseException as caught:  # noqa: BLE001
                failures.append(caught)

        errors = [ValueError("a"), OverflowError("b"), KeyError("c"), ZeroDivisionError("d"), OSError(5, "e")]
        threads = [threading.Thread(target=fail, args=(error,)) for error in errors]
        threads.append(threading.Thread(target=store.append, args=(session, MESSAGE)))
        for thread in threads:
            thread.start()
        is_ready.set()
        for thread in [holding, *threads]:
            thread.join(10)
        assert len(failures) == len(errors)
        assert store.session(session).title is None
        assert store.messages(session) == [MESSAGE]
