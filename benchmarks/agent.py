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
from midfold.config import STORE_FILE
from midfold.messages import Message, Text
from midfold.store import open_store
from midfold.testing.upstream import Reply, Upstream
from midfold.tokens import CanonicalUsage
from midfold.wire import Request, render

MESSAGES = 2_000
MEASURED_TURNS = 60
ENDLESS_TURNS = 5_000
_WORDS = "The meter at the harbour takes coins and cards. "
_USED = CanonicalUsage(input_tokens=1_000, output_tokens=5)


def main() -> None:
    """Print the overhead of a turn, and how memory grows."""
    with tempfile.TemporaryDirectory() as folder:
        _report_memory(Path(folder))  # first, since what is measured is the most that was ever in use
    for model, api in (("local/scripted", "openai_chat"), ("local/claude-sonnet-4-5", "anthropic")):
        with tempfile.TemporaryDirectory() as folder:
            _report_overhead(Path(folder), model, api)


def _report_overhead(folder: Path, model: str, api: str) -> None:
    """Measure whole turns, and take off what sending the same request takes without an agent.

    Claude gets breakpoints for its prompt cache, so that there is more to do.
    """
    session = _fill(folder / "home", api)
    options = {"api": api, "session": session, "enabled": False}
    with Upstream(Reply("Noted.", usage=_USED)) as up, _open(up, folder, model, **options) as agent:
        # One after the other, so that what else the machine does falls on both alike.
        pairs = [
            (_timed(lambda: _turn(agent), up), _timed(lambda: _send(agent), up))
            for _ in range(MEASURED_TURNS)
        ]
    turn, request = _median([whole for whole, _ in pairs]), _median([bare for _, bare in pairs])
    report(f"turn in a session of {MESSAGES:,} messages, {api}", str(turn), "-")
    report("the same request without the agent", str(request), "-")
    added = [Spent(whole.cpu - bare.cpu, whole.clock - bare.clock) for whole, bare in pairs]
    report("overhead of the loop, median", str(_median(added)), "10 ms")


def _fill(home: Path, api: str) -> str:
    """Keep a long session in the store of an agent, and return its id."""
    said = [Message("user", (Text(_WORDS * 4),)), Message("assistant", (Text("Noted."),))] * (MESSAGES // 2)
    with open_store(home / STORE_FILE) as store:
        session = store.create_session(source="chat", dialect=api, system="You look after the meters.").id
        store.append(session, render(said, api))
    return session


def _report_memory(folder: Path) -> None:
    """Let an agent run through many folds; the server reports no usage, so the agent counts for itself."""
    with (
        Upstream(Reply("Noted.")) as up,
        _open(up, folder, "local/scripted", context_length=20_000) as agent,
    ):
        for _ in range(ENDLESS_TURNS // 5):
            _turn(agent)
            up._requests.clear()
        before = _megabytes()
        for _ in range(ENDLESS_TURNS - ENDLESS_TURNS // 5):
            _turn(agent)
            up._requests.clear()
        grown, folds = _megabytes() - before, agent.status().folds
    name = f"memory after {ENDLESS_TURNS:,} turns and {folds} folds, against the first fifth"
    report(name, f"{grown:+.1f} MB", "flat")


def _open(up: Upstream, folder: Path, model: str, **options: object) -> Agent:
    chosen = {"base_url": up.url, "home": folder / "home", "workspace": folder, "summarizer": None, **options}
    return Agent(model, **chosen)  # type: ignore[arg-type]


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


def _timed(work: Callable[[], None], up: Upstream) -> Spent:
    up._requests.clear()  # it remembers everything, and runs in this process
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
        request = Request(
            conversation.dialect,
            conversation.items,
            system=conversation.system,
            tools=core.schemas,
            model=core.model.name,
        )
        async for _ in core.model.client.stream(request):
            pass

    agent._wait(ask())


def _megabytes() -> float:
    gc.collect()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main()
