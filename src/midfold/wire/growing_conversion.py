"""Conversion of a conversation that grows: the part that can no longer change is converted once.

A part is settled where a user speaks after an answer in words and no later result belongs to a call before.
"""

from collections import Counter
from collections.abc import Container, Sequence, Set
from operator import is_

from midfold.messages import Message, Text, ToolCall, ToolResult, pair_calls
from midfold.wire.conversion import Conversion, Surroundings, convert


class GrowingConversion:
    """Converts the messages of one conversation to one dialect, again and again.

    Messages are known by identity. The items of the settled part are the same objects each time.
    """

    def __init__(self, to: str) -> None:
        self.to = to
        self._messages: list[Message] = []
        self._settled = _empty(to)
        self._open_ids: Set[str] = frozenset()
        """the ids of settled calls that have no result"""

    def convert(self, messages: Sequence[Message]) -> Conversion:
        """Convert as `wire.convert` does; the cost grows with what is not settled."""
        count = len(self._messages)
        if count > len(messages) or not all(map(is_, self._messages, messages)):
            self._forget()
        if _reaches_back(messages[len(self._messages) :], self._open_ids):
            self._forget()
        self._settle(messages[len(self._messages) :])
        rest = convert(messages[len(self._messages) :], self.to, self._place())
        return _join(self._settled, rest)

    def _settle(self, messages: Sequence[Message]) -> None:
        """Convert the messages that can no longer change for good."""
        cut = _find_cut(messages)
        head, rest = messages[:cut], messages[cut:]
        if not head:
            return
        calls = [head[at.message].parts[at.part] for at in pair_calls(head).open_calls]
        open_ids = self._open_ids | {call.id for call in calls if isinstance(call, ToolCall)}
        if not _reaches_back(rest, open_ids):
            self._settled = _join(self._settled, convert(head, self.to, self._place(is_followed=True)))
            self._messages += head
            self._open_ids = open_ids

    def _place(self, *, is_followed: bool = False) -> Surroundings:
        return Surroundings(len(self._messages), self._settled.call_ids, is_followed)

    def _forget(self) -> None:
        self._messages, self._settled, self._open_ids = [], _empty(self.to), frozenset()


def _empty(to: str) -> Conversion:
    return Conversion(to, [], None, ())


def _join(one: Conversion, other: Conversion) -> Conversion:
    return Conversion(
        one.dialect,
        [*one.messages, *other.messages],
        one.system or other.system,
        one.losses + other.losses,
        one.call_ids | other.call_ids,
    )


def _find_cut(messages: Sequence[Message]) -> int:
    """Return where the last user speaks after an answer in words: no dialect joins what stands there."""
    for index in range(len(messages) - 1, 0, -1):
        if _is_spoken(messages[index], "user") and _is_spoken(messages[index - 1], "assistant"):
            return index
    return 0


def _is_spoken(message: Message, role: str) -> bool:
    words = any(isinstance(part, Text) and part.text.strip() for part in message.parts)
    tools = any(isinstance(part, ToolCall | ToolResult) for part in message.parts)
    return message.role == role and words and not tools


def _reaches_back(messages: Sequence[Message], open_ids: Container[str]) -> bool:
    """Whether a result may answer a call before these messages."""
    own: Counter[str] = Counter()
    for part in (part for message in messages for part in message.parts):
        if isinstance(part, ToolCall):
            own[part.id] += 1
        elif isinstance(part, ToolResult):
            if own[part.call_id] > 0:
                own[part.call_id] -= 1
            elif part.call_id in open_ids or not own:
                return True
    return False
