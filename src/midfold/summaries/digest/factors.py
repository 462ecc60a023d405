"""Factors around one: by how much newer things weigh more, those still in use, and those still broken."""

from collections.abc import Iterable

from midfold.late_dataclasses import dataclass, field

_OLDEST, _NEWEST = 0.85, 1.15
_IN_USE = 1.35
"""for what the messages that stay speak of"""
_BROKEN = 1.4
_FIXED = 0.9
_DECIDED = 1.6
_TOLD = 2.0
"""for a model's last words of a turn"""


@dataclass(frozen=True, slots=True)
class WeightFactors:
    """The factors by which the rest of a conversation changes the weight of one thing in it."""

    newest: int = 1
    in_use: frozenset[str] = field(default_factory=frozenset)
    """names that occur in the messages that stay"""
    broken: frozenset[int] = field(default_factory=frozenset)
    """messages with a call that failed and was not tried again with success"""
    fixed: frozenset[int] = field(default_factory=frozenset)

    def of_action(self, index: int, names: Iterable[str]) -> float:
        factor = self._recency(index)
        if not self.in_use.isdisjoint(names):
            factor *= _IN_USE
        if index in self.broken:
            factor *= _BROKEN
        return factor * (_FIXED if index in self.fixed else 1.0)

    def of_words(self, index: int, *, decides: bool, is_final: bool = False) -> float:
        return self._recency(index) * (_DECIDED if decides else 1.0) * (_TOLD if is_final else 1.0)

    def _recency(self, index: int) -> float:
        return _OLDEST + (_NEWEST - _OLDEST) * min(1.0, index / max(self.newest, 1))
