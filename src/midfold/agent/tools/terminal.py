"""Running commands: only when somebody lets it, for a bounded time, with bounded output.

What they leave running ends with them. Only where this process itself is killed, a command that is running
goes on until it ends.
"""

import asyncio
import os
import re
import signal
import time
from asyncio.subprocess import DEVNULL, PIPE, STDOUT, Process, SubprocessStreamProtocol
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace

from midfold.agent.tools.leftovers import VARIABLE, end_marked, make_mark
from midfold.agent.tools.paths import Workspace
from midfold.agent.tools.registry import Tool, ToolFailed, tool
from midfold.agent.waiting import in_thread

DEFAULT_SECONDS = 120
MAX_SECONDS = 600
HEAD_BYTES = 400_000
TAIL_BYTES = 400_000
"""What is in between is thrown away as it comes; so much is put aside whole by the budgets anyway."""
LEFT_BEHIND = "\n[what it left running in the background was ended]"
_GRACE_SECONDS = 1.0
_REST_SECONDS = 0.2
_POLL_SECONDS = 0.05
_CHUNK_BYTES = 65_536
_CREDENTIAL = re.compile(
    r"(^|_)(API_?KEY|ACCESS_KEY|PRIVATE_KEY|TOKEN|SECRET|PASSWORD|PASSWD)$", re.IGNORECASE
)


def terminal_tool(workspace: Workspace, *, hidden: Collection[str] = (), shown: Collection[str] = ()) -> Tool:
    """Return the tool that runs shell commands in a workspace.

    They do not see the environment variables that are `hidden`, nor those that are named like a credential;
    but they see those that are `shown`, whatever they are called.
    """

    @tool(asks=True)
    async def terminal(command: str, timeout_seconds: int = DEFAULT_SECONDS) -> str:
        """Run a shell command in the workspace and return what it prints, and its exit status if not 0.

        The user is asked first. There is no input, and each command starts in the workspace afresh.
        command: the command line
        timeout_seconds: when to stop it, 600 at most
        """
        seconds = min(max(timeout_seconds, 1), MAX_SECONDS)
        environment = {
            name: value
            for name, value in os.environ.items()
            if name in shown or not (name in hidden or _CREDENTIAL.search(name))
        }
        return await _run(command, workspace, seconds, environment)

    return replace(terminal, preview=lambda arguments: str(arguments.get("command", "")))


@dataclass(frozen=True, slots=True)
class _Running:
    """A command that was started, and the mark of all that it starts."""

    process: Process
    transport: asyncio.SubprocessTransport
    mark: str


async def _run(command: str, workspace: Workspace, seconds: int, environment: Mapping[str, str]) -> str:
    started = time.monotonic()
    running = await _start(command, workspace, environment)
    process, output = running.process, _Output()
    try:
        async with asyncio.timeout(seconds):
            left_behind = LEFT_BEHIND if await _collect(running, output) else ""
    except TimeoutError:
        raise ToolFailed(f"{output.text}\n[stopped after {seconds} s]") from None
    finally:
        # Whatever the command left running goes with it, also when nobody waits any more.
        await _end(running)
    if process.returncode:
        raise ToolFailed(f"{output.text}{left_behind}\n[exit status {process.returncode}]".lstrip("\n"))
    return f"{output.text}{left_behind}" or f"[no output, {time.monotonic() - started:.1f} s]"


async def _start(command: str, workspace: Workspace, environment: Mapping[str, str]) -> _Running:
    """Start a command in a process group of its own.

    One that is cancelled while it starts has begun its work already, so it is waited for, and ended.
    """
    starting = asyncio.ensure_future(_open(command, workspace, environment, make_mark()))
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        with suppress(OSError, ValueError):
            await _end(await starting)
        raise
    except (OSError, ValueError) as error:
        raise ToolFailed(f"the command cannot be started: {error}") from None


async def _open(command: str, workspace: Workspace, environment: Mapping[str, str], mark: str) -> _Running:
    loop = asyncio.get_running_loop()
    transport, protocol = await loop.subprocess_shell(
        lambda: SubprocessStreamProtocol(limit=_CHUNK_BYTES, loop=loop),
        command,
        stdin=DEVNULL,
        stdout=PIPE,
        stderr=STDOUT,
        cwd=workspace.root,
        env={**environment, VARIABLE: mark},
        start_new_session=True,
    )
    return _Running(Process(transport, protocol, loop), transport, mark)


async def _collect(running: _Running, output: "_Output") -> bool:
    """Read what a command prints until it ends; true where it left something running, which is ended.

    What runs in the background holds the same pipe, so the end of the pipe is not the end of the command.
    """
    process = running.process
    reading = asyncio.ensure_future(_read(process, output))
    try:
        while process.returncode is None:  # its own wait() lasts until the pipe is closed
            await asyncio.wait([reading], timeout=_POLL_SECONDS)
            if reading.done():
                await process.wait()
        done, _ = await asyncio.wait([reading], timeout=_REST_SECONDS)
        if not done:
            await _kill(running)
            await asyncio.wait([reading], timeout=_REST_SECONDS)
        return not done
    finally:
        reading.cancel()


async def _read(process: Process, output: "_Output") -> None:
    if process.stdout is None:
        return
    while chunk := await process.stdout.read(_CHUNK_BYTES):
        output.add(chunk)


async def _end(running: _Running) -> None:
    """Stop all that a command started: politely first, where the command itself is still running."""
    process = running.process
    try:
        if process.returncode is None:
            _signal(process.pid, signal.SIGTERM)
            with suppress(TimeoutError):
                async with asyncio.timeout(_GRACE_SECONDS):
                    await process.wait()
    finally:
        await _kill(running)
        running.transport.close()
    await process.wait()


async def _kill(running: _Running) -> None:
    _signal(running.process.pid, signal.SIGKILL)
    await in_thread(end_marked, running.mark)


def _signal(group: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


class _Output:
    """Both ends of what a command printed, however much that is."""

    def __init__(self) -> None:
        self._head = bytearray()
        self._tail = bytearray()
        self._size = 0

    def add(self, chunk: bytes) -> None:
        self._size += len(chunk)
        room = HEAD_BYTES - len(self._head)
        self._head += chunk[:room]
        self._tail += chunk[room:]
        if len(self._tail) > 2 * TAIL_BYTES:
            del self._tail[:-TAIL_BYTES]

    @property
    def text(self) -> str:
        tail = self._tail[-TAIL_BYTES:]
        cut = self._size - len(self._head) - len(tail)
        head, end = self._head.decode("utf-8", "replace"), tail.decode("utf-8", "replace")
        return f"{head}\n[… {cut:,} bytes cut …]\n{end}" if cut else head + end
