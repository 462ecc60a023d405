"""A rescue saves every sound row, whatever leads to it, and says exactly what is lost."""

import contextlib
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from midfold.errors import StoreCorrupt
from midfold.folding.compression import Compression
from midfold.store import Call, SessionKind, open_store, replace_damaged
from midfold.store.sqlite.driver import driver
from midfold.store.values import Condition, LostMessages
from midfold.tokens.usage import CanonicalUsage

PAGE = 4_096
Views = dict[str, list[object]]


@pytest.fixture
def written(
    tmp_path: Path,
    talk: Callable[..., list[object]],
    fold: Callable[[list[object]], Compression[object]],
) -> tuple[Path, Views]:
    """A store with folds, a branch, a sub-agent, an undone fold and calls; and what its sessions say."""
    path = tmp_path / "s.db"
    with open_store(path, synchronous="NORMAL") as store:
        for number in range(6):
            session = store.create_session(session_id=f"s{number}", dialect="openai_chat").id
            items = talk(25, start=100 * number)
            store.append(session, items)
            result = fold(items)
            child = store.continue_session(session, result.messages, result)
            store.append(child, talk(3, start=100 * number + 50))
            if number == 2:
                store.undo_continuation(child)
            if number == 3:
                store.create_session(session_id="branch", parent_id=child, kind=SessionKind.BRANCH)
                store.create_session(session_id="helper", parent_id=child, kind=SessionKind.SUBAGENT)
            store.record_call(session, Call(CanonicalUsage(input_tokens=7), "m", id=f"c{number}"))
        views = {each.id: store.messages(each.id) for each in store.sessions()}
    return path, views


INTERNAL = (0x02, 0x05)


def find_pages(path: Path, table: str, kind: str) -> list[int]:
    """Return where the `leaf` pages of a table begin, or the `internal` ones that lead to them."""
    connection = driver.connect(str(path))
    (root,) = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = ?", (table,)).fetchone()
    connection.close()
    data, waiting = path.read_bytes(), [root]
    found: dict[str, list[int]] = {"leaf": [], "internal": []}
    while waiting:
        start = (waiting.pop() - 1) * PAGE
        if data[start] not in INTERNAL:
            found["leaf"].append(start)
            continue
        found["internal"].append(start)
        count = int.from_bytes(data[start + 3 : start + 5], "big")
        cells = [
            int.from_bytes(data[at : at + 2], "big") for at in range(start + 12, start + 12 + 2 * count, 2)
        ]
        children = [start + 8, *(start + cell for cell in cells)]
        waiting += [int.from_bytes(data[at : at + 4], "big") for at in children]
    assert found[kind]
    return sorted(found[kind])


def overwrite(path: Path, offset: int, count: int) -> None:
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(b"\xa5" * count)


@pytest.mark.parametrize(
    ("table", "kind"),
    [
        ("messages", "internal"),
        ("sqlite_autoindex_messages_1", "leaf"),
        ("sqlite_autoindex_messages_1", "internal"),
        ("sqlite_autoindex_sessions_1", "leaf"),
        ("messages_by_link", "leaf"),
        ("folds_by_prefix", "leaf"),
        ("message_words_data", "leaf"),
    ],
)
def test_what_only_leads_to_rows_can_be_damaged_without_any_loss(
    written: tuple[Path, Views], table: str, kind: str
) -> None:
    path, views = written
    for offset in find_pages(path, table, kind):
        overwrite(path, offset, PAGE)
    replaced = replace_damaged(path)
    assert replaced.salvaged.is_whole, replaced.salvaged
    with open_store(path) as store:
        assert {each.id: store.messages(each.id) for each in store.sessions()} == views
        assert len(store.folds()) == 5
        assert store.usage().input_tokens == 6 * 7
        assert store.check() == []


@pytest.mark.parametrize("count", [16, 100, PAGE])
def test_the_beginning_of_the_file_can_be_damaged_without_any_loss(
    written: tuple[Path, Views], count: int
) -> None:
    path, views = written
    overwrite(path, 0, count)
    assert replace_damaged(path).salvaged.is_whole
    with open_store(path) as store:
        assert {each.id: store.messages(each.id) for each in store.sessions()} == views


def test_a_damaged_page_of_messages_costs_those_on_it_and_they_are_named(written: tuple[Path, Views]) -> None:
    path, views = written
    leaves = find_pages(path, "messages", "leaf")
    overwrite(path, leaves[len(leaves) // 2], PAGE)
    saved = replace_damaged(path).salvaged
    assert 0 < saved.lost_messages < 40
    with open_store(path) as store:
        for session in store.sessions():
            records = store.records(session.id)
            assert len(records) == len(views[session.id])
            assert [each.item for each in records if not each.is_damaged] == [
                item for item, each in zip(views[session.id], records, strict=True) if not each.is_damaged
            ]
        marked = {
            (each.session_id, each.seq)
            for session in store.sessions()
            for each in (*store.records(session.id), *store.history(session.id))
            if each.condition is Condition.LOST
        }
        assert marked == {(lost.session, seq) for lost in saved.lost for seq in lost.positions}
        assert len(store.folds()) == 5
        assert store.check() == []


def test_sound_pages_between_damaged_ones_are_saved(written: tuple[Path, Views]) -> None:
    path, _ = written
    leaves = find_pages(path, "messages", "leaf")
    for offset in leaves[::2]:
        overwrite(path, offset, PAGE)
    saved = replace_damaged(path).salvaged
    with open_store(path) as store:
        assert store.check() == []
        sound = sum(not each.is_damaged for name in ("s0", "s1", "s2") for each in store.history(name))
        assert sound > 100
        assert saved.messages > 250


def test_sessions_that_nothing_leads_to_are_saved(written: tuple[Path, Views]) -> None:
    path, views = written
    connection = driver.connect(str(path))
    (root,) = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'sessions'").fetchone()
    connection.close()
    overwrite(path, (root - 1) * PAGE, 8)
    replace_damaged(path)
    with open_store(path) as store:
        assert {each.id: store.messages(each.id) for each in store.sessions()} == views


def test_a_mark_of_an_earlier_rescue_stays_and_is_not_told_again(written: tuple[Path, Views]) -> None:
    path, _ = written
    connection = driver.connect(str(path), isolation_level=None)
    connection.execute("UPDATE messages SET body = '{}' WHERE seq = 4 AND session = 1")
    connection.close()
    assert replace_damaged(path).salvaged.lost == (LostMessages("s0", "s0", (4,)),)
    again = replace_damaged(path).salvaged
    assert again.is_whole
    with open_store(path) as store:
        assert store.records("s0")[4].condition is Condition.LOST
        assert "damaged" in str(store.messages("s0")[4])


def test_a_client_that_sends_its_history_again_is_known_after_a_rescue(written: tuple[Path, Views]) -> None:
    from midfold.messages.digests import chain_digests
    from midfold.wire import parse

    path, views = written
    connection = driver.connect(str(path), isolation_level=None)
    connection.execute("UPDATE messages SET body = '{}' WHERE seq = 4 AND session = 1")
    connection.close()
    replace_damaged(path)
    with open_store(path) as store:
        chain = chain_digests(parse(views["s0"], "openai_chat"))
        known = store.find_history(chain)
        assert known is not None
        assert known.length == len(chain)
        assert store.find_fold(chain) is not None


@pytest.mark.parametrize("table", ["folds", "calls", "ranges"])
def test_other_rows_that_are_lost_are_counted(written: tuple[Path, Views], table: str) -> None:
    path, views = written
    for offset in find_pages(path, table, "leaf")[:1]:
        overwrite(path, offset, PAGE)
    saved = replace_damaged(path).salvaged
    assert not saved.is_whole
    assert saved.lost == ()
    assert {"folds": saved.lost_folds, "calls": saved.lost_calls, "ranges": len(saved.unfolded)}[table] > 0
    with open_store(path) as store:
        assert store.check() == []
        assert [each.item for each in store.history("s0")][:100] == views["s0"]


def test_what_is_in_the_log_alone_is_saved(tmp_path: Path) -> None:
    path, left = tmp_path / "s.db", tmp_path / "left.db"
    with open_store(path, synchronous="NORMAL") as store:
        store.create_session(session_id="kept", dialect="openai_chat")
        store.append("kept", [{"role": "user", "content": f"word{number}"} for number in range(50)])
        for suffix in ("", "-wal"):
            left.with_name(left.name + suffix).write_bytes(path.with_name(path.name + suffix).read_bytes())
    overwrite(left, 0, 40)
    assert replace_damaged(left).salvaged.messages == 50


def test_sessions_of_which_every_message_is_lost_are_saved_with_marks(written: tuple[Path, Views]) -> None:
    path, views = written
    for offset in find_pages(path, "messages", "leaf"):
        overwrite(path, offset, PAGE)
    saved = replace_damaged(path).salvaged
    assert saved.messages == 0
    assert {each.session for each in saved.lost} >= {"s0", "s1", "s5"}
    with open_store(path) as store:
        assert {each.condition for each in store.records("s0")} == {Condition.LOST}
        assert len(store.records("s0")) == len(views["s0"])


def leave_behind(tmp_path: Path) -> Path:
    """Return a store as a process leaves it that was killed: what was said is in the log."""
    path, left = tmp_path / "s.db", tmp_path / "left" / "s.db"
    left.parent.mkdir()
    with open_store(path, synchronous="NORMAL") as store:
        store.create_session(session_id="kept", dialect="openai_chat")
        store.append("kept", [{"role": "user", "content": f"word{number}"} for number in range(50)])
        for suffix in ("", "-wal", ".mark"):
            subprocess.run(["cp", f"{path}{suffix}", f"{left}{suffix}"], check=True)
    return left


@pytest.mark.parametrize("size", [0, 1])
def test_an_emptied_file_is_not_taken_for_a_new_store_and_its_log_is_saved(tmp_path: Path, size: int) -> None:
    path = leave_behind(tmp_path)
    os.truncate(path, size)
    with pytest.raises(StoreCorrupt, match="empty"):
        open_store(path)
    assert path.with_name("s.db-wal").stat().st_size > 0
    assert replace_damaged(path).salvaged.messages == 50


def test_an_emptied_file_without_a_log_is_told_by_its_mark(written: tuple[Path, Views]) -> None:
    path, _ = written
    os.truncate(path, 0)
    with pytest.raises(StoreCorrupt, match="empty"):
        open_store(path)
    assert replace_damaged(path).salvaged.has_read_nothing


def test_where_somebody_removed_a_store_a_new_one_is_made(written: tuple[Path, Views]) -> None:
    path, _ = written
    path.unlink()
    with open_store(path) as store:
        assert store.sessions() == []
        assert store.status.warning is None


@pytest.mark.parametrize("step", range(6))
def test_a_rescue_that_is_killed_is_finished_by_whoever_opens_the_store(
    tmp_path: Path, step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        pass

    path, steps, rename = leave_behind(tmp_path), iter(range(10)), Path.rename

    def rename_or_die(self: Path, target: Path) -> Path:
        if next(steps) == step:
            raise Killed
        return rename(self, target)

    overwrite(path, 100, 200)
    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", rename_or_die)
        with contextlib.suppress(Killed):
            replace_damaged(path)
    try:
        open_store(path).close()
    except StoreCorrupt:
        replace_damaged(path)
    with open_store(path) as store:
        assert len(store.messages("kept")) == 50
        assert store.status.warning is None
