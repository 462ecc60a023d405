"""Pairs tool results with the calls that they answer.

Ids are not enough: real transcripts repeat them, leave them empty or lose them. A result belongs to the
open call with its id, and where the ids do not decide, to the oldest open call of the same group.
"""

from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

from midfold.late_dataclasses import dataclass
from midfold.messages.parts import Message, ToolCall, ToolResult


class Location(NamedTuple):  # looked up in dictionaries by the thousand, which a tuple does at once
    """`messages[message].parts[part]`"""

    message: int
    part: int


@dataclass(frozen=True, slots=True)
class Pairing:
    """Calls and results of a conversation, matched."""

    answers: dict[Location, Location]
    """call → its result"""
    open_calls: tuple[Location, ...]
    """calls without a result, in order"""
    orphans: tuple[Location, ...]
    """results without a call, in order"""


def pair_calls(messages: Sequence[Message]) -> Pairing:
    """Match every result to its call, in one pass."""
    matcher = _Matcher()
    orphans: list[Location] = []
    group_is_closed = False
    for index, message in enumerate(messages):
        group_is_closed = group_is_closed or message.role not in ("assistant", "tool")
        for position, part in enumerate(message.parts):
            if isinstance(part, ToolCall):
                if group_is_closed:
                    matcher.close_group()
                    group_is_closed = False
                matcher.open_call(Location(index, position), part.id)
            elif isinstance(part, ToolResult):
                group_is_closed = True
                here = Location(index, position)
                if not matcher.answer(here, part.call_id):
                    orphans.append(here)
    open_calls = tuple(call for call in matcher.calls if call not in matcher.answers)
    return Pairing(matcher.answers, open_calls, tuple(orphans))


class _Matcher:
    """The calls met so far. One that was answered stays in its other queues and is passed over there."""

    def __init__(self) -> None:
        self.answers: dict[Location, Location] = {}
        self.calls: list[Location] = []
        self._group: deque[Location] = deque()  # the newest group, in order
        self._group_by_id: dict[str, deque[Location]] = {}
        self._missed: dict[str, deque[Location]] = {}  # calls of older groups, by id, the newest first

    def open_call(self, call: Location, call_id: str) -> None:
        self.calls.append(call)
        self._group.append(call)
        self._group_by_id.setdefault(call_id, deque()).append(call)

    def close_group(self) -> None:
        """Set aside what nothing answered, as a later result may still name it."""
        for call_id, calls in self._group_by_id.items():
            self._missed.setdefault(call_id, deque()).extendleft(calls)
        self._group = deque()
        self._group_by_id = {}

    def answer(self, result: Location, call_id: str) -> bool:
        """Give the result to the call that it answers, if there is one."""
        call = self._take_open_call(self._group_by_id.get(call_id)) or self._take_open_call(
            self._missed.get(call_id)
        )
        if call is None:
            # Ids cannot decide: either side lacks one.
            call = self._take_open_call(self._group_by_id.get("") if call_id else self._group)
        if call is None:
            return False
        self.answers[call] = result
        return True

    def _take_open_call(self, queue: deque[Location] | None) -> Location | None:
        while queue:
            call = queue.popleft()
            if call not in self.answers:
                return call
        return None
