"""What a turn costs where a session is long: at 50,000 messages, with 60 folds, repaired, and after a resume.

`python -m benchmarks.turns resume` and `repair` measure those alone; real sessions are those of MIDFOLD_DATA.
"""

import gc
import gzip
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from benchmarks.peers import DATA
from benchmarks.timing import report
from midfold import ContextCompressor
from midfold.agent import Agent
from midfold.config import STORE_FILE
from midfold.store import open_store
from midfold.testing import transcript
from midfold.testing.upstream import Reply, Upstream
from midfold.tokens import CanonicalUsage

LONG = 50_000
MORE_TURNS = 30
DAY_TURNS = 3_000
DAY_WINDOW = 60_000
REPAIRED = 2_000
WARM_TURNS, TIMED_TURNS = 3, 10
RESUMED = (2_000, 10_000)
RESUME_GOALS = {2_000: "0.3 s", 10_000: "1 s"}


def main(part: str = "") -> None:
    """Print each."""
    if not part:
        _report_long()
        _report_day()
    if part != "resume":
        _report_repair()
    if part != "repair":
        for count in RESUMED:
            _report_resume(count)


def _report_long() -> None:
    """Time what a host asks each turn: is it time to compress?"""
    engine = ContextCompressor(100_000_000, prepare_ahead=False)
    items = transcript(turns=LONG // 3, result_chars=300)[:LONG]
    engine.should_compress_preflight(items)
    seconds = []
    for number in range(MORE_TURNS):
        items.append({"role": "user", "content": f"and now number {number}?"})
        start = time.process_time()
        engine.should_compress_preflight(items)
        seconds.append(time.process_time() - start)
    figure = f"{statistics.median(seconds) * 1e3:.1f} ms"
    report(f"one more turn at {len(items):,} messages", figure, "3 ms")


def _report_day() -> None:
    """Live through a day of turns in a window that has to be folded again and again."""
    engine = ContextCompressor(DAY_WINDOW, prepare_ahead=False)
    fresh = iter(transcript(turns=DAY_TURNS * 2, steps=1, result_chars=2_500))
    view: list[object] = []
    seconds, folds = [], 0
    gc.collect()
    for _ in range(DAY_TURNS):
        view += [next(fresh) for _ in range(4)]
        start = time.process_time()
        if engine.should_compress_preflight(view):
            view = list(engine.compress(view))
            folds += 1
        seconds.append(time.process_time() - start)
    seconds.sort()
    late = seconds[DAY_TURNS * 99 // 100] * 1e3
    name = f"worst of {DAY_TURNS:,} turns with {folds} folds; the 99th of a hundred"
    report(name, f"{seconds[-1] * 1e3:.0f}; {late:.1f} ms", "60 ms")


def _real_items(count: int) -> list[object]:
    """Return real conversations one after another, as far as there are some."""
    items: list[object] = []
    for path in sorted(DATA.glob("*.json.gz")):
        said = json.loads(gzip.decompress(path.read_bytes()))["messages"]
        items += [item for item in said if item.get("role") != "system"]
    return items[:count]


def _report_repair() -> None:
    """Time turns whose list is repaired before it is sent, next to those of the same list as it is."""
    for name, items in _conversations(REPAIRED):
        with _stored(items) as resume, resume() as agent:
            plain = _time_turns(agent)
            agent._core.is_repaired = True
            added = _time_turns(agent) - plain
        figure = f"{plain * 1e3:.0f}; {added * 1e3:+.1f} ms"
        report(f"a turn at {REPAIRED:,} {name} messages; what a repair adds", figure, "+8 ms")


def _time_turns(agent: Agent) -> float:
    for _ in range(WARM_TURNS):
        _take_turn(agent)
    seconds = []
    for _ in range(TIMED_TURNS):
        start = time.process_time()
        _take_turn(agent)
        seconds.append(time.process_time() - start)
    return min(seconds)


def _take_turn(agent: Agent) -> None:
    for _ in agent.run("Go on."):
        pass


def _conversations(count: int) -> Iterator[tuple[str, list[object]]]:
    """Yield made messages, and real ones where there are enough."""
    yield "made", transcript(turns=count // 3, result_chars=600)[:count]
    items = _real_items(count)
    if len(items) == count:
        yield "real", items


@contextmanager
def _stored(items: list[object]) -> Iterator[Callable[[], Agent]]:
    """Store a session, and give what opens an agent that goes on with it."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        with open_store(home / STORE_FILE) as store:
            session = store.create_session(source="chat", dialect="openai_chat").id
            store.append(session, items)
            store.rebuild_index()  # else the words of messages are indexed while the turn runs
        used = CanonicalUsage(input_tokens=1_000, output_tokens=5)
        with Upstream(Reply("Noted.", usage=used)) as up:
            yield partial(
                Agent,
                "local/scripted",
                base_url=up.url,
                home=home,
                workspace=Path(folder),
                summarizer=None,
                session=session,
                context_length=100_000_000,
            )


def _report_resume(count: int) -> None:
    """Time the first turn of an agent that goes on with a stored session."""
    for name, items in _conversations(count):
        with _stored(items) as resume:
            start = time.process_time()
            with resume() as agent:
                _take_turn(agent)
                seconds = time.process_time() - start
        goal = RESUME_GOALS[count]
        report(f"first turn after resuming {count:,} {name} messages", f"{seconds:.2f} s", goal)


if __name__ == "__main__":
    main(*sys.argv[1:])
