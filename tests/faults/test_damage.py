"""Damaged files: noticed, never written over, and an index that is damaged alone is made anew."""

import random
import shutil
import sqlite3
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

import pytest

import midfold
from midfold.errors import MessagesDamaged, StoreCorrupt, StoreError
from midfold.store import Call, open_store, replace_damaged
from midfold.store.sqlite import progress_mark
from midfold.store.sqlite.driver import driver
from midfold.store.sqlite.store import SqliteStore
from midfold.store.values import Area
from midfold.tokens.usage import CanonicalUsage

Fill = Callable[[Path, int], str]

TABLES = ("messages", "sessions", "ranges", "folds", "calls", "leases", "meta", "tenants")
MESSAGES = [
    {
        "role": "user" if index % 2 == 0 else "assistant",
        "content": f"{index} about the harbour office {index * 7919} " * 9,
    }
    for index in range(40)
]
FOUND_GOAL = 0.95
DAMAGED = object()


class Target(Enum):
    """What is hit."""

    HEADER = "header"
    PAGES = "pages"
    INDEX = "index"
    LOG = "-wal"
    SHARED = "-shm"


class Outcome(Enum):
    """What came of a hit."""

    HARMLESS = "it changed nothing that can be read"
    FOUND = "it was found: an error, a mark or a line of the doctor"
    MENDED = "only the index was damaged, and it was made anew"
    TOLD = "the log was cut, and the person is told that commits are missing"
    MISSED = "something else than what was written can be read, and nobody said so"


@dataclass(frozen=True)
class Image:
    """The files of a store, and what is in it."""

    folder: Path
    views: dict[str, list[object]]


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory) -> Image:
    """A store that was closed."""
    folder = tmp_path_factory.mktemp("closed")
    with open_store(folder / "s.db", synchronous="NORMAL") as store:
        return Image(folder, _use(store))


@pytest.fixture(scope="module")
def crashed(tmp_path_factory: pytest.TempPathFactory) -> Image:
    """A store as a killed process leaves it, with its log."""
    folder, live = tmp_path_factory.mktemp("crashed"), tmp_path_factory.mktemp("live")
    with open_store(live / "s.db", synchronous="NORMAL") as store:
        views = _use(store)
        time.sleep(progress_mark.SECONDS_BETWEEN * 1.5)
        store.set_title("s0", "the last commit")
        shutil.copytree(live, folder, dirs_exist_ok=True)
    return Image(folder, views)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_random_damage_is_found_never_written_over_and_rescued(
    tmp_path: Path, closed: Image, crashed: Image, rounds: int
) -> None:
    """Hits on any file; no crash, no hole without a mark, nothing wrong ever read, and what is sound
    is saved by a rescue."""
    rng = random.Random(8)
    outcomes: dict[Target, list[Outcome]] = {target: [] for target in Target}
    lost = 0
    for number in range(max(40, rounds)):
        target = list(Target)[number % len(Target)]
        image = crashed if target in (Target.LOG, Target.SHARED) else closed
        folder = tmp_path / str(number)
        shutil.copytree(image.folder, folder)
        before = _dump(folder / "s.db", tmp_path)
        _hit(folder / "s.db", target, rng)
        is_harmless = _dump(folder / "s.db", tmp_path) == before
        outcomes[target].append(_try(folder / "s.db", image, target, is_harmless=is_harmless))
        if outcomes[target][-1] is Outcome.FOUND:
            lost += _rescue(folder / "s.db", image)
        shutil.rmtree(folder)
    told = [each for target in Target for each in outcomes[target] if each is not Outcome.HARMLESS]
    figures = {target: Counter(each.name for each in outcomes[target]) for target in Target}
    print(figures, f"{lost} messages lost in {told.count(Outcome.FOUND)} rescues")  # noqa: T201
    assert 1 - told.count(Outcome.MISSED) / len(told) >= FOUND_GOAL, figures
    assert set(outcomes[Target.SHARED]) == {Outcome.HARMLESS}
    assert Outcome.MENDED in outcomes[Target.INDEX]
    assert Outcome.FOUND in outcomes[Target.PAGES]
    assert Outcome.TOLD in outcomes[Target.LOG]


def test_a_damaged_index_is_made_anew_at_the_first_search(tmp_path: Path, fill: Fill) -> None:
    """Nobody has to do anything, and messages are not touched."""
    path = tmp_path / "s.db"
    session = fill(path, 50)
    _spoil_index(path)
    with open_store(path, synchronous="NORMAL") as store:
        before = store.messages(session)
        assert store.search("harbour").hits
        assert store.check() == []
        assert store.status.may_write
        assert store.messages(session) == before
        assert store.append(session, MESSAGES[0]) == 50


def test_a_damaged_index_is_made_anew_at_the_first_write_that_meets_it(tmp_path: Path, fill: Fill) -> None:
    path = tmp_path / "s.db"
    session = fill(path, 50)
    _spoil_index(path)
    with open_store(path, synchronous="NORMAL") as store:
        for number in range(6):
            assert store.append(session, MESSAGES * 4) == 50 + 160 * number
        assert store.search("harbour").hits
        assert store.check() == []


def test_a_damaged_index_is_told_apart_from_a_damaged_file(tmp_path: Path, fill: Fill) -> None:
    path = tmp_path / "s.db"
    fill(path, 50)
    _spoil_index(path)
    with open_store(path, synchronous="NORMAL") as store:
        assert {each.area for each in store.check()} == {Area.INDEX}
        store.rebuild_index()
        assert store.check() == []


def test_one_changed_letter_of_a_message_is_found_when_it_is_read(tmp_path: Path, fill: Fill) -> None:
    """SQLite cannot see it; the sum of the row does."""
    path = tmp_path / "s.db"
    session = fill(path, 20)
    data = path.read_bytes()
    place = data.index(b"7 about the harbour")
    path.write_bytes(data[: place + 6] + b"X" + data[place + 7 :])
    with open_store(path, synchronous="NORMAL") as store:
        with pytest.raises(MessagesDamaged, match="message 7") as caught:
            store.messages(session)
        assert caught.value.positions == (7,)
        assert [each.text for each in store.check() if "message 7" in each.text]


def test_damage_told_by_a_check_ends_all_writing(tmp_path: Path, fill: Fill) -> None:
    path = tmp_path / "s.db"
    session = fill(path, 200)
    data = bytearray(path.read_bytes())
    page = data.index(b"150 about the harbour") // 4096 * 4096
    data[page : page + 64] = bytes(64)
    path.write_bytes(data)
    before = path.read_bytes()
    with open_store(path, synchronous="NORMAL") as store:
        assert store.check()
        with pytest.raises(StoreCorrupt):
            store.append(session, MESSAGES[0])
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "content", [b"", b"not a database at all" * 100, b"SQLite format 3\0" + b"\xff" * 4080]
)
def test_a_file_that_is_no_store_is_refused_or_used_as_a_new_one(tmp_path: Path, content: bytes) -> None:
    """Hostile files are data."""
    path = tmp_path / "s.db"
    path.write_bytes(content)
    if not content:
        open_store(path).close()
        return
    with pytest.raises(StoreError):
        open_store(path)
    assert path.read_bytes() == content


@pytest.mark.parametrize("version", [0, 1, 7])
def test_the_database_of_another_program_is_left_as_it_is(tmp_path: Path, version: int) -> None:
    """It is not a store because it is SQLite."""
    path = tmp_path / "bookmarks.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE bookmarks (url TEXT)")
    connection.execute(f"PRAGMA user_version = {version}")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(StoreError, match="another program"):
        open_store(path)
    assert path.read_bytes() == before


@pytest.mark.timeout(300)
def test_files_made_by_chance_never_get_through(tmp_path: Path, closed: Image, rounds: int) -> None:
    """Whatever is in the file, there is a typed error or an answer."""
    rng, answers, refusals = random.Random(32), 0, 0
    for number in range(rounds):
        path = tmp_path / f"{number}.db"
        data = bytearray((closed.folder / "s.db").read_bytes())
        for _ in range(rng.randint(1, 60)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        path.write_bytes(data)
        try:
            with open_store(path, synchronous="NORMAL") as store:
                _read_all(store)
            answers += 1
        except StoreError:
            refusals += 1
        path.unlink()
    assert refusals
    assert answers + refusals == rounds


def test_the_schema_of_a_file_is_not_trusted_and_loads_nothing(tmp_path: Path) -> None:
    """A view or a trigger of a hostile file runs no function that could do harm."""
    with open_store(tmp_path / "s.db") as store:
        (trusted,) = store._database.read(
            lambda connection: connection.execute("PRAGMA trusted_schema").fetchone()
        )
        with pytest.raises(StoreError):
            store._database.read(
                lambda connection: connection.execute("SELECT load_extension('x')").fetchone()
            )
    assert trusted == 0


def _use(store: SqliteStore) -> dict[str, list[object]]:
    """Fill a store with a bit of everything; return what its sessions say."""
    for number in range(3):
        session = store.create_session(session_id=f"s{number}", title="t", dialect="openai_chat").id
        store.append(session, MESSAGES)
        result = midfold.compress(MESSAGES, max_tokens=1_500, strategy="fold")
        child = store.continue_session(session, result.messages, result)
        store.append(child, MESSAGES[:5])
        if number == 1:
            store.undo_continuation(child)
        store.record_call(session, Call(CanonicalUsage(input_tokens=7), "m", id=f"c{number}"))
    store.search("harbour")
    return {each.id: store.messages(each.id) for each in store.sessions()}


def _hit(path: Path, target: Target, rng: random.Random) -> None:
    if target is Target.INDEX:
        _spoil_index(path, rng)
        return
    suffix = target.value if target in (Target.LOG, Target.SHARED) else ""
    file = path.with_name(path.name + suffix)
    data = bytearray(file.read_bytes())
    start = rng.randrange(100) if target is Target.HEADER else rng.randrange(len(data))
    stop = min(len(data), start + rng.randint(1, 4_096))
    data[start:stop] = rng.randbytes(stop - start)
    file.write_bytes(data)


def _spoil_index(path: Path, rng: random.Random | None = None) -> None:
    connection = driver.connect(str(path), isolation_level=None)
    if rng is None:
        connection.execute("UPDATE message_words_data SET block = x'00ff00ff' WHERE id > 10")
    else:
        # The first entry weighs what is found and hides nothing.
        ids = [rowid for (rowid,) in connection.execute("SELECT id FROM message_words_data WHERE id > 1")]
        rowid = rng.choice(ids)
        connection.execute(
            "UPDATE message_words_data SET block = ? WHERE id = ?",
            (rng.randbytes(rng.randint(1, 400)), rowid),
        )
    connection.close()


def _try(path: Path, image: Image, target: Target, *, is_harmless: bool) -> Outcome:
    """Open and use what was hit, as anybody would; nothing but our errors may come of it."""
    hit = path.read_bytes()
    try:
        with open_store(path, synchronous="NORMAL") as store:
            views = _read_all(store)
            problems = store.check()
            if problems:
                _expect_refusal(store, problems[0].area)
            is_mended = store._database._repairs > 0
            warning = store.status.warning
    except StoreError:
        # A log is folded into the file when it is closed; else the file is as it was found.
        assert target is Target.LOG or path.read_bytes() == hit
        return Outcome.FOUND
    for name, view in views.items():
        assert warning or len(view) == len(image.views.get(name, view))
    if problems or any(each is DAMAGED for view in views.values() for each in view):
        return Outcome.FOUND
    if is_mended:
        assert views == image.views
        return Outcome.MENDED
    if warning:
        assert target is Target.LOG
        assert all(views[each] == image.views[each][: len(views[each])] for each in views)
        return Outcome.TOLD
    if views == image.views and (is_harmless or target is Target.SHARED):
        return Outcome.HARMLESS
    return Outcome.MISSED


def _rescue(path: Path, image: Image) -> int:
    """Save what is sound; what is read after that is what was written, or one of so many marks."""
    replaced = replace_damaged(path)
    assert replaced.kept_as.exists()
    count = 0
    with open_store(path, synchronous="NORMAL") as store:
        assert store.check() == []
        for session in store.sessions():
            view = _view(store, session.id)
            count += view.count(DAMAGED)
            written = image.views.get(session.id)
            if written is not None and session.id not in replaced.salvaged.unfolded:
                assert all(each is DAMAGED or each in written for each in view)
        store.append(store.create_session().id, MESSAGES[0])
    return count


def _expect_refusal(store: SqliteStore, area: Area) -> None:
    if area is Area.FILE:
        with pytest.raises(StoreError):
            store.create_session()


def _view(store: SqliteStore, session: str) -> list[object]:
    """Return what a session says, and `DAMAGED` for what cannot be read."""
    return [DAMAGED if each.is_damaged else each.item for each in store.records(session)]


def _read_all(store: SqliteStore) -> dict[str, list[object]]:
    views = {each.id: _view(store, each.id) for each in store.sessions()}
    store.search("harbour")
    store.search('"about the harbour"')
    store.folds()
    list(store.calls())
    return views


def _dump(path: Path, tmp_path: Path) -> object:
    """Read everything that SQLite gives, from a copy; `None` where it gives an error instead."""
    folder = tmp_path / "dump"
    shutil.copytree(path.parent, folder)
    try:
        connection = driver.connect(str(folder / path.name), isolation_level=None)
        try:
            rows = [
                connection.execute(f"SELECT * FROM {table}").fetchall()  # noqa: S608
                for table in TABLES
            ]
            words = connection.execute("SELECT id, hex(block) FROM message_words_data").fetchall()
            sound = connection.execute("PRAGMA integrity_check").fetchall()
        finally:
            connection.close()
    except (driver.Error, MemoryError):
        return None
    finally:
        shutil.rmtree(folder)
    return rows, words, sound
