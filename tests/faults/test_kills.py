"""Killing a process that uses a store: nothing it was promised is lost, and the next one just goes on."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from midfold.store import open_store
from midfold.store.sqlite.health import find_problems

PASSED_ONCE = ("store.migrate.before_commit", "store.migrate.after_commit")
STORES_LAST = 10
ENDLESS = 1_000_000
SHORT = 12
WORKER = Path(__file__).with_name("store_worker.py")
RECOVER_SECONDS = 2.0

POINTS = (
    "store.begin.before",
    "store.begin.after",
    "store.message.after",
    "store.commit.before",
    "store.commit.after",
    "store.index.after",
    "store.lease.claim",
    "store.lease.renew",
    "store.lease.release",
    "store.continue.ended",
    "store.continue.opened",
    "store.continue.written",
    "store.continue.linked",
    "store.undo.flagged",
    "store.undo.written",
    "store.delete.unindexed",
    "store.delete.after",
    "store.migrate.statement",
    "store.migrate.before_commit",
    "store.migrate.after_commit",
)


@dataclass
class Promises:
    """What the workers were told is done."""

    sessions: set[str] = field(default_factory=set)
    messages: set[tuple[str, int, str]] = field(default_factory=set)
    children: dict[str, str] = field(default_factory=dict)
    deleted: set[str] = field(default_factory=set)

    def take(self, line: str) -> None:
        match line.split():
            case ["opened", session]:
                self.sessions.add(session)
            case ["appended", session, seq, word]:
                self.messages.add((session, int(seq), word))
            case ["continued" | "undone", session, child]:
                self.sessions |= {session, child}
                self.children[session] = child
            case ["deleted", session]:
                self.deleted.add(session)


class Nursery:
    """Starts workers quickly: everything is loaded once, and each one is a fork."""

    def __init__(self) -> None:
        self.last_status = 0
        self._process = subprocess.Popen(
            [sys.executable, str(WORKER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def run(
        self, folder: Path, synchronous: str, seed: int, fault: str, kill_after: float | None
    ) -> list[str]:
        """Run a worker, kill it after a while if asked to, and return what it told."""
        assert self._process.stdin
        assert self._process.stdout
        # One that is to be killed goes on until it is.
        turns = SHORT if kill_after is None and ":kill" not in fault else ENDLESS
        self._process.stdin.write(f"{folder} {synchronous} {seed} {fault} {turns}\n")
        self._process.stdin.flush()
        pid = int(self._process.stdout.readline().split()[1])
        if kill_after is not None:
            time.sleep(kill_after)
            os.kill(pid, signal.SIGKILL)
        lines: list[str] = []
        while not (line := self._process.stdout.readline()).startswith("ended"):
            assert line, "the nursery died"
            lines.append(line)
        self.last_status = int(line.split()[1])
        return lines

    def close(self) -> None:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:  # a test broke off and left a worker behind
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait(10)
        self._process.stdout.close()


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    started = Nursery()
    yield started
    started.close()


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("synchronous", ["FULL", "NORMAL"])
def test_a_kill_at_any_moment_loses_nothing_that_was_promised(
    nursery: Nursery, tmp_path: Path, synchronous: str, rounds: int
) -> None:
    """Append, fold, undo and delete, killed at random."""
    rng = random.Random(synchronous)
    promises, promised = Promises(), 0
    for number in range(rounds):
        # A new store now and then keeps the whole look at it short.
        folder = tmp_path / str(number // STORES_LAST)
        if number % STORES_LAST == 0:
            promises = Promises()
        for line in nursery.run(folder, synchronous, number, "-", kill_after=rng.uniform(0.01, 0.4)):
            promises.take(line)
        check(folder, promises)
        promised += len(promises.messages)
    assert promised


@pytest.mark.timeout(600)
@pytest.mark.parametrize("point", POINTS)
def test_a_kill_at_every_named_point_is_recovered_from(
    nursery: Nursery, tmp_path: Path, point: str, rounds: int
) -> None:
    """The next one to open the store goes on, with no step by hand, in two seconds."""
    passes = (1,) if point in PASSED_ONCE else (1, 2, 3, 7)
    for nth in passes[: max(1, rounds // 6)]:
        promises = Promises()
        folder = tmp_path / str(nth)
        for attempt in range(2):
            fault = f"{point}:kill:{nth}" if attempt == 0 else "-"
            for line in nursery.run(folder, "NORMAL", nth, fault, kill_after=None):
                promises.take(line)
            assert nursery.last_status == (-signal.SIGKILL if attempt == 0 else 0)
            started = time.monotonic()
            check(folder, promises)
            assert time.monotonic() - started < RECOVER_SECONDS
        assert promises.messages


@pytest.mark.timeout(600)
@pytest.mark.parametrize("action", ["raise", "enospc"])
@pytest.mark.parametrize("point", [point for point in POINTS if ".migrate." not in point])
def test_an_error_at_every_named_point_leaves_the_store_whole(
    nursery: Nursery, tmp_path: Path, point: str, action: str
) -> None:
    """Rows 2 and 5: what fails is refused as a whole, what was promised before it stays."""
    promises = Promises()
    for line in nursery.run(tmp_path, "NORMAL", 1, f"{point}:{action}:2", kill_after=None):
        promises.take(line)
    assert nursery.last_status == 0
    assert promises.messages
    check(tmp_path, promises)


def check(folder: Path, promises: Promises) -> None:
    """Open the store as the next process would, and ask for everything that was promised."""
    store = open_store(folder / "sessions.db", synchronous="NORMAL")
    try:
        assert store._database.write(find_problems) == []
        stored = {(each.session_id, each.seq): each for each in _all_records(store)}
        for session, seq, word in promises.messages:
            assert word in str(stored[session, seq].item)
        for session in promises.sessions:
            tip = store.get_compression_tip(session)
            assert store.get_compression_tip(tip) == tip
        for parent, child in promises.children.items():
            assert store.get_compression_tip(parent) == store.get_compression_tip(child)
        known = {each.id for each in store.sessions(limit=100_000)}
        assert not known & promises.deleted
    finally:
        store.close()


def _all_records(store: object) -> Iterator[object]:
    for session in store.sessions(limit=100_000):  # type: ignore[attr-defined]
        if session.source == "talk":
            yield from store.history(session.id)  # type: ignore[attr-defined]
