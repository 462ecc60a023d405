"""Mends what a provider would refuse among the messages that stay: calls without a result, and the reverse.

Clean conversations need none of this, since cuts are legal. Real transcripts are not always clean.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from midfold.folding.fold import Edit, Insert
from midfold.messages import Location, Message, Pairing, Part, Removed, Text, ToolCall, ToolResult

NO_RESULT = "[no result was recorded for this call]"


@dataclass(frozen=True, slots=True)
class Mends:
    """Messages to drop, parts to remove, stub results to insert."""

    drops: tuple[int, ...]
    edits: tuple[Edit, ...]
    inserts: tuple[Insert, ...]


def mend(messages: Sequence[Message], kept: Sequence[int], pairing: Pairing, waiting: int | None) -> Mends:
    """Find what is wrong among the `kept` messages; a call from `waiting` on may still get its result."""
    stays = frozenset(kept)
    callers = {result: call for call, result in pairing.answers.items()}
    drops: list[int] = []
    edits: list[Edit] = []
    stubs: dict[int, list[Part]] = {}
    for index in kept:
        lost: list[tuple[int, Part]] = []
        for position, part in enumerate(messages[index].parts):
            here = Location(index, position)
            if isinstance(part, ToolResult) and (here not in callers or callers[here].message not in stays):
                lost.append((position, Removed()))
            elif isinstance(part, ToolCall) and part.id and not _is_answered(here, pairing, stays, waiting):
                place = _last_result(messages[index], index, pairing, stays)
                stubs.setdefault(place, []).append(ToolResult(part.id, NO_RESULT, name=part.name))
        if len(lost) == len(messages[index].parts) or _says_nothing(messages[index]):
            drops.append(index)
        elif lost:
            edits.append(Edit.at(index, messages[index], lost))
    # Results of parallel calls belong in one message; where a dialect has none such, it writes several.
    inserts = tuple(Insert(after, Message("tool", tuple(parts))) for after, parts in sorted(stubs.items()))
    return Mends(tuple(drops), tuple(edits), inserts)


def _is_answered(call: Location, pairing: Pairing, stays: frozenset[int], waiting: int | None) -> bool:
    answer = pairing.answers.get(call)
    if answer is not None:
        return answer.message in stays
    return waiting is not None and call.message >= waiting


def _last_result(message: Message, index: int, pairing: Pairing, stays: frozenset[int]) -> int:
    """Return behind which message a stub result belongs: the last result of the same group."""
    answers = (pairing.answers.get(Location(index, position)) for position in range(len(message.parts)))
    return max([index, *(answer.message for answer in answers if answer and answer.message in stays)])


def _says_nothing(message: Message) -> bool:
    return message.role == "assistant" and all(
        isinstance(p, Text) and not p.text.strip() for p in message.parts
    )
