"""What it costs to keep output out of the context: to write it, to read a part, to find nothing to do.

CPU time is compared with the goals; what the clock shows stands beside it, and is mostly the disk's.
"""

import tempfile
import time
from collections.abc import Callable
from functools import partial
from itertools import count
from pathlib import Path

from benchmarks.timing import best_cpu, report
from midfold.messages import Message, ToolResult
from midfold.offload import Budgets, FileSession, FileSink, enforce, offload_result, plan_offload

SIZE = 1_000_000
LOG = "2026-03-04T05:06:07Z INFO worker[12]: GET /v1/items?page=3 200 in 14 ms, 1834 bytes sent\n"
TURN_CHARS = 60_000
CHECKS = 10_000


def main() -> None:
    """Print the cost of each."""
    with tempfile.TemporaryDirectory() as folder:
        session = FileSink(Path(folder) / "outputs").session("benchmark")
        _report_result(session, "ASCII", _fill(LOG))
        _report_result(
            session, "Chinese", _fill("请修复登录页面的错误，然后运行测试。日志在 /var/log/app.log 里。\n")
        )
        _report_slices(session)
        _report_turn(session)
    _report_checks(session)


def _report_result(session: FileSession, name: str, text: str) -> None:
    calls = count()
    _report(
        f"1 MB result persisted, {name}",
        lambda: offload_result(text, session, tool="terminal", call_id=f"{name} {next(calls)}"),
        "6 ms",
    )


def _report_slices(session: FileSession) -> None:
    reference = session.write("slices", _fill("ä line of the log\n"), tool="terminal")
    for offset in (0, SIZE // 2, SIZE - 100_000):
        read = partial(session.read, reference, offset, 10_000)
        _report(f"10,000 characters from {offset:,} on", read, "2 ms")


def _report_turn(session: FileSession) -> None:
    calls = count()
    text = _fill(LOG)[:TURN_CHARS]

    def turn() -> None:
        results = [ToolResult(f"turn {next(calls)}", text) for _ in range(8)]
        enforce([Message("tool", (result,)) for result in results], session)

    _report("turn of 8 x 60 KB", turn, "15 ms")


def _report_checks(session: FileSession) -> None:
    text = _fill(LOG)[:TURN_CHARS]
    messages = [Message("tool", (ToolResult(f"call {number}", text[:20_000]),)) for number in range(8)]
    budgets = Budgets()
    _report_check(
        "check of a result under its limit", partial(offload_result, text, session, tool="terminal")
    )
    _report_check("check of a turn of 8 results under its limit", partial(plan_offload, messages, budgets))


def _report_check(name: str, check: Callable[[], object]) -> None:
    seconds = best_cpu(lambda: [check() for _ in range(CHECKS)]) / CHECKS
    report(name, f"{seconds * 1e6:.1f} us", "10 us")


def _report(name: str, work: Callable[[], object], goal: str) -> None:
    cpu_ms = best_cpu(work, runs=15) * 1e3
    start = time.perf_counter()
    work()
    clock_ms = (time.perf_counter() - start) * 1e3
    report(name, f"{cpu_ms:.2f} ms ({clock_ms:.2f})", goal)


def _fill(text: str) -> str:
    """Return a megabyte of it."""
    return text * (SIZE // len(text.encode()))


if __name__ == "__main__":
    main()
