"""What the agent's loop adds to a turn: time in a long session, memory in an endless one.

CPU time is compared with the goals; what the clock shows stands beside it.
"""

import gc
import resource
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.timing import report
from midfold.agent import Agent
from midfold.testing.upstream import Reply, Upstream
from midfold.tokens import CanonicalUsage

MESSAGES = 2_000
MEASURED_TURNS = 60
ENDLESS_TURNS = 5_000
_WORDS = "The meter at the harbour takes coins and cards. "
_USED = CanonicalUsage(input_tokens=1_000, output_tokens=5)


def main() -> None:
    """Print the overhead of a turn, and how memory grows."""
    with tempfile.TemporaryDirectory() as folder:
        _report_overhead(Path(folder))
    with tempfile.TemporaryDirectory() as folder:
        _report_memory(Path(folder))


def _report_overhead(folder: Path) -> None:
    """Measure whole turns, and take off what sending the same request takes without an agent."""
    with Upstream(Reply("Noted.", usage=_USED)) as up, _open(up, folder, enabled=False) as agent:
        for _ in range(MESSAGES // 2):
            _turn(agent)
            up._requests.clear()  # it remembers everything, and runs in this process
        turns = [_timed(lambda: _turn(agent)) for _ in range(MEASURED_TURNS)]
        bare = [_timed(lambda: _send(agent)) for _ in range(MEASURED_TURNS)]
    turn, request = _median(turns), _median(bare)
    report(f"turn in a session of {MESSAGES:,} messages, whole", str(turn), "-")
    report("the same request without the agent", str(request), "-")
    added = Spent(turn.cpu - request.cpu, turn.clock - request.clock)
    report("overhead of the loop, median", str(added), "10 ms")


def _report_memory(folder: Path) -> None:
    with Upstream(Reply("Noted.", usage=_USED)) as up, _open(up, folder, context_length=20_000) as agent:
        for _ in range(ENDLESS_TURNS // 5):
            _turn(agent)
            up._requests.clear()
        before = _megabytes()
        for _ in range(ENDLESS_TURNS - ENDLESS_TURNS // 5):
            _turn(agent)
            up._requests.clear()
        grown = _megabytes() - before
    report(f"memory after {ENDLESS_TURNS:,} turns, against the first fifth", f"{grown:+.1f} MB", "flat")


def _open(up: Upstream, folder: Path, **options: object) -> Agent:
    chosen = {"base_url": up.url, "home": folder / "home", "workspace": folder, "summarizer": None, **options}
    return Agent("local/scripted", **chosen)  # type: ignore[arg-type]


def _turn(agent: Agent) -> None:
    for _ in agent.run(_WORDS * 4):
        pass


@dataclass(frozen=True, slots=True)
class Spent:
    """Seconds of CPU, of all threads, and of the clock, which on a busy machine says little."""

    cpu: float
    clock: float

    def __str__(self) -> str:
        return f"{self.cpu * 1e3:.1f} ms ({self.clock * 1e3:.1f})"


def _timed(work: Callable[[], None]) -> Spent:
    cpu, clock = time.process_time(), time.perf_counter()
    work()
    return Spent(time.process_time() - cpu, time.perf_counter() - clock)


def _median(spent: list[Spent]) -> Spent:
    return Spent(
        statistics.median(each.cpu for each in spent), statistics.median(each.clock for each in spent)
    )


def _send(agent: Agent) -> None:
    """Send what the agent would, with its own model, and nothing else."""
    core = agent._core
    conversation = core.conversation

    async def ask() -> None:
        request = core.live.request(
            conversation.items,
            conversation.dialect,
            system=conversation.system,
            tools=core.schemas,
            max_output=None,
        )
        async for _ in core.live.model.stream(request):
            pass

    agent._wait(ask())


def _megabytes() -> float:
    gc.collect()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main()
