"""A process that uses a store until it is killed, and tells what it was promised.

Run as a script it loads everything once, then forks a worker for each line on its input: FOLDER SYNCHRONOUS
SEED FAULT ROUNDS. A worker writes a line for each promise of the store, after the store made it: whoever
killed the worker knows from them what must be there.
"""

import os
import random
import sys
from pathlib import Path

import midfold
from midfold import faults
from midfold.errors import MidfoldError
from midfold.folding.compression import Compression
from midfold.store import open_store
from midfold.store.sqlite.store import SqliteStore

_MAX_APPENDS = 8


def main() -> None:
    fold_talk(0)  # whatever is loaded at the first fold is loaded here
    for line in sys.stdin:
        folder, synchronous, seed, fault, rounds = line.split()
        # The worker waits until it is known by name: whoever kills it must not be a moment too early.
        gate, key = os.pipe()
        child = os.fork()
        if child == 0:
            os.read(gate, 1)
            faults.arm(None if fault == "-" else fault)
            work(Path(folder), synchronous, random.Random(int(seed)), int(rounds))
            os._exit(0)
        tell(f"started {child}")
        os.write(key, b".")
        os.close(key)
        os.close(gate)
        _, status = os.waitpid(child, 0)
        tell(f"ended {os.waitstatus_to_exitcode(status)}")


def tell(line: str) -> None:
    os.write(1, f"{line}\n".encode())


def work(folder: Path, synchronous: str, rng: random.Random, rounds: int) -> None:
    """Append, fold, take back, search and delete, telling each thing that is done."""
    store = open_store(folder / "sessions.db", synchronous=synchronous)
    session = newest_session(store) or open_session(store)
    for _ in range(rounds):
        choice = rng.random()
        try:
            session = grow(store, session, rng)
            if choice < 0.6:
                session = fold_session(store, session)
            elif choice < 0.8:
                session = undo(store, session)
            elif choice < 0.9:
                delete_one(store)
            else:
                store.search("harbour")
        except MidfoldError as error:
            if faults._armed is None:
                raise
            tell(f"refused {type(error).__name__}")
    store.close()


def newest_session(store: SqliteStore) -> str | None:
    found = [each for each in store.sessions(limit=1_000) if each.ended_at is None and each.source == "talk"]
    return found[0].id if found else None


def open_session(store: SqliteStore) -> str:
    session = store.create_session(source="talk", dialect="openai_chat").id
    tell(f"opened {session}")
    return session


def grow(store: SqliteStore, session: str, rng: random.Random) -> str:
    for _ in range(rng.randint(2, _MAX_APPENDS)):
        text = f"message {rng.getrandbits(64):016x} " + "about the harbour office " * 24
        first = store.append(session, {"role": rng.choice(["user", "assistant"]), "content": text})
        tell(f"appended {session} {first} {text.split()[1]}")
    return session


def fold_session(store: SqliteStore, session: str) -> str:
    result = fold_talk(0, store.messages(session))
    if result.fold is None:
        return session
    # Whoever comes after a killed worker need not wait for its lease here.
    lease = store.renew_lease(store.acquire_lease(session, f"worker {os.getpid()}", 0.0), 0.0)
    child = store.continue_session(session, result.messages, result, lease=lease)
    tell(f"continued {session} {child}")
    store.release_lease(lease)
    return child


def undo(store: SqliteStore, session: str) -> str:
    if not store.folds(session):
        return session
    child = store.undo_continuation(session)
    tell(f"undone {session} {child}")
    return child


def delete_one(store: SqliteStore) -> None:
    session = store.create_session(source="doomed").id
    store.append(session, {"role": "user", "content": "gone soon"})
    store.delete(session)
    tell(f"deleted {session}")


def fold_talk(seed: int, messages: list[object] | None = None) -> Compression[object]:
    """Fold a list to a part of it."""
    given = messages or [
        {"role": "user" if index % 2 == 0 else "assistant", "content": f"{index} talk " * 60}
        for index in range(40)
    ]
    size = sum(len(str(item)) for item in given) // 4
    return midfold.compress(given, max_tokens=max(900, size // 2), strategy="fold")


if __name__ == "__main__":
    main()
