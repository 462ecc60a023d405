"""Checks how much of a topic survived a compression that was asked to keep it above all.

A topic survives in its words and in what is said together with them: files, names, values. Only what the
folded messages have is asked for.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache

from midfold.late_dataclasses import dataclass
from midfold.late_patterns import compile_late
from midfold.summaries.answers.language import small_words
from midfold.summaries.tool_calls.output import one_line

_LITTLE = 0.3
"""Of what was asked for, below which little survived: notes shorten, yet the topic has most of the room."""
_MOST_FACTS = 24
_TOPIC_CHARS = 300
_LINE_CHARS = 2_000
_SHORTEST_NAME, _LONGEST_NAME = 5, 80
_WHOLE_WORD_CHARS = 3
"""Up to this length a word is looked for as a whole: `api` is not in `rapid`."""
_SHOWN_CHARS = 60
_WORD = compile_late(
    r"[A-Za-z0-9_\u00c0-\u1fff](?:[A-Za-z0-9_\u00c0-\u1fff./@#-]*[A-Za-z0-9_\u00c0-\u1fff])?"
)
_CHARACTERS = compile_late(r"[\u3400-\u9fff]{2,}")
_KATAKANA_OR_KOREAN = compile_late(r"[\u30a1-\u30ff]{2,}|[\uac00-\ud7a3]{2,}")
_CHINESE_SMALL = compile_late("[的了和与與及在是把被中上下]")
_KOREAN_ENDING = compile_late("(?<=..)(?:에서|으로|을|를|은|는|이|가|의|에|로|과|와|도)$")
_NAME = compile_late(
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
    """The words of a topic that the folded messages had, and those of them that are in the summary."""

    asked: tuple[str, ...]
    """naming words of the topic, then names that stand beside them"""
    kept: tuple[str, ...]
    warning: str | None


def check_focus(topic: str, texts: Sequence[str], summary: str, *, is_by_model: bool = True) -> FocusCheck:
    """Look for a topic in a summary of `texts`, all that the folded messages say.

    There is a warning when the topic names nothing that was folded, or when little of it survived;
    `is_by_model` says whether a model wrote the summary, and may be the cause.
    """
    # One by one: plain texts are put into lower case much quicker than those with any other letter in them.
    said = [text.casefold() for text in texts]
    holding = {word: _find_texts(word, said) for word in _naming_words(topic, said)}
    words = tuple(word for word, found in holding.items() if found)
    shown = one_line(topic, _SHOWN_CHARS)
    if not words:
        reason = f"Nothing that was folded mentions the focus {shown!r}. The topic may be too vague:"
        return FocusCheck((), (), f"{reason} name the files, functions or errors you mean.")
    speaking = sorted({number for found in holding.values() for number in found})
    asked = (*words, *_names_beside(words, [(texts[number], said[number]) for number in speaking]))
    notes = summary.casefold()
    kept = tuple(each for each in asked if _Sought(each).stands_in(notes))
    if len(kept) >= _LITTLE * len(asked):
        return FocusCheck(asked, kept, None)
    lost = f"Little of the focus {shown!r} survived: {len(kept)} of {len(asked)} of its words and names."
    cause = "The summarising model may be too weak: try a larger one. Or the" if is_by_model else "The"
    vague = "topic may be too vague: name the files, functions or errors you mean."
    return FocusCheck(asked, kept, f"{lost} {cause} {vague}")


def _naming_words(topic: str, said: Sequence[str]) -> Iterable[str]:
    """Yield the words of a topic that name something; where words are not parted, those that were said."""
    topic = topic.strip()[:_TOPIC_CHARS]
    found = [word for word in _WORD.findall(topic) if len(word) > 2 or word.isupper() or not word.isalpha()]
    found += [_KOREAN_ENDING.sub("", word) for word in _KATAKANA_OR_KOREAN.findall(topic)]
    for run in _CHARACTERS.findall(topic):
        found += [piece for part in _CHINESE_SMALL.split(run) for piece in _said_pieces(part, said)]
    # A topic of a single letter or character is what it is, and so is one of nothing but vague words.
    naming = [word for word in found or [topic] if word and word.casefold() not in _small()]
    yield from naming or [word for word in found if word.casefold() in _vague()]


def _said_pieces(run: str, said: Sequence[str]) -> Iterable[str]:
    """Split characters into the longest pieces of two or more that occur in what was said."""
    start = 0
    while start < len(run) - 1:
        stops = range(len(run), start + 1, -1)
        stop = next((stop for stop in stops if any(run[start:stop] in text for text in said)), start)
        if stop > start:
            yield run[start:stop]
        start = max(stop, start + 1)


def _find_texts(word: str, said: Iterable[str]) -> list[int]:
    """List the texts that hold a word."""
    stands_in = _Sought(word).stands_in
    return [number for number, text in enumerate(said) if stands_in(text)]


def _names_beside(words: Iterable[str], texts: Iterable[tuple[str, str]]) -> list[str]:
    """List the names on lines that speak of the topic, those first that stand beside most of its words.

    Each text comes with its lower case.
    """
    sought = [_Sought(word) for word in words]
    beside_topic: Counter[str] = Counter()
    for text, said in texts:
        for line, low in zip(text.split("\n"), said.split("\n"), strict=True):
            if not any(each.stands_in(low) for each in sought):
                continue
            line = line[:_LINE_CHARS]
            low = line.casefold()
            beside = sum(each.stands_in(low) for each in sought)
            names = {name for name in _NAME.findall(line) if _SHORTEST_NAME <= len(name) <= _LONGEST_NAME}
            beside_topic.update(dict.fromkeys(sorted(names if beside else ()), beside))
    known = {word.casefold() for word in words}
    return [name for name, _ in beside_topic.most_common() if name.casefold() not in known][:_MOST_FACTS]


class _Sought:
    """A word, or the last part of a path, to be looked for in texts that are in lower case."""

    __slots__ = ("_last", "_stem", "_whole")

    def __init__(self, word: str) -> None:
        stem = _stem(word)
        last = stem.rsplit("/", 1)[-1]
        self._stem = stem
        self._last = last if last != stem and len(last) >= _SHORTEST_NAME else None
        is_short = len(word) <= _WHOLE_WORD_CHARS and word.isascii()
        self._whole = re.compile(rf"(?<!\w){re.escape(stem)}(?!\w)") if is_short else None

    def stands_in(self, said: str) -> bool:
        if self._stem in said:
            return self._whole is None or self._whole.search(said) is not None
        return self._last is not None and self._last in said


def _stem(word: str) -> str:
    """Leave out the ending of a plural, so that one schema is found for schemas."""
    word = word.casefold()
    return word[:-1] if len(word) > 4 and word.endswith("s") and not word.endswith("ss") else word


@cache
def _vague() -> frozenset[str]:
    return frozenset(_VAGUE_WORDS.split())


@cache
def _small() -> frozenset[str]:
    return _vague().union(*small_words().values())
