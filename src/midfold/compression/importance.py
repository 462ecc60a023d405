"""How much things matter beside what they are: newer ones, those still in use, those still broken.

Every factor is around one: what an entry is worth by its kind is the digest's affair.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from midfold.compression.ledger import Deed, Ledger, Saying
from midfold.messages import Message, Text, ToolCall, ToolResult

_OLDEST, _NEWEST = 0.85, 1.15
_IN_USE = 1.35
"""for what the messages that stay speak of"""
_BROKEN = 1.4
_MENDED = 0.9
_DECIDED = 1.6
_NAME = re.compile(r"(?<![\w./@#-])[\w.@#-]{0,80}(?:[/_.-]|\d|[a-z][A-Z])[\w./@#-]{0,200}\w")
_SHORTEST_NAME = 5
_TEXT_CHARS = 40_000
# Words with which people and models say what they settled on, and why.
_DECISIONS = frozenset(
    {
        *(
            "decided",
            "decide",
            "decision",
            "chose",
            "choose",
            "opted",
            "instead",
            "because",
            "cause",
            "reason",
        ),
        *("issue", "problem", "bug", "fix", "therefore", "conclusion", "concluded", "confirmed", "root"),
        *("entschieden", "deshalb", "weil", "stattdessen", "grund", "décidé", "parce", "lieu", "raison"),
        *("porque", "lugar", "decidido", "razón", "porém", "motivo", "решил", "потому", "вместо", "причина"),
    }
)
_DECISION_PARTS = (
    *("决定", "因为", "所以", "而不是", "改用", "原因", "問題", "理由"),
    *("ため", "ではなく", "結論", "때문", "대신"),
)


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
        if self.in_use and any(name in self.in_use for name in _names_of(deed)):
            factor *= _IN_USE
        if deed.index in self.broken:
            factor *= _BROKEN
        return factor * (_MENDED if deed.index in self.mended else 1.0)

    def of_words(self, saying: Saying, sentence: str) -> float:
        decided = not _DECISIONS.isdisjoint(sentence.lower().split()) or (
            not sentence.isascii() and any(part in sentence for part in _DECISION_PARTS)
        )
        return self._recency(saying.index) * (_DECIDED if decided else 1.0)

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


def _names_of(deed: Deed) -> Iterable[str]:
    yield from deed.changes
    yield from deed.reads
    yield from _NAME.findall(deed.subject)


def _names_in(message: Message) -> Iterable[str]:
    """Yield the names of files and other things in a message: words with a digit, a slash, a joint."""
    for part in message.parts:
        if isinstance(part, Text | ToolResult):
            text = part.text[:_TEXT_CHARS]
        elif isinstance(part, ToolCall):
            text = part.arguments[:_TEXT_CHARS]
        else:
            continue
        yield from (name for name in _NAME.findall(text) if len(name) >= _SHORTEST_NAME)
