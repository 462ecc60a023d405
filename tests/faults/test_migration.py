"""Killing a process that brings a file to the schema of this version: the old or the new, never between."""

import os
import random
import signal
import sqlite3
from pathlib import Path

import pytest

from midfold import faults
from midfold.store import open_store
from midfold.store.sqlite.driver import driver
from midfold.store.sqlite.migrations import load_migrations

KILLS = 50


@pytest.mark.timeout(300)
def test_a_kill_during_a_migration_leaves_the_old_schema_or_the_new_one(tmp_path: Path, rounds: int) -> None:
    """And the next one to open the file goes on from there."""
    rng = random.Random(33)
    newest = load_migrations()[-1].version
    statements = sum(len(step.statements) for step in load_migrations())
    points = [f"store.migrate.statement:kill:{nth + 1}" for nth in range(statements)]
    points += [
        f"store.migrate.{point}:kill:{nth + 1}"
        for point in ("before_commit", "after_commit")
        for nth in range(newest)
    ]
    for number, point in enumerate(rng.choices(points, k=KILLS if rounds >= 50 else max(6, rounds))):
        path = tmp_path / f"{number}.db"
        assert _open_and_die(path, point) == -signal.SIGKILL
        version, tables = _look(path)
        assert (version, tables > 0) in ((0, False), *((step, True) for step in range(1, newest + 1)))
        with open_store(path, synchronous="NORMAL") as store:
            session = store.create_session().id
            store.append(session, {"role": "user", "content": "hello"})
            assert store.check() == []


def _open_and_die(path: Path, point: str) -> int:
    child = os.fork()
    if child == 0:
        faults.arm(point)
        open_store(path, synchronous="NORMAL")
        os._exit(1)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


def _look(path: Path) -> tuple[int, int]:
    connection: sqlite3.Connection = driver.connect(str(path))
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    connection.close()
    return version, tables
