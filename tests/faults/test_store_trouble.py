"""Disks that are full or read-only, files that are locked or damaged: typed errors, and nothing lost."""

import os
import random
import resource
import shutil
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

from midfold.errors import SchemaTooNew, StoreCorrupt, StoreError, StoreUnavailable
from midfold.store import open_store
from midfold.store.sqlite import driver as sqlite_driver
from midfold.store.sqlite.driver import driver
from midfold.store.sqlite.health import Area

ROUNDS = int(os.environ.get("MIDFOLD_FAULT_ROUNDS", "6"))
MESSAGE = {"role": "user", "content": "about the harbour office " * 20}


def test_row_5_a_full_disk_is_said_and_nothing_promised_is_lost(tmp_path: Path) -> None:
    """Row 5: the store says no, keeps what it has, and goes on by itself when there is room again."""
    script = f"""
        import resource, time
        from pathlib import Path
        from midfold.errors import StoreUnavailable
        from midfold.store import open_store
        store = open_store(Path({str(tmp_path)!r}) / "s.db", synchronous="NORMAL")
        session = store.create_session().id
        text = {{"role": "user", "content": "harbour " * 2000}}
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, resource.RLIM_INFINITY))
        import signal
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        kept = 0
        try:
            for _ in range(500):
                store.append(session, text)
                kept += 1
        except StoreUnavailable as error:
            print("refused", kept)
        try:
            store.append(session, {{"role": "user", "content": "small"}})
            print("took a small one")
        except StoreUnavailable:
            print("still refused", store.status.may_write)
        assert len(store.messages(session)) == kept
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        until = time.monotonic() + 10
        while time.monotonic() < until:
            try:
                store.append(session, text)
                break
            except StoreUnavailable:
                time.sleep(0.1)
        assert len(store.messages(session)) == kept + 1
        print("healed", store.status.may_write)
        store.close()
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    refused, still, healed = done.stdout.splitlines()
    assert int(refused.split()[1]) > 10
    assert (still, healed) == ("still refused False", "healed True")
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY


def test_row_6_a_read_only_folder_can_be_read_and_says_so(tmp_path: Path) -> None:
    """Row 6: reading goes on, writing is refused in words."""
    folder = tmp_path / "store"
    session = _fill(folder / "s.db", 5)
    script = f"""
        import os
        from pathlib import Path
        from midfold.errors import StoreUnavailable
        from midfold.store import open_store
        os.setgid(65534); os.setuid(65534)
        store = open_store(Path({str(folder)!r}) / "s.db")
        print(len(store.messages({session!r})), store.status.may_write)
        try:
            store.append({session!r}, {{"role": "user", "content": "x"}})
        except StoreUnavailable as error:
            print(error)
        store.close()
    """
    if os.getuid() != 0:
        pytest.skip("only root can become somebody without rights")
    for each in (tmp_path, *tmp_path.parents[:3]):
        each.chmod(0o755)
    folder.chmod(0o555)
    (folder / "s.db").chmod(0o444)
    try:
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(script)],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    finally:
        folder.chmod(0o700)
    if "PermissionError" in done.stderr or "No module named" in done.stderr:
        pytest.skip("this interpreter cannot be used by others")
    assert done.stdout.splitlines()[0] == "5 False", done.stderr
    assert "cannot be used" in done.stdout


def test_row_7_a_locked_file_is_waited_for_and_then_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Row 7: an append waits its time for a lock, then says so; order is kept."""
    monkeypatch.setattr(sqlite_driver, "BUSY_SECONDS", 0.3)
    path = tmp_path / "s.db"
    with open_store(path, synchronous="NORMAL") as store:
        session = store.create_session().id
        store.append(session, MESSAGE)
        other = driver.connect(str(path), isolation_level=None, check_same_thread=False)
        other.execute("BEGIN IMMEDIATE")
        started = time.monotonic()
        with pytest.raises(StoreUnavailable, match="locked"):
            store.append(session, MESSAGE)
        assert 0.25 < time.monotonic() - started < 3
        threading.Timer(0.1, other.execute, ("ROLLBACK",)).start()
        assert store.append(session, MESSAGE) == 1
        other.close()


def test_row_8_random_damage_never_crashes_and_is_never_written_over(tmp_path: Path) -> None:
    """Row 8: hits on any file; typed errors, no writes after detection, the index made anew."""
    source = tmp_path / "source"
    session = _fill(source / "s.db", 200)
    rng = random.Random(8)
    detected = changed = 0
    for number in range(max(10, ROUNDS)):
        folder = tmp_path / f"hit{number}"
        shutil.copytree(source, folder)
        changed += 1
        _damage(folder / "s.db", rng)
        detected += _is_detected(folder / "s.db", session)
        shutil.rmtree(folder)
    # A hit on free space or on bytes that say the same changes nothing that could be noticed.
    assert detected >= 0.75 * changed


def test_row_8_a_damaged_index_is_made_anew_and_messages_stay(tmp_path: Path) -> None:
    """Row 8: the index is rebuilt without touching messages."""
    path = tmp_path / "s.db"
    session = _fill(path, 50)
    connection = driver.connect(str(path), isolation_level=None)
    connection.execute("UPDATE message_words_data SET block = x'00ff00ff' WHERE id > 10")
    connection.close()
    with open_store(path, synchronous="NORMAL") as store:
        assert {each.area for each in store.check()} == {Area.INDEX}
        store.rebuild_index()
        assert store.check() == []
        assert len(store.messages(session)) == 50
        assert store.search("harbour").hits


def test_row_13_an_old_sqlite_lets_one_process_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Row 13: below 3.51.3 a second writer is refused with what to do."""
    monkeypatch.setattr("midfold.store.sqlite.files.sqlite_version", lambda: (3, 40, 1))
    path = tmp_path / "s.db"
    with open_store(path) as first:
        session = first.create_session().id
        with open_store(path) as second:
            assert second.status.may_write is False
            assert "3.51.3" in str(second.status.problem)
            assert second.messages(session) == []
            with pytest.raises(StoreUnavailable):
                second.create_session()
    with open_store(path) as third:
        assert third.status.may_write


def test_row_12_nothing_but_sqlite_opens_the_file(tmp_path: Path) -> None:
    """Row 12: one open and close beside a live connection can lose commits."""
    script = f"""
        import sys
        opened = []
        sys.addaudithook(lambda event, args: event == "open" and opened.append(str(args[0])))
        from pathlib import Path
        from midfold.store import open_store
        from midfold.store.sqlite.health import find_problems
        import midfold
        path = Path({str(tmp_path)!r}) / "s.db"
        for _ in range(2):
            store = open_store(path)
            session = store.create_session().id
            store.append(session, [{{"role": "user", "content": "harbour office " * 40}}] * 40)
            result = midfold.compress(store.messages(session), max_tokens=1500, strategy="fold")
            child = store.continue_session(session, result.messages, result)
            store.undo_continuation(child)
            store.search("harbour")
            store._database.write(find_problems)
            store.delete(session)
            store.close()
        assert not [name for name in opened if ".db" in name], opened
        print("clean")
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout == "clean\n", done.stderr


def test_a_store_of_a_later_version_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    _fill(path, 1)
    connection = driver.connect(str(path), isolation_level=None)
    connection.execute("PRAGMA user_version = 999")
    connection.close()
    with pytest.raises(SchemaTooNew):
        open_store(path)


@pytest.mark.parametrize(
    "content", [b"", b"not a database at all" * 100, b"SQLite format 3\0" + b"\xff" * 4080]
)
def test_t32_a_file_that_is_no_store_is_refused_or_used_as_a_new_one(tmp_path: Path, content: bytes) -> None:
    """T32: hostile files are data."""
    path = tmp_path / "s.db"
    path.write_bytes(content)
    if not content:
        open_store(path).close()
        return
    with pytest.raises(StoreError):
        open_store(path)
    assert path.read_bytes() == content


def test_t32_views_and_triggers_of_a_foreign_file_do_not_run_our_functions(tmp_path: Path) -> None:
    """T32: the schema of a file is not trusted."""
    with open_store(tmp_path / "s.db") as store:
        (trusted,) = store._database.read(
            lambda connection: connection.execute("PRAGMA trusted_schema").fetchone()
        )
    assert trusted == 0


@pytest.mark.parametrize("umask", [0o000, 0o077])
def test_t6_the_files_are_their_owner_s_alone(tmp_path: Path, umask: int) -> None:
    """T6: whatever the umask says."""
    old = os.umask(umask)
    try:
        with open_store(tmp_path / "new" / "s.db") as store:
            store.append(store.create_session().id, MESSAGE)
            modes = {each.name: each.stat().st_mode & 0o777 for each in (tmp_path / "new").iterdir()}
            assert (tmp_path / "new").stat().st_mode & 0o777 == 0o700
    finally:
        os.umask(old)
    assert {"s.db", "s.db-wal", "s.db-shm"} <= set(modes)
    assert set(modes.values()) == {0o600}


def _fill(path: Path, count: int) -> str:
    with open_store(path, synchronous="NORMAL") as store:
        session = store.create_session(session_id="filled").id
        for number in range(count):
            store.append(session, {"role": "user", "content": f"{number} {MESSAGE['content']}"})
    return session


def _damage(path: Path, rng: random.Random) -> None:
    data = bytearray(path.read_bytes())
    length = rng.randint(1, 4_096)
    start = rng.choice([rng.randrange(0, 100), rng.randrange(len(data))])
    data[start : start + length] = rng.randbytes(len(data[start : start + length]))
    path.write_bytes(data)


def _is_detected(path: Path, session: str) -> bool:
    """Open and use a damaged file; nothing but our errors may come of it."""
    before = path.read_bytes()
    try:
        with open_store(path, synchronous="NORMAL") as store:
            store.messages(session)
            store.search("harbour")
            problems = store.check()
            if not problems:
                return False
            if any(each.area is Area.FILE for each in problems):
                with pytest.raises(StoreError):
                    store.append(session, MESSAGE)
    except StoreCorrupt:
        assert path.read_bytes() == before
    except StoreError:
        pass
    return True
