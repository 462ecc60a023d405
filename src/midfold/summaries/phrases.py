"""Looks for any of many phrases in a text, in a time that does not grow with their number."""

from collections import Counter, defaultdict
from collections.abc import Iterable

_PIECE_CHARS = 5


class Phrases:
    """Phrases known by the piece of each that the fewest others have."""

    def __init__(self, phrases: Iterable[str]) -> None:
        """Find the rarest piece of each of `phrases`."""
        known = dict.fromkeys(phrases)
        counts = Counter(piece for phrase in known for piece in _cut(phrase))
        self._short = [phrase for phrase in known if len(phrase) < _PIECE_CHARS]
        self._long: defaultdict[str, list[str]] = defaultdict(list)
        for phrase in known:
            if len(phrase) >= _PIECE_CHARS:
                self._long[min(_cut(phrase), key=lambda piece: (counts[piece], piece))].append(phrase)

    def is_any_in(self, text: str) -> bool:
        """Whether `text` holds one of the phrases."""
        if any(phrase in text for phrase in self._short):
            return True
        if not self._long or self._long.keys().isdisjoint(pieces := _cut(text)):
            return False
        return any(phrase in text for piece in self._long.keys() & pieces for phrase in self._long[piece])


def _cut(text: str) -> set[str]:
    return {text[at : at + _PIECE_CHARS] for at in range(len(text) - _PIECE_CHARS + 1)}
