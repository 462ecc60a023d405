"""The terms of a text: what it is indexed, counted and compared by, in memory and in every store.

A word is a term by its stem. What is written without spaces is found by its pairs of characters, and the last
character of a run stands alone, so that a single one is found as the beginning of a term. The parts of an
identifier are terms behind the text. Texts and queries go through the same function.
"""

from collections.abc import Iterable

from midfold.late_patterns import compile_late
from midfold.search.stems import MAX_TERM_CHARS, Stems
from midfold.search.words import (
    MAX_INDEXED_CHARS,
    UNSPACED,
    WORD,
    find_identifiers,
    fold,
    plain,
    split_identifier,
)

_SHORTEST_STEM = 2
_ASCII_WORD = compile_late("[a-z0-9]+")
_TOKEN = compile_late(rf"[{UNSPACED}]+|(?:(?![{UNSPACED}])[^\W_])+")
_UNSPACED_RUN = compile_late(f"([{UNSPACED}]+)")

STEMS = Stems()
"""The stem of each word that was seen."""


def index_terms(texts: Iterable[str]) -> str:
    """Return the terms of a message, each once, with spaces between: what an index of words gets."""
    return " ".join(set(terms_in("\n".join(texts))))


def terms_in(text: str) -> list[str]:
    """Return the terms of a text in its order, and behind them those of the parts of its identifiers."""
    text = plain(text[:MAX_INDEXED_CHARS])
    if text.isascii():
        words = _ASCII_WORD.findall(text.lower())
        found = list(map(STEMS.__getitem__, words))
    else:
        found = []
        for number, piece in enumerate(_UNSPACED_RUN.split(fold(text))):
            if number % 2:
                found += [piece[start : start + 2] for start in range(len(piece))]
            else:
                found += map(STEMS.__getitem__, WORD.findall(piece))
    for word in find_identifiers(text):
        found += [STEMS[part] for part in split_identifier(word).lower().split()]
    return found


def word_terms(word: str) -> list[str]:
    """Return the terms of a word of a query: for a run of characters without spaces its pairs alone."""
    found = []
    for token in _TOKEN.findall(fold(plain(word))):
        terms = _token_terms(token)
        found += terms[:-1] if len(terms) > 1 else terms
    return found


def prefix_terms(prefix: str) -> list[str]:
    """Return the terms of words that begin so and are cut shorter by their stems."""
    word = fold(plain(prefix))[:MAX_TERM_CHARS]
    if is_unspaced(word) or not word.isascii():
        return []
    return list(dict.fromkeys([*(word[:end] for end in range(_SHORTEST_STEM, len(word))), STEMS[word]]))


def is_unspaced(term: str) -> bool:
    """Whether a term is of a script that is written without spaces."""
    return _UNSPACED_RUN.match(term) is not None


def _token_terms(token: str) -> list[str]:
    if not is_unspaced(token):
        return [STEMS[token]]
    return [token[start : start + 2] for start in range(len(token))]
