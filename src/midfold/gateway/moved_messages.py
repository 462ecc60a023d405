"""Messages that a client moves with each request: they are no part of its history.

A reminder that always stands last, notes before the newest reply, the files that a coding client works on
with an answer of its own behind them: with each request they have moved, and often say something else. As a
part of the history they would make another conversation of each request, and cost a fold each time. So they
are known by what the client did with them: it took them from where they were and went on from its newest
request. They are set aside when a request is read, and put back where they stood before it is sent.
"""

from collections.abc import Sequence
from hashlib import sha256
from itertools import groupby

from midfold.folding import count_leading_system
from midfold.gateway.turns import ClientHistory, ClientTurn, MovedMessage
from midfold.late_dataclasses import dataclass, replace
from midfold.messages import SYSTEM_ROLES, Message, Text, own_digest

_OPENING_CHARS = 40
_MOST_MOVED = 8
"""A client that moves more than that has another history."""


@dataclass(frozen=True, slots=True)
class MovedShape:
    """The beginning of a message, by which it is recognised, since the rest may change."""

    role: str
    opening: bytes
    own: bytes
    """the digest of all that it said when it was seen to move"""

    @classmethod
    def of(cls, message: Message) -> "MovedShape":
        """Take the shape of a message."""
        opening = message.text[:_OPENING_CHARS].encode("utf-8", "surrogatepass")
        return cls(message.role, sha256(opening).digest()[:16], own_digest(message))

    def fits(self, message: Message) -> bool:
        """Whether a message is of this shape; one with calls or results never is."""
        if message.role != self.role or not all(isinstance(part, Text) for part in message.parts):
            return False
        return MovedShape.of(message).opening == self.opening


@dataclass(frozen=True, slots=True)
class MovedBlock:
    """Messages that move together."""

    shapes: tuple[MovedShape, ...]
    is_fixed: bool = False
    """whether it stands at the beginning, and only its words change"""

    def find(self, messages: Sequence[Message]) -> range:
        """Return where it stands in a request: the last place, or the first of one that is fixed."""
        starts = range(len(messages) - len(self.shapes) + 1)
        for start in starts if self.is_fixed else reversed(starts):
            found = messages[start : start + len(self.shapes)]
            if self._fits(found):
                return range(start, start + len(self.shapes))
        return range(0)

    def _fits(self, messages: Sequence[Message]) -> bool:
        pairs = list(zip(self.shapes, messages, strict=True))
        # Others may begin alike: of those that move together one says the very same again.
        is_known = self.is_fixed or any(shape.own == own_digest(message) for shape, message in pairs)
        return is_known and all(shape.fits(message) for shape, message in pairs)

    def to_json(self) -> dict[str, object]:
        """Write it as a state of a conversation."""
        shapes = [[each.role, each.opening.hex(), each.own.hex()] for each in self.shapes]
        return {"shapes": shapes, "is_fixed": self.is_fixed}


def read_blocks(state: object) -> tuple[MovedBlock, ...]:
    """Read what `to_json` wrote; nothing where that is something else."""
    try:
        return tuple(
            MovedBlock(
                tuple(
                    MovedShape(role, bytes.fromhex(opening), bytes.fromhex(own))
                    for role, opening, own in each["shapes"]
                ),
                bool(each["is_fixed"]),
            )
            for each in (state if isinstance(state, list) else ())
        )
    except (KeyError, TypeError, ValueError):
        return ()


def find_riders(messages: Sequence[Message], blocks: Sequence[MovedBlock]) -> frozenset[int]:
    """Return the indices of moved messages; none where nothing else would be left."""
    found = frozenset(index for block in blocks for index in block.find(messages))
    rest = (message for index, message in enumerate(messages) if index not in found)
    return found if any(message.role == "user" for message in rest) else frozenset()


def set_aside(turn: ClientTurn, blocks: Sequence[MovedBlock]) -> ClientTurn:
    """Return the turn with its history alone: what the client moves with each request is set aside."""
    aside = find_riders(turn.messages, blocks) if blocks else frozenset()
    if not aside:
        return turn
    kept = [index for index in range(len(turn.messages)) if index not in aside]
    first = next(index for index in kept if turn.messages[index].role not in SYSTEM_ROLES)
    moved = [
        MovedMessage(turn.messages[index], None if index < first else sum(1 for each in kept if each > index))
        for index in sorted(aside)
    ]
    messages = [turn.messages[index] for index in kept]
    return replace(
        turn,
        request=replace(turn.request, messages=[message.raw for message in messages]),
        messages=messages,
        history=ClientHistory.of(messages, turn.history.hint, turn.history.dialect),
        hashes=[turn.hashes[index] for index in kept],
        moved=tuple(moved),
    )


def learn_moved(
    old: Sequence[Message], settled: int, new: Sequence[Message]
) -> tuple[MovedBlock, ...] | None:
    """Return what moved between two requests; `None` where the second one does not go on from the first.

    It goes on where it has everything that the first one had, but for what moved, and a reply behind that.
    What follows the newest reply, the first `settled` messages, may be missing: clients send words once.
    """
    before = _said(old)
    after = [message for _, message in _said(new)]
    reached, moved, reworded, newest = 0, [], [], False
    for place, (index, message) in enumerate(before):
        is_loose = index >= settled
        if reached < len(after) and _is_same(message, after[reached], is_loose=is_loose):
            reached += 1
            newest = message.role != "assistant"
        elif reached == place and reached < len(after) and _is_reworded(message, after[reached]):
            reworded.append(MovedBlock((MovedShape.of(message),), is_fixed=True))
            reached += 1
            newest = False
        else:
            moved.append((place, message, is_loose))
    behind = after[reached:]
    if not newest or len(moved) + len(reworded) > _MOST_MOVED:
        return None
    blocks = _find_moved(moved, behind)
    if blocks is None:
        return None
    placed = {index for block in blocks for index in block.find(behind)}
    first = next((message for index, message in enumerate(behind) if index not in placed), None)
    return (*reworded, *blocks) if first is not None and first.role == "assistant" else None


def _find_moved(
    moved: Sequence[tuple[int, Message, bool]], behind: Sequence[Message]
) -> list[MovedBlock] | None:
    """Find what moved behind the reply, in blocks; `None` where something is gone that was settled."""
    blocks = []
    runs = groupby(enumerate(moved), key=lambda each: each[1][0] - each[0])
    for _, run in runs:
        rest = [each for _, each in run]
        while rest:
            for length in range(len(rest), 0, -1):
                block = MovedBlock(tuple(MovedShape.of(message) for _, message, _ in rest[:length]))
                if block.find(behind):
                    blocks.append(block)
                    break
            else:
                length = 1
                if not rest[0][2]:
                    return None
            rest = rest[length:]
    return blocks


def _said(messages: Sequence[Message]) -> list[tuple[int, Message]]:
    lead = count_leading_system(messages)
    return [pair for pair in list(enumerate(messages))[lead:] if not pair[1].is_silent]


def _is_same(old: Message, new: Message, *, is_loose: bool) -> bool:
    """Whether a message says what it said; a reminder behind the words of the newest one may be gone."""
    if own_digest(old) == own_digest(new):
        return True
    is_request = is_loose and old.role == new.role == "user" and bool(new.text)
    return is_request and old.text.startswith(new.text)


def _is_reworded(old: Message, new: Message) -> bool:
    return len(old.text) >= _OPENING_CHARS and MovedShape.of(old).fits(new)
