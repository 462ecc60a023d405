"""What a session store costs, next to that of the best-known system of this kind, in one run.

Both write the same messages through SQLite in WAL mode, in the same synchronous mode, each in its own
interpreter; only the ratio means something on another machine. `make bench-peers` installs the peer.
"""

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import midfold
from benchmarks.peers import PEER_PYTHON
from benchmarks.timing import report
from midfold.store import open_store
from midfold.store.sqlite.store import SqliteStore

ROOT = Path(__file__).parents[1]
APPENDS = 1_500
PER_TURN = 10
MESSAGES = 100_000
PER_TRANSACTION = 500
LONG_SESSION = 10_000
LINES = 8

OURS = """
import json, sys, time
from midfold.store import open_store
messages, synchronous, per_turn = json.load(open(sys.argv[1])), sys.argv[2], int(sys.argv[3])
store = open_store(sys.argv[1] + ".ours", synchronous=synchronous)
session = store.create_session(dialect="openai_chat").id
store.append(session, messages[0])
start, cpu = time.perf_counter(), time.process_time()
for first in range(0, len(messages), per_turn):
    store.append(session, messages[first : first + per_turn])
print(time.perf_counter() - start, time.process_time() - cpu)
"""
PEER = """
import json, logging, sys, time
logging.disable(logging.CRITICAL)
from pathlib import Path
from hermes_state import SessionDB
messages, synchronous, per_turn = json.load(open(sys.argv[1])), sys.argv[2], int(sys.argv[3])
store = SessionDB(Path(sys.argv[1] + ".peer"))
store._conn.execute(f"PRAGMA synchronous={synchronous}")
store.create_session("s", "benchmark")
store.append_message("s", **messages[0])
start, cpu = time.perf_counter(), time.process_time()
for message in messages:
    store.append_message("s", **message)
print(time.perf_counter() - start, time.process_time() - cpu)
"""


def main() -> None:
    """Print appends next to the peer's, then sizes and times of a large store."""
    with tempfile.TemporaryDirectory() as folder:
        _report_appends(Path(folder))
        _report_large(Path(folder))


def _report_appends(folder: Path) -> None:
    for synchronous in ("NORMAL", "FULL"):
        for per_turn, goal in ((1, "3 x"), (PER_TURN, "8 x")):
            path = folder / f"{synchronous}{per_turn}.json"
            path.write_text(json.dumps(list(_messages(APPENDS))), "utf-8")
            ours = _run(Path(sys.executable), OURS, path, synchronous, per_turn)
            report(f"midfold: append by {per_turn}, {synchronous}", f"{ours * 1e6:.0f} us a message", "-")
            if not PEER_PYTHON.exists():
                continue
            peer = _run(PEER_PYTHON, PEER, path, synchronous, per_turn)
            report(f"hermes-agent 0.19: the same messages, {synchronous}", f"{peer * 1e6:.0f} us each", "-")
            report(f"hermes-agent against midfold by {per_turn}, {synchronous}", f"{peer / ours:.1f} x", goal)


def _run(python: Path, code: str, path: Path, synchronous: str, per_turn: int) -> float:
    """Return the seconds a message takes by the clock, in the faster of three runs: a disk is moody."""
    runs = []
    for _ in range(3):
        for left in path.parent.glob(f"{path.name}.*"):
            left.unlink()
        environment = {**os.environ, "HERMES_HOME": str(path.parent / "peer-home")}
        done = subprocess.run(
            [python, "-c", code, path, synchronous, str(per_turn)],
            capture_output=True,
            text=True,
            check=True,
            env=environment,
        )
        runs.append(float(done.stdout.split()[-2]))
    return min(runs) / APPENDS


def _report_large(folder: Path) -> None:
    path = folder / "large.db"
    payload = 0
    with open_store(path, synchronous="NORMAL") as store:
        start = time.process_time()
        for first in range(0, MESSAGES, LONG_SESSION):
            session = store.create_session(dialect="openai_chat").id
            messages = list(_messages(LONG_SESSION, seed=first))
            payload += sum(len(json.dumps(each, ensure_ascii=False).encode()) for each in messages)
            for place in range(0, LONG_SESSION, PER_TRANSACTION):
                store.append(session, messages[place : place + PER_TRANSACTION])
        seconds = time.process_time() - start
    report(f"writing {MESSAGES:,} messages", f"{seconds / MESSAGES * 1e6:.0f} us each", "-")
    report("database to payload", f"{path.stat().st_size / payload:.2f} of {payload / 1e6:.0f} MB", "2")
    start = time.perf_counter()
    store = open_store(path, synchronous="NORMAL")
    report("opening it", f"{(time.perf_counter() - start) * 1e3:.1f} ms", "-")
    with store:
        _report_session(store, session)


def _report_session(store: SqliteStore, session: str) -> None:
    start = time.perf_counter()
    messages = store.messages(session)
    report(f"reading {LONG_SESSION:,} messages", f"{time.perf_counter() - start:.2f} s", "-")
    result = midfold.compress(messages, max_tokens=200_000, strategy="fold")
    start = time.perf_counter()
    store.continue_session(session, result.messages, result)
    report(f"continuing a session of {LONG_SESSION:,}", f"{time.perf_counter() - start:.2f} s", "0.3 s")
    start = time.perf_counter()
    store.undo_continuation(session)
    report("taking the fold back", f"{time.perf_counter() - start:.2f} s", "-")


def _messages(count: int, seed: int = 7) -> list[dict[str, object]]:
    """Make messages from lines of our own pages and code."""
    source = random.Random(seed)
    lines = [
        line
        for pattern in ("docs/*.md", "src/midfold/**/*.py")
        for path in sorted(ROOT.glob(pattern))
        for line in path.read_text("utf-8").splitlines()
        if len(line) > 20
    ]
    return [
        {
            "role": "assistant" if index % 2 else "user",
            "content": f"{index}\n" + "\n".join(source.choices(lines, k=source.randint(2, 2 * LINES))),
        }
        for index in range(count)
    ]


if __name__ == "__main__":
    main()
