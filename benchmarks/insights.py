"""What a report on a period costs, over a thousand sessions of ten turns."""

import tempfile
import time
from pathlib import Path

from benchmarks.timing import best_cpu, report
from midfold.store import open_store
from midfold.store.sqlite.store import SqliteStore
from midfold.usage import make_call, read_insights

SESSIONS = 1_000
TURNS = 10
GROWN = 20
MODEL = "claude-sonnet-4-5"


def main() -> None:
    """Print the time of a report: where all is kept, for the first time, and after some days of work."""
    with (
        tempfile.TemporaryDirectory() as folder,
        open_store(Path(folder) / "insights.db", synchronous="NORMAL") as store,
    ):
        for number in range(SESSIONS):
            _fill(store, number)
        began = time.process_time()
        while (insights := read_insights(store, now=time.time())).tools_of < SESSIONS:
            pass  # a report reads for some seconds by the clock, which a busy machine spends elsewhere
        first = time.process_time() - began
        seconds = best_cpu(lambda: read_insights(store, now=time.time()), runs=3)
        name = f"insights over {SESSIONS:,} sessions with {insights.totals.calls:,} calls"
        report(name, f"{seconds:.2f} s; {insights.tools_of:,} read", "0.3 s")
        report("the first one, which keeps what it reads", f"{first:.2f} s, {first / seconds:.0f} times", "-")
        for number in range(SESSIONS, SESSIONS + GROWN):
            _fill(store, number)
        began = time.process_time()
        read_insights(store, now=time.time())
        report(f"one after {GROWN} further sessions", f"{time.process_time() - began:.2f} s", "0.3 s")


def _fill(store: SqliteStore, number: int) -> None:
    session = store.create_session(source="chat", model=MODEL, dialect="openai_chat").id
    turns = (_turn(number * TURNS + turn) for turn in range(TURNS))
    store.append(session, [message for turn in turns for message in turn])
    for turn in range(TURNS):
        used = {"input_tokens": 1_000 + turn, "output_tokens": 20}
        store.record_call(session, make_call(used, MODEL))


def _turn(number: int) -> list[dict[str, object]]:
    function = {"name": "read_file", "arguments": f'{{"path":"src/module_{number}.py"}}'}
    call = {"id": f"call_{number}", "type": "function", "function": function}
    code = f"def handler_{number % TURNS}():\n    return {number % TURNS}\n"
    return [
        {"role": "user", "content": f"Look at module {number}, please."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"call_{number}", "content": code * 20},
        {"role": "assistant", "content": f"Module {number} returns it. It is called from many places. " * 6},
    ]


if __name__ == "__main__":
    main()
