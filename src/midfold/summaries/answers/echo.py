"""Tells notes that repeat what the summariser was shown from notes that quote it.

A good summary quotes: names, errors, the user's words. What it does not do is go on word for word for long,
so only long runs of words count, and only when most of the answer is made of them.
"""

import re
from collections import Counter
from collections.abc import Sequence
from itertools import accumulate, islice

# A word, or one character where words are not parted.
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]|[^\W\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]+")
_FENCED = re.compile(r"<<<MIDFOLD (\S+)>>>\n.*?\n<<<END MIDFOLD \1>>>", re.DOTALL)
_TURN_LABEL = re.compile(
    r"^\[\d+\] (?:(?:USER|ASSISTANT|SYSTEM|TOOL): |CALL \S+ |RESULT (?:of \S+ )?\([\d,]+ chars)", re.MULTILINE
)
_GRAM_WORDS = 8
_RUN_CHARS = 350
"""The shortest run that is more than a quotation."""
_MOST_PART = 0.6
_INSTRUCTION_PART = 0.2
"""Nothing in our instructions is worth quoting, so that less of them tells."""
_MOST_LABELS = 3
_LONG_LINE_CHARS = 10
_FEWEST_LINES = 12


def repeats_turns(said: str, turns: str) -> bool:
    """Whether an answer is for the most part the turns themselves."""
    if len(_TURN_LABEL.findall(said)) > _MOST_LABELS:
        return True
    return _part_repeated(said, turns, _RUN_CHARS) >= _MOST_PART


def repeats_instructions(said: str, prompt: str) -> bool:
    """Whether an answer gives back what the prompt says around the turns and the earlier notes."""
    return _part_repeated(said, _FENCED.sub("\n", prompt), 0) >= _INSTRUCTION_PART


def repeats_itself(lines: Sequence[str]) -> bool:
    """Whether most lines of notes are copies of others."""
    long = [line for line in lines if len(line) >= _LONG_LINE_CHARS]
    copies = sum(times - 1 for times in Counter(long).values())
    return len(long) >= _FEWEST_LINES and copies >= len(long) * _MOST_PART


def _part_repeated(said: str, source: str, run_chars: int) -> float:
    """Return which part of a text stands in the source, too, in runs of at least `run_chars`."""
    words = _words(said)
    grams = list(_grams(words))
    # The grams of the answer are few; those of the source only pass by.
    shared = set(grams).intersection(_grams(_words(source)))
    ends = [0, *accumulate(len(word) + 1 for word in words)]
    repeated = start = 0
    for place, gram in enumerate([*grams, ()]):
        if gram in shared:
            continue
        # The run was of the grams from `start` up to here, each a word behind the one before it.
        length = ends[place + _GRAM_WORDS - 1] - ends[start] if place > start else 0
        repeated += length if length >= run_chars else 0
        start = place + 1
    return repeated / ends[-1] if words else 0.0


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def _grams(words: Sequence[str]) -> "zip[tuple[str, ...]]":
    return zip(*(islice(words, start, None) for start in range(_GRAM_WORDS)), strict=False)
