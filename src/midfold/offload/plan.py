"""Decides which results leave the context; nothing is written here.

A turn is what the tools gave back between one reply of the model and the next. Nothing is decided by what a
result says: how long it is and which tool gave it matters, not whether it looks like a block of ours.
"""

import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from enum import StrEnum

from midfold.folding import Span
from midfold.late_dataclasses import dataclass, field
from midfold.messages import Location, Message, ToolCall, ToolResult, pair_calls
from midfold.offload.budgets import READER, Budgets
from midfold.offload.names import REFERENCE


class OffloadReason(StrEnum):
    """The limit for whose sake a result leaves the context."""

    RESULT = "result"
    TURN = "turn"


@dataclass(frozen=True, slots=True)
class OffloadStep:
    """One result that is to be offloaded; `cut_chars` is what stays of it where that fails."""

    at: Location
    tool: str
    reason: OffloadReason
    cut_chars: int
    result: ToolResult = field(repr=False)


@dataclass(frozen=True, slots=True)
class OffloadPlan:
    """Results that are to be offloaded, in order; `over_budget` counts turns that stay too large even so."""

    steps: tuple[OffloadStep, ...] = ()
    over_budget: int = 0


@dataclass(frozen=True, slots=True)
class _Given:
    """A result as it stands in a message, and the call that it answers."""

    at: Location
    result: ToolResult
    call: ToolCall | None = None

    @property
    def tool(self) -> str:
        return self.result.name or (self.call.name if self.call else "")

    @property
    def chars(self) -> int:
        return len(self.result.text)


def holds_nothing(_reference: str) -> bool:
    """Answer for a sink that is not there."""
    return False


def plan_offload(
    messages: Sequence[Message],
    budgets: Budgets,
    *,
    start: int = 0,
    holds: Callable[[str], bool] = holds_nothing,
    settled: Collection[Location] = (),
) -> OffloadPlan:
    """Choose the results that leave the context so that each, and every turn, keeps to its limit.

    Messages before `start` and the results in `settled` stay as they are. `holds` says which references are
    those of offloaded output: a reader's result stays if its call names one. No result is chosen that would
    not get shorter.
    """
    turns = list(_large_turns(messages, start, budgets))
    if not turns:
        return OffloadPlan()
    calls = {result: call for call, result in pair_calls(messages).answers.items()}
    planner = _Planner(budgets, holds, frozenset(settled))
    planned = [planner.plan(list(_find_given(messages, turn, calls))) for turn in turns]
    steps = tuple(step for plan in planned for step in plan.steps)
    return OffloadPlan(steps, sum(plan.over_budget for plan in planned))


def _large_turns(messages: Sequence[Message], start: int, budgets: Budgets) -> Iterator[Span]:
    """Yield the turns in which something may have to go; nearly all others cost a look at their lengths."""
    first = max(start, 0)
    chars = longest = 0
    for index in range(first, len(messages)):
        message = messages[index]
        if message.role == "assistant":
            if chars > budgets.turn_chars or longest > budgets.smallest_limit:
                yield Span(first, index)
            first, chars, longest = index, 0, 0
        for part in message.parts:
            if isinstance(part, ToolResult):
                size = len(part.text)
                chars += size
                longest = max(longest, size)
    if chars > budgets.turn_chars or longest > budgets.smallest_limit:
        yield Span(first, len(messages))


def _find_given(
    messages: Sequence[Message], turn: Span, calls: Mapping[Location, Location]
) -> Iterator[_Given]:
    for index in range(turn.start, turn.stop):
        for position, part in enumerate(messages[index].parts):
            if isinstance(part, ToolResult):
                here = Location(index, position)
                at = calls.get(here)
                call = messages[at.message].parts[at.part] if at else None
                yield _Given(here, part, call if isinstance(call, ToolCall) else None)


@dataclass(frozen=True, slots=True)
class _Planner:
    budgets: Budgets
    holds: Callable[[str], bool]
    settled: frozenset[Location]

    def plan(self, turn: Sequence[_Given]) -> OffloadPlan:
        """Choose first what is too long by itself, then the largest until the turn fits."""
        total = sum(given.chars for given in turn)
        steps: list[OffloadStep] = []
        rest: list[_Given] = []
        for given in filter(self._may_offload, turn):
            if given.chars > self.budgets.limit_of(given.tool):
                steps.append(self._step(given, OffloadReason.RESULT, len(turn)))
                total -= given.chars - self.budgets.block_chars
            else:
                rest.append(given)
        for given in sorted(rest, key=lambda given: -given.chars):
            if total <= self.budgets.turn_chars:
                break
            if not self._is_reading(given):
                steps.append(self._step(given, OffloadReason.TURN, len(turn)))
                total -= given.chars - self.budgets.block_chars
        return OffloadPlan(tuple(steps), int(total > self.budgets.turn_chars))

    def _may_offload(self, given: _Given) -> bool:
        return given.chars > self.budgets.block_chars and given.at not in self.settled

    def _step(self, given: _Given, reason: OffloadReason, results: int) -> OffloadStep:
        cut_chars = self.budgets.cut_chars(given.tool, results)
        return OffloadStep(given.at, given.tool, reason, cut_chars, given.result)

    def _is_reading(self, given: _Given) -> bool:
        """Whether a reader was asked for offloaded output, which must not be offloaded a second time."""
        is_reader = given.tool == READER or self.budgets.limit_of(given.tool) == math.inf
        if given.call is None or not is_reader:
            return False
        named = re.findall(REFERENCE, given.call.arguments[:_ARGUMENT_CHARS])
        return any(self.holds(reference) for reference in named[:_MAX_NAMED])


# A reader names a file or a few; whatever else its arguments hold is not looked at.
_ARGUMENT_CHARS = 10_000
_MAX_NAMED = 10
