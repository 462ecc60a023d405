"""Who may use the file, and how: processes, versions of SQLite, versions of the schema, other users."""

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from midfold.errors import SchemaTooNew, StoreError, StoreUnavailable
from midfold.store import open_store
from midfold.store.sqlite.driver import driver

Script = Callable[..., list[str]]
Fill = Callable[[Path, int], str]

MESSAGE = {"role": "user", "content": "about the harbour office " * 20}


@pytest.mark.slow
def test_nothing_but_sqlite_opens_the_file(run_script: Script) -> None:
    """One open and close beside a live connection can lose commits."""
    lines = run_script(
        """
        import os, sys
        opened = []
        def note(event, args):
            # A handle without access takes no locks away.
            if event == "open" and not (args[2] or 0) & os.O_PATH:
                opened.append(str(args[0]))
        sys.addaudithook(note)
        from pathlib import Path
        from midfold.store import SessionKind, open_store
        import midfold
        path = Path(sys.argv[1]) / "s.db"
        for _ in range(2):
            store = open_store(path)
            session = store.create_session().id
            store.append(session, [{"role": "user", "content": "harbour office " * 40}] * 40)
            result = midfold.compress(store.messages(session), max_tokens=1500, strategy="fold")
            child = store.continue_session(session, result.messages, result)
            store.undo_continuation(child)
            store.create_session(parent_id=session, kind=SessionKind.BRANCH)
            store.search("harbour")
            assert store.check() == []
            store.rebuild_index()
            store.delete(session, branches=True)
            store.prune(keep_bytes=0)
            store.close()
        print([name for name in opened if name.endswith((".db", "-wal", "-shm"))])
        """
    )
    assert lines == ["[]"]


def test_an_old_sqlite_lets_one_process_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Below 3.51.3 a second writer is told what to do, and takes over when the first is gone."""
    monkeypatch.setattr("midfold.store.sqlite.access.sqlite_version", lambda: (3, 40, 1))
    monkeypatch.setattr("midfold.store.sqlite.database._SECONDS_BETWEEN_TRIES", 0.0)
    path = tmp_path / "new" / "s.db"
    first = open_store(path)
    session = first.create_session().id
    first.append(session, MESSAGE)
    with open_store(path) as second:
        assert second.status.may_write is False
        assert "3.51.3" in str(second.status.problem)
        assert second.messages(session) == [MESSAGE]
        with pytest.raises(StoreUnavailable, match=r"3\.51\.3"):
            second.create_session()
        first.close()
        assert second.append(session, MESSAGE) == 1
        assert second.status.may_write


def test_the_lock_is_given_back_when_opening_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("midfold.store.sqlite.access.sqlite_version", lambda: (3, 40, 1))
    path = tmp_path / "s.db"
    path.write_bytes(b"no database" * 1_000)
    with pytest.raises(StoreError):
        open_store(path)
    path.unlink()
    with open_store(path) as store:
        assert store.status.may_write


def test_a_store_of_a_later_version_is_left_alone(tmp_path: Path, fill: Fill) -> None:
    path = tmp_path / "s.db"
    fill(path, 1)
    connection = driver.connect(str(path), isolation_level=None)
    connection.execute("PRAGMA user_version = 999")
    connection.close()
    with pytest.raises(SchemaTooNew):
        open_store(path)


@pytest.mark.parametrize("umask", [0o000, 0o077])
def test_the_files_are_their_owner_s_alone(tmp_path: Path, umask: int) -> None:
    """Whatever the umask says, also where a folder is reached through a link."""
    (tmp_path / "link").symlink_to(tmp_path / "real")
    (tmp_path / "real").mkdir(mode=0o755)
    old = os.umask(umask)
    try:
        for folder in (tmp_path / "new", tmp_path / "link" / "inner"):
            with open_store(folder / "s.db") as store:
                store.append(store.create_session().id, MESSAGE)
                modes = {each.name: stat.S_IMODE(each.stat().st_mode) for each in folder.iterdir()}
                assert stat.S_IMODE(folder.stat().st_mode) == 0o700
            assert {"s.db", "s.db-wal", "s.db-shm"} <= set(modes)
            assert set(modes.values()) == {0o600}
    finally:
        os.umask(old)


def test_the_file_is_private_from_its_first_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody can open it between its making and its closing to others."""
    seen: list[int] = []
    connect = driver.connect

    def looking(name: str, *arguments: object, **options: object) -> object:
        if Path(name).exists():
            seen.append(stat.S_IMODE(Path(name).stat().st_mode))
        return connect(name, *arguments, **options)

    monkeypatch.setattr(driver, "connect", looking)
    open_store(tmp_path / "s.db").close()
    assert seen
    assert set(seen) == {0o600}


def test_a_link_that_somebody_else_planted_is_not_followed(tmp_path: Path) -> None:
    """In a folder that all may write to, what is already there may be a trap."""
    if os.getuid() != 0:
        pytest.skip("only root can make a link of somebody else's")
    target = tmp_path / "precious"
    target.write_text("as it was")
    path = tmp_path / "s.db"
    path.symlink_to(target)
    os.lchown(path, 65534, 65534)
    with pytest.raises(StoreError, match="somebody else"):
        open_store(path)
    assert target.read_text() == "as it was"


@pytest.mark.parametrize("where", ["link", "folder", "file", "open folder"])
def test_a_store_that_others_could_exchange_is_refused(tmp_path: Path, where: str) -> None:
    """A folder that leads through somebody else's link, is somebody else's, or that all may write to."""
    if os.getuid() != 0:
        pytest.skip("only root can make what is somebody else's")
    folder = tmp_path / "store"
    folder.mkdir()
    with open_store(folder / "s.db") as store:
        store.create_session()
    if where == "link":
        (tmp_path / "link").symlink_to(folder)
        os.lchown(tmp_path / "link", 65534, 65534)
        folder = tmp_path / "link"
    elif where == "folder":
        os.chown(folder, 65534, 65534)
    elif where == "file":
        os.chown(folder / "s.db", 65534, 65534)
    else:
        folder.chmod(0o777)
    with pytest.raises(StoreError, match=r"somebody else|another user|everybody may write"):
        open_store(folder / "s.db")


def test_a_link_of_one_s_own_is_followed(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    path = tmp_path / "s.db"
    path.symlink_to(tmp_path / "disk" / "sessions.db")
    with open_store(path) as store:
        session = store.create_session().id
    with open_store(tmp_path / "disk" / "sessions.db") as store:
        assert store.session(session).id == session


def test_a_quota_ends_writing_for_its_tenant_alone(tmp_path: Path) -> None:
    """The others are still served, and so are reading and searching."""
    with open_store(tmp_path / "s.db", quota_bytes=3_000, synchronous="NORMAL") as store:
        greedy, modest = store.for_tenant("greedy"), store.for_tenant("modest")
        session = greedy.create_session().id
        for _ in range(5):
            greedy.append(session, MESSAGE)
        with pytest.raises(StoreError, match="quota"):
            greedy.append(session, [MESSAGE] * 3)
        assert len(greedy.messages(session)) == 5
        assert greedy.search("harbour").hits
        assert modest.append(modest.create_session().id, MESSAGE) == 0
