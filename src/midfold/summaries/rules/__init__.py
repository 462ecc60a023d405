"""Sentences in which the user sets a rule: found in many languages, kept word for word.

Losing them is what makes agents break rules after a fold. Only the user's own sentences count: not what is
fenced as code or quoted, and never the text of a tool.
"""

import re
from collections.abc import Iterator
from functools import cache

from midfold.texts import read_text

__all__ = ["LONGEST_RULE_CHARS", "find_rules", "is_rule"]

LONGEST_RULE_CHARS = 300
_QUESTION_MARKS = ("?", "？", "؟")
_SHORTEST_RULE_CHARS = 6
_READ_CHARS = 12_000
"""Of a longer message the two ends are read: what lies between is most often pasted."""

_FENCES = re.compile(r"```|~~~|</?(?:pre|code)>")
_QUOTES = re.compile(r"`[^`\n]{1,300}`|\"[^\"\n]{1,300}\"|“[^”\n]{1,300}”|«[^»\n]{1,300}»|「[^」\n]{1,300}」")
_QUOTED_LINE = re.compile(r"^\s{0,8}(?:>|\|)")
# A full stop ends a sentence before a space; the stops of Chinese and Japanese need none.
_SENTENCE_END = re.compile(r"(?<=[.!?…])[\"')\]]{0,2}\s+|(?<=[。！？])|\n+")
_BULLET = re.compile(r"^\s{0,12}(?:[-*+•]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?")

# Ways to forbid that take a verb: French around it, Spanish, Italian and Russian before it.
_FORMS = re.compile(
    r"\b(?:ne\s|n['’])\w+\spas\b"
    r"|\bno\s(?:us|hag|toqu|cambi|modifiqu|borr|quier|incluy|agregu|añad|elimin|romp|olvid|escrib|cre)\w{1,4}\b"
    r"|\bnon\s(?:devi|usare|fare|toccare|cambiare|modificare)\b"
    r"|\bне\s(?:меня|трога|использу|удаля|дела|добавля|забуд|пиш)\w+"
)
# What does not work, or is not known, is reported and not ruled.
_REPORTS = re.compile(
    r"\b(?:i|we|they|it|this|that|he|she)\s(?:don't|do not|doesn't|does not|only|should (?:be )?work)\b"
    r"|\bmust have (?:been|had)\b|\b(?:never|always) \w+ed\b|\bdoes not (?:exist|work|match)\b"
    r"|\bthere (?:are|is) always\b"
)
_WORD = re.compile(r"\w+(?:['’]\w+)?")


def find_rules(text: str) -> list[str]:
    """Return the sentences of a user's message that set a rule, in their order, each once."""
    if len(text) > _READ_CHARS:
        text = f"{text[: _READ_CHARS // 2]}\n{text[-_READ_CHARS // 2 :]}"
    # What stands between two fences is code.
    sentences = sentences_of("\n".join(_FENCES.split(text)[::2]))
    return list(dict.fromkeys(sentence for sentence in sentences if is_rule(sentence)))


def is_rule(sentence: str) -> bool:
    """Whether a sentence of the user sets a rule."""
    if not _SHORTEST_RULE_CHARS <= len(sentence) <= LONGEST_RULE_CHARS:
        return False
    said = _QUOTES.sub(" ", sentence).lower().replace("’", "'").rstrip()
    if said.endswith(_QUESTION_MARKS):
        return False
    said = _REPORTS.sub(" ", said)
    return (
        not _words().isdisjoint(_WORD.findall(said))
        or any(map(said.__contains__, _phrases()))
        or _FORMS.search(said) is not None
        or said.startswith("no ")
        or (not said.isascii() and any(map(said.__contains__, _parts())))
    )


def sentences_of(text: str) -> Iterator[str]:
    """Yield the sentences of a text without bullets; quoted lines are left out."""
    for line in text.split("\n"):
        if not line.strip() or _QUOTED_LINE.match(line):
            continue
        bare = _BULLET.sub("", line).strip()
        yield from (sentence.strip() for sentence in _SENTENCE_END.split(bare) if sentence.strip())


@cache
def _words() -> frozenset[str]:
    """Return the words that forbid, oblige, limit or prefer; a language a line or two."""
    return frozenset(read_text(__name__, "words.txt").split())


@cache
def _phrases() -> tuple[str, ...]:
    """Return what takes several words to say."""
    return tuple(read_text(__name__, "phrases.txt").strip().replace("\n", ", ").split(", "))


@cache
def _parts() -> tuple[str, ...]:
    """Return what is found inside words, for scripts that do not part them."""
    return tuple(read_text(__name__, "parts.txt").split())
