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
from benchmarks.peers import PEER_PYTHON, report_ratio
from benchmarks.peers import _session as agent_session
from benchmarks.timing import report
from midfold.store import open_store
from midfold.store.sqlite.store import SqliteStore

ROOT = Path(__file__).parents[1]
WARM, APPENDS = 500, 1_000
RUNS = 5
PER_TURN = 10
MESSAGES = 100_000
PER_TRANSACTION = 500
LONG_SESSION = 10_000
LINES = 8

# What is loaded, compiled and cached at the first messages is no part of what the next ones cost. Settling
# the index is, so that a search finds them all.
_MEASURED = """
gc.collect(); gc.freeze()
start, cpu = time.perf_counter(), time.process_time()
append(messages)
settle()
print(time.perf_counter() - start, time.process_time() - cpu)
"""
OURS = (
    """
import gc, json, sys, time
from midfold.store import open_store
warm, messages = json.load(open(sys.argv[1]))
per_turn = int(sys.argv[3])
store = open_store(sys.argv[1] + ".ours", synchronous=sys.argv[2])
def append(items):
    session = store.create_session(dialect="openai_chat").id
    for first in range(0, len(items), per_turn):
        store.append(session, items[first : first + per_turn])
def settle():
    store.search("warm")
append(warm)
settle()
"""
    + _MEASURED
)
# A bare table and the same terms in the same kind of index: no digest, no check, no credential looked for.
PLAIN = (
    """
import gc, json, sys, time
from midfold.search import index_terms
from midfold.store.codec import stored_texts
from midfold.store.sqlite.driver import open_writer
from pathlib import Path
warm, messages = json.load(open(sys.argv[1]))
per_turn = int(sys.argv[3])
db = open_writer(Path(sys.argv[1] + ".plain"), synchronous=sys.argv[2])
db.execute("CREATE TABLE said (id INTEGER PRIMARY KEY, session INTEGER, seq INTEGER, role TEXT, body TEXT,"
           " at REAL, UNIQUE (session, seq))")
db.execute("CREATE VIRTUAL TABLE terms USING fts5 (words, content = '', detail = 'none', tokenize = 'ascii')")
def append(items):
    for first in range(0, len(items), per_turn):
        db.execute("BEGIN IMMEDIATE")
        for seq, item in enumerate(items[first : first + per_turn], first):
            body = json.dumps(item, ensure_ascii=False)
            row = db.execute("INSERT INTO said (session, seq, role, body, at) VALUES (?, ?, ?, ?, ?)",
                             (len(items), seq, item["role"], body, time.time())).lastrowid
            terms = index_terms(stored_texts("openai_chat", body))
            db.execute("INSERT INTO terms (rowid, words) VALUES (?, ?)", (row, terms))
        db.execute("COMMIT")
def settle():
    pass
append(warm)
"""  # noqa: S608 - constants only
    + _MEASURED
)
PEER = (
    """
import gc, json, logging, sys, time
logging.disable(logging.CRITICAL)
from pathlib import Path
from hermes_state import SessionDB
warm, messages = json.load(open(sys.argv[1]))
store = SessionDB(Path(sys.argv[1] + ".peer"))
store._conn.execute(f"PRAGMA synchronous={sys.argv[2]}")
NAMES = ("role", "content", "tool_calls", "tool_call_id", "tool_name")
def append(items):
    session = str(len(items))
    store.create_session(session, "benchmark")
    for item in items:
        store.append_message(session, **{name: item[name] for name in NAMES if name in item})
def settle():
    pass  # it writes its index at once
append(warm)
"""
    + _MEASURED
)


def main() -> None:
    """Print appends next to the peer's, then sizes and times of a large store."""
    with tempfile.TemporaryDirectory() as folder:
        _report_appends(Path(folder))
        _report_large(Path(folder))
        _report_short(Path(folder))


def _report_appends(folder: Path) -> None:
    path = folder / "messages.json"
    items = [item for item in agent_session() if isinstance(item, dict)][: WARM + APPENDS]
    path.write_text(json.dumps([items[:WARM], items[WARM:]]), "utf-8")
    count = len(items) - WARM
    size = sum(len(json.dumps(item, ensure_ascii=False)) for item in items) / len(items)
    print(f"{count:,} messages of {size:,.0f} characters on average")
    for synchronous, goals in (("NORMAL", ("3 x", "6 x")), ("FULL", ("-", "8 x"))):
        for per_turn, goal in zip((1, PER_TURN), goals, strict=True):
            runs = [_run(path, synchronous, per_turn) for _ in range(RUNS)]
            ours, plain, peer = (min(seconds) / count for seconds in zip(*runs, strict=True))
            name = f"append by {per_turn}, {synchronous}"
            report(f"midfold: {name}", f"{ours * 1e6:.0f} us a message", "-")
            report(f"the same to a bare table with the same index: {name}", f"{ours / plain:.2f} x", "-")
            if PEER_PYTHON.exists():
                report(f"hermes-agent 0.19: one by one, {synchronous}", f"{peer * 1e6:.0f} us each", "-")
                report_ratio(name, peer / ours, goal)


def _run(path: Path, synchronous: str, per_turn: int) -> tuple[float, float, float]:
    """Return the seconds by the clock of each, one right after the other: a disk is moody."""
    seconds = []
    own = Path(sys.executable)
    for python, code in ((own, OURS), (own, PLAIN), (PEER_PYTHON, PEER)):
        for left in path.parent.glob(f"{path.name}.*"):
            left.unlink()
        if not python.exists():
            return seconds[0], seconds[1], 0.0
        done = subprocess.run(
            [python, "-c", code, path, synchronous, str(per_turn)],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "HERMES_HOME": str(path.parent / "peer-home")},
        )
        wall, _cpu = map(float, done.stdout.split()[-2:])
        seconds.append(wall)
    return seconds[0], seconds[1], seconds[2]


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
        _report_sessions(store)


def _report_short(folder: Path) -> None:
    path = folder / "short.db"
    line = "Step {n}: the meter at gate {gate} reports {coins} coins, and its tray has room for some more."
    payload = 0
    with open_store(path, synchronous="NORMAL") as store:
        for first in range(0, MESSAGES, LONG_SESSION):
            session = store.create_session(dialect="openai_chat").id
            numbers = range(first, first + LONG_SESSION)
            texts = [line.format(n=n, gate=n % 97, coins=n * 7 % 1013) for n in numbers]
            messages = [{"role": "user", "content": text} for text in texts]
            payload += sum(len(json.dumps(each).encode()) for each in messages)
            for place in range(0, LONG_SESSION, PER_TRANSACTION):
                store.append(session, messages[place : place + PER_TRANSACTION])
        store.search("meter")
    size = payload / MESSAGES
    report(f"database to payload, messages of {size:.0f} bytes", f"{path.stat().st_size / payload:.2f}", "2")


def _report_sessions(store: SqliteStore) -> None:
    """Print what long sessions cost, each time the best of several."""
    times: dict[str, list[float]] = {"reading": [], "continuing": [], "taking back": []}
    for session in store.sessions(limit=RUNS):
        start = time.perf_counter()
        messages = store.messages(session.id)
        times["reading"].append(time.perf_counter() - start)
        result = midfold.compress(messages, max_tokens=200_000, strategy="fold")
        start = time.perf_counter()
        store.continue_session(session.id, result.messages, result)
        times["continuing"].append(time.perf_counter() - start)
        start = time.perf_counter()
        store.undo_continuation(session.id)
        times["taking back"].append(time.perf_counter() - start)
    for name, seconds in times.items():
        goal = "0.3 s" if name == "continuing" else "-"
        report(f"{name} a session of {LONG_SESSION:,} messages", f"{min(seconds):.2f} s", goal)


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
