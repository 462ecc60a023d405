"""Agents that talk to a scripted upstream over real HTTP, with a home and a workspace of their own."""

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from midfold.agent import Agent, ApprovalRequested, Event, Proposal
from midfold.agent.edit_history import EditHistory
from midfold.agent.tools.file_edits import FileEdits
from midfold.agent.tools.file_search import search_tools
from midfold.agent.tools.files import file_tools
from midfold.agent.tools.terminal import terminal_tool
from midfold.agent.tools.workspace import Workspace
from midfold.testing.upstream import Upstream
from midfold.wire.validate import validate


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    return folder


@pytest.fixture
def make_agent(tmp_path: Path, workspace: Path) -> Iterator[Callable[..., Agent]]:
    """Make agents that are closed afterwards; summaries come from the digest unless a test says otherwise."""
    with ExitStack() as stack:

        def make(up: Upstream, *, model: str = "local/scripted", **options: object) -> Agent:
            chosen = {
                "base_url": up.url,
                "workspace": workspace,
                "home": tmp_path / "home",
                "summarizer": None,
                **options,
            }
            return stack.enter_context(Agent(model, **chosen))  # type: ignore[arg-type]

        yield make


@pytest.fixture
def use(workspace: Path, tmp_path: Path) -> Callable[..., str]:
    """Call a built-in tool by its name, as a model would whom the user allows everything."""
    bounds = Workspace.open(workspace, [tmp_path / "allowed"])
    edits = FileEdits(bounds, EditHistory(tmp_path / "home", lambda: "talk"))
    tools = [*file_tools(edits), *search_tools(bounds), terminal_tool(bounds)]
    by_name = {each.name: each for each in tools}

    def using(name: str, **arguments: object) -> str:
        answer = by_name[name].run(arguments)
        if isinstance(answer, Proposal):
            return answer.run()
        return answer if isinstance(answer, str) else asyncio.run(finish(answer))

    async def finish(answer: Awaitable[str]) -> str:
        return await answer

    return using


@pytest.fixture
def play() -> Callable[..., list[Event]]:
    """Run a turn to its end, answering what is asked, and return all that happened."""

    def playing(agent: Agent, prompt: str | None = None, *, allow: bool = True) -> list[Event]:
        events = []
        for event in agent.run(prompt):
            if isinstance(event, ApprovalRequested):
                event.answer(allow)
            events.append(event)
        return events

    return playing


@pytest.fixture
def faults_in() -> Callable[[Upstream], list[str]]:
    """Name what a provider would refuse in any request that an upstream received."""

    def looking(up: Upstream) -> list[str]:
        found = []
        for number, received in enumerate(up.requests):
            request = received.request
            assert request is not None, received.body[:200]
            faults = validate(
                request.messages, dialect=request.dialect, system=request.system, tools=request.tools
            )
            found += [f"request {number}: {fault}" for fault in faults if fault.severity == "error"]
        return found

    return looking


@pytest.fixture
def has_ended() -> Callable[[int], bool]:
    def has_ended(pid: int) -> bool:
        """Whether a process that was killed is gone, or only waits for somebody to take note of its end."""
        until = time.monotonic() + 5
        while time.monotonic() < until:
            try:
                if Path(f"/proc/{pid}/stat").read_text().split()[2] in "ZX":
                    return True
            except (FileNotFoundError, ProcessLookupError):
                return True
            threading.Event().wait(0.01)
        return False

    return has_ended
