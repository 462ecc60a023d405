"""Which result answers which call.

Ids are not enough: real transcripts repeat them, leave them empty or lose them. A result belongs to the
open call with its id, and where the ids do not tell, to the oldest open call of the same group.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from midfold.messages.parts import Message, ToolCall, ToolResult


@dataclass(frozen=True, slots=True, order=True)
class Location:
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
    answers: dict[Location, Location] = {}
    orphans: list[Location] = []
    group: dict[Location, str] = {}  # the open calls of the newest group
    missed: dict[str, list[Location]] = {}  # calls of older groups that nothing answered, by id
    group_is_closed = False
    for index, message in enumerate(messages):
        group_is_closed = group_is_closed or message.role not in ("assistant", "tool")
        for position, part in enumerate(message.parts):
            here = Location(index, position)
            if isinstance(part, ToolCall):
                if group_is_closed:
                    for location, call_id in group.items():
                        missed.setdefault(call_id, []).append(location)
                    group = {}
                    group_is_closed = False
                group[here] = part.id
            elif isinstance(part, ToolResult):
                group_is_closed = True
                call = _take_call(group, missed, part.call_id)
                if call is None:
                    orphans.append(here)
                else:
                    answers[call] = here
    open_calls = sorted([*group, *(location for old in missed.values() for location in old)])
    return Pairing(answers, tuple(open_calls), tuple(orphans))


def _take_call(
    group: dict[Location, str], missed: dict[str, list[Location]], call_id: str
) -> Location | None:
    """Remove and return the open call that a result with `call_id` answers."""
    found = next((location for location, waiting_id in group.items() if waiting_id == call_id), None)
    if found is None and missed.get(call_id):
        return missed[call_id].pop()
    if found is None:
        # Ids cannot tell: either side lacks one.
        found = next(
            (location for location, waiting_id in group.items() if not (call_id and waiting_id)), None
        )
    if found is not None:
        del group[found]
    return found
