"""The words, letters and phrases of texts: many phrases are looked for in one pass over a text."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from midfold.late_patterns import compile_late

_ASCII = bytes(range(128))
_PIECE_CHARS = 5
_LEAST_CHARS = 2 * _PIECE_CHARS - 1
"""so long that a whole piece stands in it wherever pieces begin"""
_WORD = compile_late(r"\w+")
_WHOLE_WORD = compile_late(r"(?<=\W)\w+(?=\W)")
_MATTER_WORD = compile_late(r"[^\W\d_\u2e80-\uffff]{4,}|\d{2,}|[\u2e80-\u9fff\uac00-\ud7af]{2}")
_PLAIN_MATTER_WORD = compile_late(r"[a-z]{4,}|\d{2,}")
"""the same where all is ASCII"""


def matter_words(text: str) -> frozenset[str]:
    """Return the words of a text that can tell one matter from another; pairs where words are not parted."""
    pattern = _PLAIN_MATTER_WORD if text.isascii() else _MATTER_WORD
    return frozenset(pattern.findall(text.lower()))


def other_letters(text: str) -> set[str]:
    """Return the characters of a text that are not ASCII."""
    # Bytes are dropped in a tenth of the time that looking at each character takes.
    return set(text.encode("utf-8", "surrogatepass").translate(None, _ASCII).decode("utf-8", "surrogatepass"))


class Phrases:
    """Phrases known by pieces of each that few others have."""

    def __init__(self, phrases: Iterable[str]) -> None:
        """Find the rarest pieces of each of `phrases`."""
        known = dict.fromkeys(phrases)
        counts = Counter(piece for phrase in known for piece in _cut(phrase))
        self._short = [phrase for phrase in known if len(phrase) < _LEAST_CHARS]
        self._long: defaultdict[str, list[str]] = defaultdict(list)
        for phrase in known:
            if len(phrase) >= _LEAST_CHARS:
                for piece in _find_rare(phrase, counts):
                    self._long[piece].append(phrase)

    def is_any_in(self, text: str) -> bool:
        """Whether `text` holds one of the phrases."""
        if any(phrase in text for phrase in self._short):
            return True
        # Wherever a phrase stands, one of its pieces stands at a multiple of their length.
        pieces = {text[at : at + _PIECE_CHARS] for at in range(0, len(text) - _PIECE_CHARS + 1, _PIECE_CHARS)}
        if self._long.keys().isdisjoint(pieces):
            return False
        return any(phrase in text for piece in self._long.keys() & pieces for phrase in self._long[piece])


def find_absent(phrases: Sequence[str], texts: Iterable[str]) -> list[str]:
    """Return the phrases that no text holds, in their order.

    A word with something on both sides of it in a phrase is a word of any text that holds the phrase. So each
    phrase is looked for only where the word is that the fewest other phrases have.
    """
    words = {phrase: set(_WHOLE_WORD.findall(phrase)) for phrase in phrases}
    counts = Counter(word for each in words.values() for word in each)
    wanted: defaultdict[str, set[str]] = defaultdict(set)
    for phrase, each in words.items():
        wanted[min(each, key=lambda word: (counts[word], word)) if each else ""].add(phrase)
    found: set[str] = set()
    for text in texts:
        for word in ("", *(wanted.keys() & set(_WORD.findall(text)))):
            here = {phrase for phrase in wanted[word] if phrase in text}
            found |= here
            wanted[word] -= here
    return [phrase for phrase in phrases if phrase not in found]


def _cut(text: str) -> set[str]:
    return {text[at : at + _PIECE_CHARS] for at in range(len(text) - _PIECE_CHARS + 1)}


def _find_rare(phrase: str, counts: Counter[str]) -> list[str]:
    """Return the pieces around one that the fewest others have: one for each way to cut a text."""
    pieces = [phrase[at : at + _PIECE_CHARS] for at in range(len(phrase) - _PIECE_CHARS + 1)]
    rarest = min(range(len(pieces)), key=lambda at: counts[pieces[at]])
    first = min(max(rarest - _PIECE_CHARS // 2, 0), len(pieces) - _PIECE_CHARS)
    return pieces[first : first + _PIECE_CHARS]
