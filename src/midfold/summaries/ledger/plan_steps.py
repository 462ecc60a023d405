"""Reads to-do lists: written anew each time, or kept item by item."""

from collections.abc import Callable, Mapping

from midfold.late_dataclasses import dataclass, field, replace
from midfold.late_patterns import compile_late
from midfold.messages import ToolCall, ToolResult
from midfold.summaries.ledger.values import PlanStep
from midfold.summaries.tool_calls.families import STEPS, TASK_TOOL, arguments_of, family_of, first_of

_TASK_NUMBER = compile_late(r"[Tt]ask #?(\w{1,20})\b")
_TASK_KEYS = ("taskId", "task_id", "id")
_TEXTS = ("subject", "content", "description", "step", "title", "text", "task")
_STATES = ("status", "state")


@dataclass(slots=True)
class PlanReader:
    """The to-do lists so far; the newest one counts."""

    states: dict[str, str] = field(default_factory=dict)
    """the newest state of each item that was updated by its key"""
    _lists: list[tuple[int, ToolCall]] = field(default_factory=list)
    _tasks: dict[str, PlanStep] = field(default_factory=dict)
    """items of a list that is kept one by one"""

    def read(
        self, number: int, call: ToolCall, result: ToolResult | None, redact: Callable[[str], str]
    ) -> None:
        """Read a call, if it writes a list or one item of it."""
        if family_of(call.name) == "plan":
            self._lists.append((number, call))
            self._tasks.clear()
        elif (verb := TASK_TOOL.search(call.name)) is not None:
            self._read_task(number, verb[1].lower(), call, result, redact)

    def newest_steps(self, redact: Callable[[str], str]) -> tuple[PlanStep, ...]:
        """Return the items of the newest list; the older ones have been replaced by it."""
        if self._tasks:
            return tuple(self._tasks.values())
        for number, call in reversed(self._lists):
            items = first_of(arguments_of(call), STEPS)
            if isinstance(items, list):
                steps = (_read_step(number, item, redact) for item in items)
                return tuple(step for step in steps if step is not None)
        return ()

    def _read_task(
        self, number: int, verb: str, call: ToolCall, result: ToolResult | None, redact: Callable[[str], str]
    ) -> None:
        """Read a call that makes or updates one item of the to-do list."""
        arguments = arguments_of(call)
        state = first_of(arguments, _STATES)
        if verb == "create":
            named = _TASK_NUMBER.search(result.text) if result else None
            key = named[1] if named else str(len(self._tasks) + 1)
            text = first_of(arguments, _TEXTS)
            if isinstance(text, str):
                self._tasks[key] = PlanStep(number, redact(text), str(state or ""), key)
        elif isinstance(state, str):
            key = str(first_of(arguments, _TASK_KEYS) or "")
            self.states[key] = state
            if key in self._tasks:
                self._tasks[key] = replace(self._tasks[key], index=number, state=state)


def _read_step(number: int, item: object, redact: Callable[[str], str]) -> PlanStep | None:
    if isinstance(item, str):
        return PlanStep(number, redact(item), "")
    if not isinstance(item, Mapping):
        return None
    text, state = first_of(item, _TEXTS), first_of(item, _STATES)
    if not isinstance(text, str):
        return None
    return PlanStep(number, redact(text), state if isinstance(state, str) else "")
