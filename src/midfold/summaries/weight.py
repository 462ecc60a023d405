"""How much things matter beside what they are: newer ones, those still in use, those still broken.

Every factor is around one: what an entry is worth by its kind is the digest's affair.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from midfold.messages import Message, Text, ToolCall, ToolResult
from midfold.summaries.ledger import Deed, Ledger
from midfold.summaries.ledger.paths import find_names

_OLDEST, _NEWEST = 0.85, 1.15
_IN_USE = 1.35
"""for what the messages that stay speak of"""
_BROKEN = 1.4
_MENDED = 0.9
_DECIDED = 1.6
_SHORTEST_NAME = 5
_TEXT_CHARS = 40_000


@dataclass(frozen=True, slots=True)
class Importance:
    """What the rest of a conversation says about the worth of one thing in it."""

    newest: int = 1
    in_use: frozenset[str] = field(default_factory=frozenset)
    """names that occur in the messages that stay"""
    broken: frozenset[int] = field(default_factory=frozenset)
    """messages with a call that failed and was not mended"""
    mended: frozenset[int] = field(default_factory=frozenset)

    def of_deed(self, deed: Deed) -> float:
        factor = self._recency(deed.index)
        if not self.in_use.isdisjoint(deed.act.names):
            factor *= _IN_USE
        if deed.index in self.broken:
            factor *= _BROKEN
        return factor * (_MENDED if deed.index in self.mended else 1.0)

    def of_words(self, index: int, *, decides: bool) -> float:
        return self._recency(index) * (_DECIDED if decides else 1.0)

    def _recency(self, index: int) -> float:
        return _OLDEST + (_NEWEST - _OLDEST) * min(1.0, index / max(self.newest, 1))


def weigh(ledger: Ledger, kept: Iterable[Message], newest: int) -> Importance:
    """Look at what stays in the context, and at how things ended."""
    return Importance(
        newest=newest,
        in_use=frozenset(name for message in kept for name in _names_in(message)),
        broken=frozenset(ledger.deeds[place].index for place in ledger.open_failures),
        mended=frozenset(ledger.deeds[place].index for place in ledger.fixes),
    )


def _names_in(message: Message) -> Iterable[str]:
    """Yield the names of files and other things in a message, but for the shortest."""
    for part in message.parts:
        if isinstance(part, Text | ToolResult):
            text = part.text[:_TEXT_CHARS]
        elif isinstance(part, ToolCall):
            text = part.arguments[:_TEXT_CHARS]
        else:
            continue
        yield from (name for name in find_names(text) if len(name) >= _SHORTEST_NAME)
