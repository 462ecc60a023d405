"""Repairs what a provider would refuse among the messages that stay: calls without a result, and the reverse.

Clean conversations need none of this, since cuts are legal. Real transcripts are not always clean.
"""

from collections.abc import Container, Sequence

from midfold.folding.fold import Edit, Insert
from midfold.late_dataclasses import dataclass
from midfold.messages import Location, Message, Pairing, Part, Removed, Text, ToolCall, ToolResult

NO_RESULT = "[no result was recorded for this call]"


@dataclass(frozen=True, slots=True)
class Repairs:
    """Messages to drop, parts to remove, stub results to insert."""

    drops: tuple[int, ...]
    edits: tuple[Edit, ...]
    inserts: tuple[Insert, ...]

    def merge(self, edits: Sequence[Edit]) -> tuple[Edit, ...]:
        """Join other edits with these, one for each message; what is dropped needs none."""
        dropped = frozenset(self.drops)
        parts = {edit.index: dict(edit.parts) for edit in edits if edit.index not in dropped}
        for edit in self.edits:
            parts.setdefault(edit.index, {}).update(edit.parts)
        return tuple(Edit(index, tuple(sorted(parts[index].items()))) for index in sorted(parts))


def repair(
    messages: Sequence[Message], gone: Container[int], pairing: Pairing, waiting: int | None
) -> Repairs:
    """Find the faults among the messages that stay; a call from `waiting` on may still get its result."""
    callers = {result: call for call, result in pairing.answers.items()}
    drops: list[int] = []
    edits: list[Edit] = []
    stubs: dict[int, list[Part]] = {}
    for index, message in enumerate(messages):
        if index in gone:
            continue
        lost: list[tuple[int, Part]] = []
        for position, part in enumerate(message.parts):
            here = Location(index, position)
            if isinstance(part, ToolResult) and (here not in callers or callers[here].message in gone):
                lost.append((position, Removed()))
            elif isinstance(part, ToolCall) and part.id and not _is_answered(here, pairing, gone, waiting):
                after = _last_result(messages, index, pairing, gone)
                stubs.setdefault(after, []).append(ToolResult(part.id, NO_RESULT, name=part.name))
        if len(lost) == len(message.parts) or _says_nothing(message):
            drops.append(index)
        elif lost:
            edits.append(Edit.at(index, message, lost))
    # Results of parallel calls belong in one message; where a dialect has none such, it writes several.
    inserts = tuple(Insert(after, Message("tool", tuple(parts))) for after, parts in sorted(stubs.items()))
    return Repairs(tuple(drops), tuple(edits), inserts)


def _is_answered(call: Location, pairing: Pairing, gone: Container[int], waiting: int | None) -> bool:
    answer = pairing.answers.get(call)
    if answer is not None:
        return answer.message not in gone
    return waiting is not None and call.message >= waiting


def _last_result(messages: Sequence[Message], index: int, pairing: Pairing, gone: Container[int]) -> int:
    """Return behind which message a stub result belongs: the last result of the same group.

    Where ids stand twice, a result that comes after somebody spoke again may be paired with the call, too.
    """
    positions = range(len(messages[index].parts))
    answers = {answer.message for at in positions if (answer := pairing.answers.get(Location(index, at)))}
    last = index
    for after in range(index + 1, max(answers, default=index) + 1):
        if not all(isinstance(part, ToolResult) for part in messages[after].parts):
            break
        last = after if after in answers and after not in gone else last
    return last


def _says_nothing(message: Message) -> bool:
    return message.role == "assistant" and all(
        isinstance(p, Text) and not p.text.strip() for p in message.parts
    )
