"""Processes that fold one session at the same time: one of them does, the others hear of it."""

import multiprocessing
import threading
from multiprocessing.synchronize import Barrier
from pathlib import Path

import pytest

import midfold
from midfold.errors import SessionBusy, SessionEnded
from midfold.store import open_store

MESSAGES = [
    {"role": "user" if index % 2 == 0 else "assistant", "content": f"{index} about the harbour office " * 30}
    for index in range(30)
]


@pytest.mark.timeout(900)
@pytest.mark.parametrize("processes", [2, 8])
def test_many_processes_fold_one_session_and_one_wins(tmp_path: Path, processes: int, rounds: int) -> None:
    """No forks, exactly one commit, nothing lost."""
    path = tmp_path / "sessions.db"
    with open_store(path, synchronous="NORMAL") as store:
        ids = [store.create_session(session_id=f"s{number}").id for number in range(rounds)]
        for session in ids:
            store.append(session, MESSAGES)
    # Forked while no store is open, so that no thread and no lock is inherited.
    context = multiprocessing.get_context("fork")
    barrier = context.Barrier(processes)
    results: multiprocessing.Queue[tuple[int, str]] = context.Queue()
    workers = [
        context.Process(target=fold_all, args=(path, barrier, results, rounds)) for _ in range(processes)
    ]
    for worker in workers:
        worker.start()
    told = [results.get(timeout=120) for _ in range(processes * rounds)]
    for worker in workers:
        worker.join(60)
    assert {worker.exitcode for worker in workers} == {0}
    with open_store(path, synchronous="NORMAL") as store:
        for number, session in enumerate(ids):
            assert [what for which, what in told if which == number].count("folded") == 1
            assert len(store.chain(session)) == 2
            assert [each.item for each in store.history(session)] == MESSAGES
        assert store.check() == []


def test_a_reader_sees_the_old_list_or_the_new_one(tmp_path: Path, rounds: int) -> None:
    """Invariant 35: never half a fold, however often it is folded and taken back."""
    path = tmp_path / "sessions.db"
    result = midfold.compress(MESSAGES, max_tokens=1_500, strategy="fold")
    with open_store(path, synchronous="NORMAL") as store:
        root = store.create_session(dialect="openai_chat").id
        store.append(root, MESSAGES)
        is_over = threading.Event()
        odd: list[object] = []

        def read() -> None:
            with open_store(path, synchronous="NORMAL") as reader:
                while not is_over.is_set():
                    seen = reader.messages(reader.get_compression_tip(root))
                    if seen not in (MESSAGES, result.messages):
                        odd.append(seen)

        readers = [threading.Thread(target=read) for _ in range(2)]
        for reader in readers:
            reader.start()
        tip = root
        for _ in range(max(10, rounds)):
            tip = store.undo_continuation(store.continue_session(tip, result.messages, result))
        is_over.set()
        for reader in readers:
            reader.join(30)
        assert odd == []
        assert store.messages(tip) == MESSAGES


def fold_all(
    path: Path, barrier: Barrier, results: "multiprocessing.Queue[tuple[int, str]]", rounds: int
) -> None:
    result = midfold.compress(MESSAGES, max_tokens=1_500, strategy="fold")
    assert result.fold is not None
    with open_store(path, synchronous="NORMAL") as store:
        for which in range(rounds):
            barrier.wait(60)
            try:
                store.continue_session(f"s{which}", result.messages, result)
                results.put((which, "folded"))
            except (SessionEnded, SessionBusy):
                results.put((which, "too late"))
