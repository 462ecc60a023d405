"""Says whether a text matches a query, for stores that have no index of words."""

from collections.abc import Iterable, Sequence
from typing import assert_never
from unicodedata import combining, normalize

from midfold.store.search.query import AllOf, AnyOf, Node, Phrase, Without
from midfold.store.search.words import WORD, index_words


def words_in(texts: Iterable[str]) -> list[str]:
    """Return the words that a message is found by, whatever their case and accents."""
    return _split(index_words(texts))


def matches(tree: Node, words: Sequence[str]) -> bool:
    """Whether these words are what a query asks for."""
    match tree:
        case Phrase(text, is_prefix):
            return _has_phrase(words, _split(text), is_prefix)
        case AllOf(parts):
            return all(matches(part, words) for part in parts)
        case AnyOf(parts):
            return any(matches(part, words) for part in parts)
        case Without(wanted, unwanted):
            return matches(wanted, words) and not matches(unwanted, words)
        case _:
            assert_never(tree)


def _split(text: str) -> list[str]:
    plain = "".join(sign for sign in normalize("NFD", text) if not combining(sign))
    return [word.casefold() for word in WORD.findall(normalize("NFC", plain))]


def _has_phrase(words: Sequence[str], phrase: Sequence[str], is_prefix: bool) -> bool:
    if not phrase:
        return False
    whole, last = phrase[:-1], phrase[-1]
    for start in range(len(words) - len(phrase) + 1):
        end = words[start + len(whole)]
        if words[start : start + len(whole)] == whole and (
            end.startswith(last) if is_prefix else end == last
        ):
            return True
    return False
