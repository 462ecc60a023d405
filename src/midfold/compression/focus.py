"""Checks how much of a topic survived a compression that was asked to keep it above all.

A topic survives in its words and in what is told together with them: files, names, values. Only what the
folded messages have is asked for.
"""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from midfold.compression.answers.language import small_words
from midfold.compression.excerpts import one_line

_LITTLE = 0.3
"""Of what was asked for, below which little survived: notes shorten, yet the topic has most of the room."""
_MOST_FACTS = 24
_TOPIC_CHARS = 300
_LINE_CHARS = 2_000
_SHORTEST_NAME, _LONGEST_NAME = 5, 80
_WHOLE_WORD_CHARS = 3
"""Up to this length a word is looked for as a whole: `api` is not in `rapid`."""
_SHOWN_CHARS = 60
_WORD = re.compile(r"[A-Za-z0-9_\u00c0-\u1fff](?:[A-Za-z0-9_\u00c0-\u1fff./@#-]*[A-Za-z0-9_\u00c0-\u1fff])?")
_CHARACTERS = re.compile(r"[\u3400-\u9fff]{2,}")
_KATAKANA_OR_KOREAN = re.compile(r"[\u30a1-\u30ff]{2,}|[\uac00-\ud7a3]{2,}")
_CHINESE_SMALL = re.compile("[的了和与與及在是把被中上下]")
_KOREAN_ENDING = re.compile("(?<=..)(?:에서|으로|을|를|은|는|이|가|의|에|로|과|와|도)$")
_NAME = re.compile(
    r"(?<![\w./@#-])[\w@.~/][\w.@#/-]{0,80}(?:[/_.:]|\d|[a-z][A-Z])[\w./@#:-]{0,80}[A-Za-z0-9_]", re.ASCII
)
# Words of a topic that name nothing.
_VAGUE_WORDS = """
    everything anything something stuff things thing all any details detail code work works task tasks project
    conversation chat session context topic focus focused keep important please about recent latest current
    issue issues problem problems question questions info information summary history alles wichtig tout todo
    importante 内容 一切 所有 全部 东西 重要 部分 会話 전부 모두 내용 всё все важное
"""


@dataclass(frozen=True, slots=True)
class FocusCheck:
    """What of a topic the folded messages had, and what of that is in the summary."""

    asked: tuple[str, ...]
    """telling words of the topic, then names that stand beside them"""
    kept: tuple[str, ...]
    warning: str | None


def check_focus(topic: str, source: str, summary: str) -> FocusCheck:
    """Look for a topic in a summary of `source`, the turns as a summariser is shown them.

    There is a warning when the topic names nothing that was folded, or when little of it survived.
    """
    said = source.casefold()
    words = tuple(dict.fromkeys(word for word in _telling_words(topic, said) if _stands_in(word, said)))
    shown = one_line(topic, _SHOWN_CHARS)
    if not words:
        reason = f"Nothing that was folded mentions the focus {shown!r}. The topic may be too vague:"
        return FocusCheck((), (), f"{reason} name the files, functions or errors you mean.")
    asked = (*words, *_names_beside(words, source))
    notes = summary.casefold()
    kept = tuple(each for each in asked if _stands_in(each, notes))
    if len(kept) >= _LITTLE * len(asked):
        return FocusCheck(asked, kept, None)
    warning = (
        f"Little of the focus {shown!r} survived: {len(kept)} of {len(asked)} of its words and names. Either "
        "the summarising model is too weak: try a larger one. Or the topic is too vague: name the files, "
        "functions or errors you mean."
    )
    return FocusCheck(asked, kept, warning)


def _telling_words(topic: str, said: str) -> Iterable[str]:
    """Yield the words of a topic that name something; where words are not parted, those that were said."""
    topic = topic.strip()[:_TOPIC_CHARS]
    found = [word for word in _WORD.findall(topic) if len(word) > 2 or word.isupper() or not word.isalpha()]
    found += [_KOREAN_ENDING.sub("", word) for word in _KATAKANA_OR_KOREAN.findall(topic)]
    for run in _CHARACTERS.findall(topic):
        found += [piece for part in _CHINESE_SMALL.split(run) for piece in _said_pieces(part, said)]
    # A topic of a single letter or character is what it is.
    yield from (word for word in found or [topic] if word and word.casefold() not in _small())


def _said_pieces(run: str, said: str) -> Iterable[str]:
    """Split characters into the longest pieces of two or more that occur in what was said."""
    start = 0
    while start < len(run) - 1:
        stop = next((stop for stop in range(len(run), start + 1, -1) if run[start:stop] in said), start)
        if stop > start:
            yield run[start:stop]
        start = max(stop, start + 1)


def _names_beside(words: Iterable[str], source: str) -> list[str]:
    """List the names on lines that speak of the topic, those first that stand beside most of its words."""
    told: Counter[str] = Counter()
    for line in source.split("\n"):
        line = line[:_LINE_CHARS]
        said = line.casefold()
        beside = sum(_stands_in(word, said) for word in words)
        if beside:
            names = {name for name in _NAME.findall(line) if _SHORTEST_NAME <= len(name) <= _LONGEST_NAME}
            told.update(dict.fromkeys(sorted(names), beside))
    known = {word.casefold() for word in words}
    return [name for name, _ in told.most_common() if name.casefold() not in known][:_MOST_FACTS]


def _stands_in(word: str, said: str) -> bool:
    """Whether a word, or the last part of a path, occurs in a text that is in lower case."""
    if len(word) <= _WHOLE_WORD_CHARS and word.isascii():
        return re.search(rf"(?<!\w){re.escape(word.casefold())}(?!\w)", said) is not None
    stem = _stem(word)
    last = stem.rsplit("/", 1)[-1]
    return stem in said or (len(last) >= _SHORTEST_NAME and last in said)


def _stem(word: str) -> str:
    """Leave out the ending of a plural, so that one schema is found for schemas."""
    word = word.casefold()
    return word[:-1] if len(word) > 4 and word.endswith("s") and not word.endswith("ss") else word


@cache
def _small() -> frozenset[str]:
    return frozenset(_VAGUE_WORDS.split()).union(*small_words().values())
