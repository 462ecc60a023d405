"""Whose turn it is to write: callers that come together, that are interrupted, and that never pause."""

import gc
import os
import signal
import sqlite3
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

import pytest

from midfold.errors import StoreUnavailable
from midfold.store import open_store
from midfold.store.sqlite import index
from midfold.store.sqlite import writer as sqlite_writer
from midfold.store.sqlite.driver import driver
from midfold.store.sqlite.store import SqliteStore
from midfold.store.sqlite.writer import Writer

MESSAGE = {"role": "user", "content": "about the harbour office"}
WAIT_SECONDS = 10


class Holding:
    """A thread that has its turn until it is let go."""

    def __init__(self, store: SqliteStore) -> None:
        self._is_held, self._may_go = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=store._database.write, args=(self._hold,))

    def _hold(self, _: object) -> None:
        self._is_held.set()
        self._may_go.wait(WAIT_SECONDS)

    def start(self) -> None:
        self._thread.start()
        assert self._is_held.wait(WAIT_SECONDS)

    def let_go(self) -> None:
        self._may_go.set()
        self._thread.join(WAIT_SECONDS)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    with open_store(tmp_path / "s.db", synchronous="NORMAL") as opened:
        yield opened


@pytest.fixture
def session(store: SqliteStore) -> str:
    return store.create_session(dialect="openai_chat").id


def writer_of(store: SqliteStore) -> Writer:
    writer = store._database._writer
    assert writer is not None
    return writer


def until(is_true: Callable[[], bool]) -> None:
    end = time.monotonic() + WAIT_SECONDS
    while not is_true():
        assert time.monotonic() < end
        time.sleep(0.001)


def start(work: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=work)
    thread.start()
    return thread


def join(threads: list[threading.Thread]) -> None:
    for thread in threads:
        thread.join(WAIT_SECONDS)
        assert not thread.is_alive()


def test_whoever_finds_nobody_writing_writes_in_its_own_thread(store: SqliteStore) -> None:
    assert store._database.write(lambda _: threading.get_ident()) == threading.get_ident()


def test_those_that_wait_together_share_one_commit(store: SqliteStore, session: str) -> None:
    writer, holding = writer_of(store), Holding(store)
    holding.start()
    before = writer._commits
    threads = [start(lambda: store.append(session, MESSAGE)) for _ in range(20)]
    until(lambda: len(writer._waiting) == 20)
    holding.let_go()
    join(threads)
    assert writer._commits - before == 2
    assert sorted(record.seq for record in store.records(session)) == list(range(20))


def test_whoever_never_pauses_does_not_overtake_those_that_wait(store: SqliteStore, session: str) -> None:
    is_over = threading.Event()

    def never_pause() -> None:
        while not is_over.is_set():
            store.append(session, MESSAGE)

    busy = start(never_pause)
    other = store.create_session(dialect="openai_chat").id
    started = time.monotonic()
    for _ in range(50):
        store.append(other, MESSAGE)
    took = time.monotonic() - started
    is_over.set()
    join([busy])
    assert took < WAIT_SECONDS
    assert len(store.messages(other)) == 50


def test_chores_are_done_though_nobody_ever_pauses(
    store: SqliteStore, session: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_writer, "_COMMITS_BETWEEN_CHORES", 50)
    monkeypatch.setattr(sqlite_writer, "_IDLE_SECONDS", 60.0)
    most = 0
    for _ in range(400):
        store.append(session, MESSAGE)
        most = max(most, store._database.read(count_waiting))
    assert 0 < most < 120


def count_waiting(connection: sqlite3.Connection) -> int:
    (count,) = connection.execute(
        "SELECT count(*) FROM messages WHERE id > (SELECT coalesce(max(id), 0) FROM message_words_docsize)"
    ).fetchone()
    return int(count)


def test_chores_are_done_in_a_pause(
    store: SqliteStore, session: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_writer, "_IDLE_SECONDS", 0.01)
    store.append(session, MESSAGE)
    until(lambda: not store._database.read(index.is_behind))


def test_so_many_may_wait_and_no_more(
    store: SqliteStore, session: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_writer, "MAX_WAITING", 3)
    writer, holding = writer_of(store), Holding(store)
    holding.start()
    threads = [start(lambda: store.append(session, MESSAGE)) for _ in range(3)]
    until(lambda: len(writer._waiting) == 3)
    with pytest.raises(StoreUnavailable, match="3 writes are waiting"):
        store.append(session, MESSAGE)
    holding.let_go()
    join(threads)
    assert store.append(session, MESSAGE) == 3


def test_what_fails_leaves_nothing_and_the_next_one_writes(store: SqliteStore, session: str) -> None:
    def fail(connection: sqlite3.Connection) -> None:
        connection.execute("UPDATE sessions SET title = 'spoilt'")
        raise ValueError("of its own")

    with pytest.raises(ValueError, match="of its own"):
        store._database.write(fail)
    assert store.session(session).title is None
    assert store.append(session, MESSAGE) == 0


def test_closing_waits_for_whoever_writes(store: SqliteStore, session: str) -> None:
    holding = Holding(store)
    holding.start()
    waiting = start(lambda: store.append(session, MESSAGE))
    until(lambda: bool(writer_of(store)._waiting))
    closing = start(store.close)
    until(lambda: writer_of(store)._is_closed)
    with pytest.raises(StoreUnavailable, match="closed"):
        writer_of(store).do(lambda _: None)
    assert closing.is_alive()
    holding.let_go()
    join([waiting, closing])
    with open_store(store.status.path) as again:
        assert again.messages(session) == [MESSAGE]


def test_an_interrupt_at_any_call_leaves_the_store_whole_and_free(store: SqliteStore, session: str) -> None:
    """Ctrl-C comes between two calls, and each of them is tried: before, in and after the commit."""
    writer, promised = writer_of(store), 0
    other = driver.connect(store.status.path, timeout=0, isolation_level=None)
    nth, was_interrupted = 0, True
    while was_interrupted:
        nth += 1
        try:
            with interrupt_at(nth):
                store.append(session, [{"role": "user", "content": f"question {nth}"}, MESSAGE])
            was_interrupted = False
        except KeyboardInterrupt:
            pass
        assert writer._holder is None
        other.execute("BEGIN IMMEDIATE")
        other.execute("ROLLBACK")
        join([start(lambda: store.append(session, MESSAGE))])
        promised += 1
    other.close()
    assert nth > 100
    records = store.records(session)
    assert [record.seq for record in records] == list(range(len(records)))
    # What was interrupted is there as a whole, or not at all.
    asked = [index for index, record in enumerate(records) if "question" in str(record.item)]
    assert all(records[index + 1].item == MESSAGE for index in asked)
    assert len(records) - 2 * len(asked) == promised
    assert store.check() == []


class interrupt_at:  # noqa: N801 - reads as a verb
    """Raise KeyboardInterrupt at the n-th place inside `Writer.do` where Python looks for signals.

    These are the beginnings of functions and the ends of calls; nothing comes right before a call.
    """

    def __init__(self, nth: int) -> None:
        self._left, self._is_inside = nth, False

    def __enter__(self) -> None:
        gc.disable()  # what is raised while garbage is collected is swallowed
        sys.setprofile(self._look)

    def __exit__(self, *_error: object) -> None:
        sys.setprofile(None)
        gc.enable()

    def _look(self, frame: FrameType, event: str, _argument: object) -> None:
        if frame.f_code is Writer.do.__code__ and event in ("call", "return"):
            self._is_inside = event == "call"
        if self._is_inside and event != "c_call":
            self._left -= 1
            if self._left == 0:
                sys.setprofile(None)
                raise KeyboardInterrupt


def test_an_interrupt_of_the_work_itself_takes_it_back(store: SqliteStore, session: str) -> None:
    def work(connection: sqlite3.Connection) -> None:
        connection.execute("UPDATE sessions SET title = 'half'")
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        store._database.write(work)
    assert store.session(session).title is None
    assert store.append(session, MESSAGE) == 0


def test_an_interrupt_comes_through_while_another_process_locks_the_file(
    store: SqliteStore, session: str
) -> None:
    other = driver.connect(store.status.path, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    started = time.monotonic()
    threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        store.append(session, MESSAGE)
    assert time.monotonic() - started < WAIT_SECONDS
    other.execute("ROLLBACK")
    other.close()
    # It was handed over already, and nobody took it back.
    assert store.append(session, MESSAGE) == 1


def test_a_signal_that_breaks_into_a_write_cannot_write(store: SqliteStore, session: str) -> None:
    """Its write would wait for the one it broke into, for ever."""
    refused: list[StoreUnavailable] = []

    def write_too(_signal: int, _frame: object) -> None:
        try:
            store.append(session, MESSAGE)
        except StoreUnavailable as error:
            refused.append(error)

    handler = signal.signal(signal.SIGUSR1, write_too)
    try:
        store._database.write(lambda _: signal.raise_signal(signal.SIGUSR1))
    finally:
        signal.signal(signal.SIGUSR1, handler)
    assert [str(error) for error in refused] == [
        "the session store cannot be used: this thread is in the middle of a write already"
    ]
    assert store.append(session, MESSAGE) == 0


def test_a_signal_that_breaks_into_a_write_may_close_the_store(store: SqliteStore, session: str) -> None:
    def work(connection: sqlite3.Connection) -> None:
        connection.execute("UPDATE sessions SET title = 'whole'")
        signal.raise_signal(signal.SIGUSR1)

    handler = signal.signal(signal.SIGUSR1, lambda _signal, _frame: store.close())
    try:
        store._database.write(work)
    finally:
        signal.signal(signal.SIGUSR1, handler)
    join([writer_of(store)._thread])
    with open_store(store.status.path) as again:
        assert again.session(session).title == "whole"


def test_a_fork_in_the_middle_of_a_write_neither_writes_nor_hangs(store: SqliteStore, session: str) -> None:
    holding = Holding(store)
    holding.start()
    child = os.fork()
    if child == 0:
        signal.alarm(WAIT_SECONDS)
        try:
            store.append(session, MESSAGE)
        except StoreUnavailable:
            store.close()
            os._exit(7)
        os._exit(1)
    _, status = os.waitpid(child, 0)
    holding.let_go()
    assert os.waitstatus_to_exitcode(status) == 7
    assert store.append(session, MESSAGE) == 0


def test_others_write_while_a_long_conversation_is_deleted(store: SqliteStore, session: str) -> None:
    """Its words are taken out a part at a time."""
    doomed = store.create_session(dialect="openai_chat").id
    for _ in range(4):
        store.append(doomed, [MESSAGE] * 500)
    store.search("harbour")
    before = writer_of(store)._commits
    assert store.delete(doomed).messages == 2_000
    assert writer_of(store)._commits - before > 4
    store.append(session, MESSAGE)
    assert [hit.session_id for hit in store.search("harbour").hits] == [session]
    assert store.check() == []


def test_a_deletion_that_is_cut_off_leaves_everything_to_be_found(
    store: SqliteStore, session: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.append(session, [{"role": "user", "content": f"quay{number}"} for number in range(900)])
    store.search("quay7")
    taken_out = list(range(1, 701))
    store._database.write(lambda connection: index.remove_before(connection, taken_out))
    assert store.check() == []
    assert not store.search("quay7").hits
    monkeypatch.setattr(index, "_HOLE_SECONDS", 0.0)
    monkeypatch.setattr(sqlite_writer, "_IDLE_SECONDS", 0.01)
    until(lambda: bool(store.search("quay7").hits) and bool(store.search("quay699").hits))
    until(lambda: store._database.read(index.find_holes) is None)
    assert store.check() == []
    store.delete(session)
    assert store.check() == []
