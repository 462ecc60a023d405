"""Processes that fold one session at the same time: one of them does, the others hear of it."""

import multiprocessing
import os
from multiprocessing.synchronize import Barrier
from pathlib import Path

import pytest

import midfold
from midfold.errors import SessionBusy, SessionEnded
from midfold.store import open_store

ROUNDS = max(4, int(os.environ.get("MIDFOLD_FAULT_ROUNDS", "6")))
MESSAGES = [
    {"role": "user" if index % 2 == 0 else "assistant", "content": f"{index} about the harbour office " * 30}
    for index in range(30)
]


@pytest.mark.timeout(900)
@pytest.mark.parametrize("processes", [2, 8])
def test_row_10_many_processes_fold_one_session_and_one_wins(tmp_path: Path, processes: int) -> None:
    """Row 10: no forks, exactly one commit, nothing lost."""
    path = tmp_path / "sessions.db"
    with open_store(path, synchronous="NORMAL") as store:
        ids = [store.create_session(session_id=f"s{number}").id for number in range(ROUNDS)]
        for session in ids:
            store.append(session, MESSAGES)
    # Forked while no store is open, so that no thread and no lock is inherited.
    context = multiprocessing.get_context("fork")
    barrier = context.Barrier(processes)
    results: multiprocessing.Queue[tuple[int, str]] = context.Queue()
    workers = [context.Process(target=fold_all, args=(path, barrier, results)) for _ in range(processes)]
    for worker in workers:
        worker.start()
    told = [results.get(timeout=120) for _ in range(processes * ROUNDS)]
    for worker in workers:
        worker.join(60)
    assert {worker.exitcode for worker in workers} == {0}
    with open_store(path, synchronous="NORMAL") as store:
        for number, session in enumerate(ids):
            assert [what for which, what in told if which == number].count("folded") == 1
            assert len(store.chain(session)) == 2
            assert [each.item for each in store.history(session)] == MESSAGES
        assert store.check() == []


def fold_all(path: Path, barrier: Barrier, results: "multiprocessing.Queue[tuple[int, str]]") -> None:
    result = midfold.compress(MESSAGES, max_tokens=1_500, strategy="fold")
    assert result.fold is not None
    with open_store(path, synchronous="NORMAL") as store:
        for which in range(ROUNDS):
            barrier.wait(60)
            try:
                store.continue_session(f"s{which}", result.messages, result)
                results.put((which, "folded"))
            except (SessionEnded, SessionBusy):
                results.put((which, "too late"))
