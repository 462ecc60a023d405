"""The tool calls of a reply: tools that only read run side by side, tools that change things alone.

Every call gets a result, whatever happens: an error is a result, a refusal is one, and so is a stop.
"""

import asyncio
import inspect
import time
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from types import MappingProxyType

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
from midfold.agent.tools.registry import Arguments, Proposal, Risk, ToolFailed
from midfold.concurrency import run_in_thread
from midfold.late_dataclasses import replace
from midfold.messages import Message, ToolCall, ToolResult
from midfold.offload import OffloadedMessages, OffloadedResult, ShortenedResult, enforce, offload_result
from midfold.summaries.tool_calls import one_line
from midfold.wire.apis import Completion, Finish

STOPPED = "[stopped by the user before it was done; it may have run in part]"
NOT_STARTED = "[not run: the user stopped the turn before it began]"
CUT = (
    "the reply reached the output cap in the middle of this call, so it was not run; say it in smaller pieces"
)
UNREADABLE = "the arguments are not a JSON object, so nothing was run"
MOST_AT_ONCE = 8


async def run_tool_calls(
    core: Core, reply: Completion, emit: Emit, *, known: Mapping[str, str] = MappingProxyType({})
) -> None:
    """Run all calls of a reply and store their results; also when it is cancelled.

    Those whose results are `known` by their ids are not run.
    """
    # The last call of a reply that reached the output cap may be a part of one.
    is_cut = reply.finish is Finish.LENGTH
    runs = [_ToolRun(core, call, emit, is_cut=is_cut) for call in reply.calls]
    for call, run in zip(reply.calls, runs, strict=True):
        if call.id in known:
            run.result = ToolResult(call.id, known[call.id], name=call.name)
    waiting = [run for call, run in zip(reply.calls, runs, strict=True) if call.id not in known]
    try:
        for only_reads, neighbours in groupby(waiting, key=lambda run: run.only_reads):
            if only_reads:
                await _run_together(neighbours)
                continue
            for run in neighbours:
                # A group of its own: an interrupt at the end of one call must keep the next from starting.
                await _run_together([run])
    except asyncio.CancelledError:
        await commit(core.conversation.answer, [run.result for run in runs])
        raise
    stored = await commit(_store_results, core, reply, [run.result for run in runs])
    if stored.is_changed:
        count = len(stored.offloaded) + len(stored.cut)
        text = f"{count} results were offloaded: together they were too long for one turn."
        emit(Notice(Level.INFO, Topic.OUTPUT, text))


async def _run_together(runs: Iterable["_ToolRun"]) -> None:
    """Run calls side by side, which begin in their order."""
    room = asyncio.Semaphore(MOST_AT_ONCE)

    async def run_one(run: "_ToolRun") -> None:
        async with room:
            await run.run()

    async with asyncio.TaskGroup() as group:
        for run in runs:
            group.create_task(run_one(run))


def _store_results(core: Core, reply: Completion, results: Sequence[ToolResult]) -> OffloadedMessages:
    """Store results, the largest of them offloaded where all of them together are too long."""
    offloaded = enforce([*reply.messages, Message("tool", tuple(results))], core.sink, core.budgets)
    core.conversation.answer(list(offloaded.messages[-1].results))
    return offloaded


class _ToolRun:
    """One call of a reply, and its result as far as that is known."""

    def __init__(self, core: Core, call: ToolCall, emit: Emit, *, is_cut: bool) -> None:
        self._core = core
        self._call = call
        self._emit = emit
        self._is_cut = is_cut
        self._tool = core.tools.get(call.name)
        self._arguments = _read_arguments(call)
        if is_cut and not self._arguments:  # the cut fell before the first of them
            self._arguments = None
        shown = self._arguments or {}
        self._title = self._tool.title(shown) if self._tool else one_line(call.name, 100)
        self._started = 0.0
        self.result = self._fail(NOT_STARTED)

    @property
    def only_reads(self) -> bool:
        """Whether it may run beside others."""
        return self._tool is None or (self._tool.reads and not self._tool.asks)

    async def run(self) -> None:
        """Run the tool, and leave its answer in `result`, offloaded where it is too long."""
        call, title = self._call, self._title
        self.result = self._fail(STOPPED)
        self._emit(ToolStarted(call.id, call.name, title, self._arguments or {}))
        self._started = time.monotonic()
        result = await self._answer()
        offloaded = await self._offload(result.text)
        self._emit(
            ToolFinished(
                call_id=call.id,
                name=call.name,
                title=title,
                text=offloaded.text,
                is_error=result.is_error,
                seconds=time.monotonic() - self._started,
                persisted=offloaded.outcome.reference
                if isinstance(offloaded.outcome, OffloadedResult)
                else None,
            )
        )
        self.result = replace(result, text=offloaded.text)

    async def _answer(self) -> ToolResult:
        """Return the output of the tool, or the reason why it has none."""
        try:
            text = await self._run_tool()
        except ToolFailed as error:
            return self._fail(f"Error: {error}")
        except GeneratorExit:
            raise
        except BaseException as error:
            if isinstance(error, asyncio.CancelledError) and _is_stopped():
                raise
            return self._fail(f"Error: {type(error).__name__}: {error}")
        return ToolResult(self._call.id, text, name=self._call.name)

    async def _run_tool(self) -> str:
        """Run the tool; one that blocks does so in a thread."""
        tool, arguments = self._tool, self._arguments
        if tool is None:
            known = f"there are {', '.join(self._core.tools)}" if self._core.tools else "no tools are offered"
            raise ToolFailed(f"there is no tool {self._call.name!r}; {known}")
        if arguments is None:
            raise ToolFailed(CUT if self._is_cut else UNREADABLE)
        if tool.asks:
            await self._ask_first(Risk.COMMAND, tool.preview(arguments), arguments)
        answer = await run_in_thread(tool.run, arguments)
        if isinstance(answer, Proposal):
            await self._ask_first(answer.risk, answer.preview, arguments)
            answer = await run_in_thread(answer.run)
        return str(await answer if inspect.isawaitable(answer) else answer)

    async def _ask_first(self, risk: Risk, preview: str, arguments: Arguments) -> None:
        """Wait until the user lets the tool go on; raises `ToolFailed` where that is denied."""
        request = ApprovalRequested(
            self._call.id, self._call.name, self._title, preview, arguments, risk=risk
        )
        try:
            approval = await self._await_approval(request)
        finally:
            self._started = time.monotonic()  # the wait for an answer is not the tool's
        if not approval.allowed:
            because = f": {approval.reason}" if approval.reason else ""
            raise ToolFailed(f"the user did not allow this{because}")

    async def _await_approval(self, request: ApprovalRequested) -> Approval:
        """Have the callback answer, or whoever reads the events."""
        if self._core.approve is None:
            self._emit(request)
            return await asyncio.wrap_future(request.verdict)
        answer = await run_in_thread(self._core.approve, request)
        return Approval(bool(await answer if inspect.isawaitable(answer) else answer))

    async def _offload(self, text: str) -> ShortenedResult:
        """Offload a result where it is too long for the conversation."""
        budgets, sink, call = self._core.budgets, self._core.sink, self._call
        if len(text) <= budgets.smallest_limit:  # most are, and need no thread
            return ShortenedResult(text)
        return await run_in_thread(
            offload_result, text, sink, tool=call.name, call_id=call.id, budgets=budgets
        )

    def _fail(self, text: str) -> ToolResult:
        return ToolResult(self._call.id, text, is_error=True, name=self._call.name)


def _read_arguments(call: ToolCall) -> Arguments | None:
    found = call.parse_arguments() if call.arguments.strip() else {}
    return found if isinstance(found, dict) and not has_unreadable_arguments(found) else None


def _is_stopped() -> bool:
    """Whether this very task is being stopped; a tool may also raise a cancellation of its own."""
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0
