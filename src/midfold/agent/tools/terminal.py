"""The terminal tool: commands run only when the user lets them, for a bounded time, with bounded output.

Processes that they leave running end with them, and that is said. Only where this process itself is killed, a
command that is running goes on until it ends.
"""

import asyncio
import os
import time
from asyncio.subprocess import DEVNULL, PIPE, STDOUT, Process, SubprocessStreamProtocol
from collections.abc import Collection, Mapping
from contextlib import suppress

from midfold.agent.tools.command_environment import visible_environment
from midfold.agent.tools.processes import VARIABLE, ProcessMark, end_all
from midfold.agent.tools.registry import Tool, ToolFailed, tool
from midfold.agent.tools.workspace import Workspace
from midfold.concurrency import run_in_thread, shield_until_done
from midfold.late_dataclasses import dataclass, replace

DEFAULT_SECONDS = 120
MAX_SECONDS = 600
HEAD_BYTES = 400_000
TAIL_BYTES = 400_000
"""The bytes in between are dropped as they come; this much is offloaded whole by the budgets anyway."""
LEFT_BEHIND = "[what it left running in the background was ended with it]"
_REST_SECONDS = 0.2
_POLL_SECONDS = 0.05
_CHUNK_BYTES = 65_536


def terminal_tool(workspace: Workspace, *, hidden: Collection[str] = (), shown: Collection[str] = ()) -> Tool:
    """Return the tool that runs shell commands in a workspace.

    They do not see the environment variables that are `hidden`, nor those that are a credential by name or
    value; but they see those that are `shown`, whatever they are called.
    """

    @tool(asks=True)
    async def terminal(command: str, timeout_seconds: int = DEFAULT_SECONDS) -> str:
        """Run a shell command in the workspace and return what it prints, and its exit status if not 0.

        The user is asked first. There is no input, and each command starts in the workspace afresh. What it
        leaves running in the background is ended with it, nohup or not.
        command: the command line
        timeout_seconds: when to stop it, 600 at most
        """
        seconds = min(max(timeout_seconds, 1), MAX_SECONDS)
        environment = visible_environment(os.environ, hidden=hidden, shown=shown)
        return await _run(command, workspace, seconds, environment)

    return replace(terminal, preview=lambda arguments: str(arguments.get("command", "")))


@dataclass(frozen=True, slots=True)
class _Running:
    """A command that was started, what reads its output, and the mark of all that it starts."""

    process: Process
    transport: asyncio.SubprocessTransport
    mark: ProcessMark
    output: "_Output"
    reading: asyncio.Task[None]


async def _run(command: str, workspace: Workspace, seconds: int, environment: Mapping[str, str]) -> str:
    started = time.monotonic()
    running = await _start(command, workspace, environment)
    is_late = False
    try:
        async with asyncio.timeout(seconds):
            await _wait(running)
    except TimeoutError:
        is_late = True
    finally:
        # All that the command left running ends with it, also when the turn was stopped.
        was_left = await shield_until_done(_end(running))
    shown, status = running.output.text, running.process.returncode
    if is_late:
        raise ToolFailed(f"{shown}\n[stopped after {seconds} s]")
    shown = f"{shown}\n{LEFT_BEHIND}".lstrip("\n") if was_left else shown
    if status:
        raise ToolFailed(f"{shown}\n[exit status {status}]".lstrip("\n"))
    return shown or f"[no output, {time.monotonic() - started:.1f} s]"


async def _start(command: str, workspace: Workspace, environment: Mapping[str, str]) -> _Running:
    """Start a command in a session of its own.

    One that is cancelled while it starts has begun its work already, so it is waited for, and ended.
    """
    starting = asyncio.ensure_future(_open(command, workspace, environment))
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        with suppress(OSError, ValueError):
            await shield_until_done(_end(await starting))
        raise
    except (OSError, ValueError) as error:
        raise ToolFailed(f"the command cannot be started: {error}") from None


async def _open(command: str, workspace: Workspace, environment: Mapping[str, str]) -> _Running:
    mark = ProcessMark.make()
    loop = asyncio.get_running_loop()
    transport, protocol = await loop.subprocess_shell(
        lambda: SubprocessStreamProtocol(limit=_CHUNK_BYTES, loop=loop),
        command,
        stdin=DEVNULL,
        stdout=PIPE,
        stderr=STDOUT,
        cwd=workspace.root,
        env={**environment, VARIABLE: mark.value},
        start_new_session=True,
    )
    process, output = Process(transport, protocol, loop), _Output()
    return _Running(process, transport, mark, output, asyncio.ensure_future(_read(process, output)))


async def _wait(running: _Running) -> None:
    """Wait until a command ends, and a moment for what it printed last.

    What runs in the background holds the same pipe, so the end of the pipe is not the end of the command.
    """
    process, reading = running.process, running.reading
    while process.returncode is None:  # its own wait() lasts until the pipe is closed
        await asyncio.wait([reading], timeout=_POLL_SECONDS)
        if reading.done():
            await process.wait()
    await asyncio.wait([reading], timeout=_REST_SECONDS)


async def _read(process: Process, output: "_Output") -> None:
    if process.stdout is None:
        return
    while chunk := await process.stdout.read(_CHUNK_BYTES):
        output.add(chunk)


async def _end(running: _Running) -> bool:
    """Stop all that a command started; true where something was still running."""
    process, reading = running.process, running.reading
    # Who holds the pipe had a moment already.
    rest = _REST_SECONDS if reading.done() and process.returncode is not None else 0.0
    try:
        was_left = await run_in_thread(end_all, process.pid, running.mark, rest_seconds=rest)
        await asyncio.wait([reading], timeout=_REST_SECONDS)
    finally:
        reading.cancel()
        running.transport.close()
    await process.wait()
    return was_left


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
