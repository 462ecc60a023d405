"""The tool calls of a reply: those that only read run side by side, those that change things alone.

Every call gets a result, whatever happens: an error is a result, a refusal is one, and so is a stop.
"""

import asyncio
import inspect
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from midfold.agent.core import Core
from midfold.agent.events import (
    Approval,
    ApprovalRequested,
    Emit,
    Level,
    Notice,
    ToolFinished,
    ToolStarted,
    Topic,
)
from midfold.agent.reply_repair import has_unreadable_arguments
from midfold.agent.session import commit
from midfold.agent.tools.registry import Arguments, Tool, ToolFailed
from midfold.concurrency import run_in_thread
from midfold.messages import Message, ToolCall, ToolResult
from midfold.offload import Offloaded, Persisted, Shortened, enforce, persist_result
from midfold.summaries.tool_calls import one_line
from midfold.wire.apis import Completion, Finish

STOPPED = "[stopped by the user before it was done; it may have run in part]"
NOT_STARTED = "[not run: the user stopped the turn before it began]"
CUT = (
    "the reply reached the output cap in the middle of this call, so it was not run; say it in smaller pieces"
)
UNREADABLE = "the arguments are not a JSON object, so nothing was run"
MOST_AT_ONCE = 8


async def run_tool_calls(core: Core, reply: Completion, emit: Emit) -> None:
    """Run all calls of a reply and store their results; also when it is cancelled."""
    calls = reply.calls
    runs = _ToolRuns(core, emit, is_cut=reply.finish is Finish.LENGTH)
    try:
        for batch in _batches(calls, core.tools):
            await runs.run_batch(calls, batch)
    except asyncio.CancelledError:
        await commit(core.conversation.answer, runs.collect(calls))
        raise
    stored = await commit(_store_results, core, reply, runs.collect(calls))
    if stored.is_changed:
        count = len(stored.persisted) + len(stored.cut)
        text = f"{count} results were put aside: together they were too long for one turn."
        emit(Notice(Level.INFO, Topic.OUTPUT, text))


def _store_results(core: Core, reply: Completion, results: Sequence[ToolResult]) -> Offloaded:
    """Store results, the largest of them offloaded where all of them together are too long."""
    offloaded = enforce([*reply.messages, Message("tool", tuple(results))], core.sink, core.budgets)
    core.conversation.answer(list(offloaded.messages[-1].results))
    return offloaded


@dataclass(slots=True)
class _ToolRuns:
    """The calls of one reply and their results so far."""

    core: Core
    emit: Emit
    is_cut: bool
    """whether the reply reached the output cap, so that its last call may be a part of one"""
    _results: dict[int, ToolResult] = field(default_factory=dict)
    _started: set[int] = field(default_factory=set)

    async def run_batch(self, calls: Sequence[ToolCall], batch: Sequence[int]) -> None:
        room = asyncio.Semaphore(MOST_AT_ONCE)

        async def work(index: int) -> None:
            async with room:
                self._started.add(index)
                self._results[index] = await self._run_one(calls[index])

        async with asyncio.TaskGroup() as group:
            for index in batch:
                group.create_task(work(index))

    def collect(self, calls: Sequence[ToolCall]) -> list[ToolResult]:
        """Return a result for every call, in their order."""
        return [
            self._results.get(index)
            or ToolResult(call.id, STOPPED if index in self._started else NOT_STARTED, True, name=call.name)
            for index, call in enumerate(calls)
        ]

    async def _run_one(self, call: ToolCall) -> ToolResult:
        tool = self.core.tools.get(call.name)
        arguments = _read_arguments(call)
        if self.is_cut and not arguments:  # the cut fell before the first of them
            arguments = None
        title = tool.title(arguments or {}) if tool else one_line(call.name, 100)
        self.emit(ToolStarted(call.id, call.name, title, arguments or {}))
        clock = _Clock()
        result = await self._answer(call, tool, arguments, title, clock)
        kept = await self._offload(result)
        self.emit(
            ToolFinished(
                call_id=call.id,
                name=call.name,
                title=title,
                text=kept.text,
                is_error=result.is_error,
                seconds=clock.seconds,
                persisted=kept.what.reference if isinstance(kept.what, Persisted) else None,
            )
        )
        return replace(result, text=kept.text)

    async def _answer(
        self, call: ToolCall, tool: Tool | None, arguments: Arguments | None, title: str, clock: "_Clock"
    ) -> ToolResult:
        """Return what the tool says, or why it does not."""
        try:
            text = await self._run_tool(call, tool, arguments, title, clock)
        except ToolFailed as error:
            return ToolResult(call.id, f"Error: {error}", is_error=True, name=call.name)
        except GeneratorExit:
            raise
        except BaseException as error:
            if isinstance(error, asyncio.CancelledError) and _is_stopped():
                raise
            reason = f"{type(error).__name__}: {error}"
            return ToolResult(call.id, f"Error: {reason}", is_error=True, name=call.name)
        return ToolResult(call.id, text, name=call.name)

    async def _run_tool(
        self, call: ToolCall, tool: Tool | None, arguments: Arguments | None, title: str, clock: "_Clock"
    ) -> str:
        if tool is None:
            raise ToolFailed(f"there is no tool {call.name!r}; there are {', '.join(self.core.tools)}")
        if arguments is None:
            raise ToolFailed(CUT if self.is_cut else UNREADABLE)
        if tool.asks:
            try:
                await self._ask_first(call, tool, arguments, title)
            finally:
                clock.start()
        return await _call(tool, arguments)

    async def _ask_first(self, call: ToolCall, tool: Tool, arguments: Arguments, title: str) -> None:
        """Wait until somebody lets the tool run; raises `ToolFailed` where nobody does."""
        request = ApprovalRequested(call.id, tool.name, title, tool.preview(arguments), arguments)
        if self.core.approve is None:
            self.emit(request)
            approval = await asyncio.wrap_future(request.verdict)
        else:
            answer = await run_in_thread(self.core.approve, request)
            approval = Approval(bool(await answer if inspect.isawaitable(answer) else answer))
        if not approval.allowed:
            because = f": {approval.reason}" if approval.reason else ""
            raise ToolFailed(f"the user did not allow this{because}")

    async def _offload(self, result: ToolResult) -> Shortened:
        """Offload one result where it is too long for the conversation."""
        core, text = self.core, result.text
        if len(text) <= core.budgets.smallest_limit:  # most are, and need no thread
            return Shortened(text)
        return await run_in_thread(
            persist_result,
            text,
            core.sink,
            tool=result.name,
            call_id=result.call_id,
            budgets=core.budgets,
        )


class _Clock:
    """Tells how long a tool took; what was before its last start, such as a question, does not count."""

    def __init__(self) -> None:
        self.start()

    def start(self) -> None:
        self._since = time.monotonic()

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._since


def _batches(calls: Sequence[ToolCall], tools: Mapping[str, Tool]) -> Iterator[list[int]]:
    """Yield which calls run together: those that only read and stand next to one another; any other alone."""
    batch: list[int] = []
    for index, call in enumerate(calls):
        if _only_reads(call, tools):
            batch.append(index)
            continue
        if batch:
            yield batch
            batch = []
        yield [index]
    if batch:
        yield batch


def _only_reads(call: ToolCall, tools: Mapping[str, Tool]) -> bool:
    tool = tools.get(call.name)
    return tool is None or (tool.reads and not tool.asks)


def _read_arguments(call: ToolCall) -> Arguments | None:
    found = call.parse_arguments() if call.arguments.strip() else {}
    return found if isinstance(found, dict) and not has_unreadable_arguments(found) else None


def _is_stopped() -> bool:
    """Whether somebody stops this very task; a tool may also raise a cancellation of its own."""
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0


async def _call(tool: Tool, arguments: Arguments) -> str:
    """Call a tool; one that blocks does so in a thread."""
    answer = await run_in_thread(tool.run, arguments)
    return str(await answer if inspect.isawaitable(answer) else answer)
