"""Says whether a text matches a query, for stores that have no index of words."""

from collections.abc import Iterable, Sequence
from typing import assert_never

from midfold.search.query import AllOf, AnyOf, Node, Phrase, Without
from midfold.search.terms import STEMS
from midfold.search.words import WORD, fold, index_words


def words_in(texts: Iterable[str]) -> list[str]:
    """Return the words that a message is found by, whatever their case and accents."""
    return WORD.findall(fold(index_words(texts)))


def matches(tree: Node, words: Sequence[str]) -> bool:
    """Whether these words are what a query asks for."""
    return _matches(tree, words, list(map(STEMS.__getitem__, words)))


def _matches(tree: Node, words: Sequence[str], stems: Sequence[str]) -> bool:
    match tree:
        case Phrase():
            return _has(tree, words, stems)
        case AllOf(parts):
            return all(_matches(part, words, stems) for part in parts)
        case AnyOf(parts):
            return any(_matches(part, words, stems) for part in parts)
        case Without(wanted, unwanted):
            return _matches(wanted, words, stems) and not _matches(unwanted, words, stems)
        case _:
            assert_never(tree)


def _has(phrase: Phrase, words: Sequence[str], stems: Sequence[str]) -> bool:
    wanted = phrase.words
    if not wanted:
        return False
    if phrase.is_exact or phrase.is_prefix:
        return _has_run(words, wanted, phrase.is_prefix)
    return _has_run(stems, [STEMS[word] for word in wanted], is_prefix=False)


def _has_run(words: Sequence[str], wanted: Sequence[str], is_prefix: bool) -> bool:
    """Whether words stand next to each other; each place of the first one is tried, and no other."""
    if is_prefix and len(wanted) == 1:
        return any(word.startswith(wanted[0]) for word in words)
    rest, last = list(wanted[:-1]), wanted[-1]
    start, first = -1, wanted[0]
    while True:
        try:
            start = words.index(first, start + 1)
        except ValueError:
            return False
        stop = start + len(rest)
        if stop >= len(words):
            return False
        end = words[stop]
        if (end.startswith(last) if is_prefix else end == last) and list(words[start:stop]) == rest:
            return True
