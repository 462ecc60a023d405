"""When two wordings count as the same: by quotation, by a long common stretch, or by shared words.

The rules are the evaluation's own. They are strict where a match is praise, and know nothing of how notes
are written.
"""

import re
import unicodedata
from collections.abc import Sequence
from difflib import SequenceMatcher
from functools import lru_cache

from midfold.evaluation.texts import escaped_forms

LEAST_WEIGHT = 24
"""The weight of a common stretch below which two texts agree by chance."""
LEAST_PART = 0.6
"""The part of the shorter text that a common stretch has to cover."""
_LEAST_QUOTE_WEIGHT = 8
_LEAST_PIECE = 0.4  # a fragment of a sentence stands for the sentence from here on
_LONGEST_COMPARED = 4_000  # characters; a longer text is compared by its quotations alone
_WIDE_WEIGHT = 3  # one ideograph or syllable says about as much as three letters
_FIRST_WIDE = "\u2e80"
_SPACE = re.compile(r"\s+")
_JOINT = re.compile(r"\s·\s")
_MARKS = re.compile(r"[*`#>]+")
_WORD = re.compile(r"[\u2e80-\uffff]{2,}|[^\W_\u2e80-\uffff][\w-]{3,}|\d+")


def flatten(text: str) -> str:
    """Make every stretch of white space one space; a dot that joins lines is such a stretch."""
    return _SPACE.sub(" ", _JOINT.sub(" ", text)).strip()


def plain(text: str) -> str:
    """Return a text without case, emphasis and variants of width."""
    return flatten(_MARKS.sub("", unicodedata.normalize("NFKC", text))).casefold()


def weigh(text: str) -> int:
    """Return the weight of a text: its characters, wide ones several times."""
    return sum(_WIDE_WEIGHT if char >= _FIRST_WIDE else 1 for char in text)


def quotes(flat: str, wanted: str) -> bool:
    """Whether a flattened text has a string word for word, as it is or as JSON escapes it."""
    return any(flatten(form) in flat for form in escaped_forms(wanted))


def says_same(text: str, label: str) -> bool:
    """Whether a text has the words of a label, or so long a stretch of them that nothing else is meant."""
    ours, theirs = plain(text), plain(label)
    if not ours or not theirs:
        return False
    if theirs in ours:
        return weigh(theirs) >= _LEAST_QUOTE_WEIGHT
    if ours in theirs:
        return weigh(ours) >= max(_LEAST_QUOTE_WEIGHT, _LEAST_PIECE * weigh(theirs))
    if len(ours) > _LONGEST_COMPARED:
        return False
    match = SequenceMatcher(None, ours, theirs, autojunk=False).find_longest_match()
    weight = weigh(theirs[match.b : match.b + match.size])
    return weight >= LEAST_WEIGHT and weight >= LEAST_PART * min(weigh(ours), weigh(theirs))


@lru_cache(maxsize=4096)
def content_words(text: str) -> frozenset[str]:
    """Return the words that carry something: numbers, four letters and more, pairs of wide characters."""
    found: set[str] = set()
    for match in _WORD.finditer(plain(text)):
        word = match[0]
        found.update([word] if word[0] < _FIRST_WIDE else [word[at : at + 2] for at in range(len(word) - 1)])
    return frozenset(found)


def part_of_words(text: str, label: str) -> float:
    """Return the part of a label's words that a text has."""
    wanted = content_words(label)
    return len(wanted & content_words(text)) / len(wanted) if wanted else 0.0


def covers(texts: Sequence[str], label: str, least: float, *, besides: str = "") -> bool:
    """Whether one of the texts has at least that part of a label's words.

    Words that also stand in `besides`, another wording about the same thing, prove nothing alone.
    """
    own = content_words(label) - content_words(besides)
    if not own:
        return False
    return any(
        part_of_words(text, label) >= least and len(own & content_words(text)) >= least * len(own)
        for text in texts
    )
