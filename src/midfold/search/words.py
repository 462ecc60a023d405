"""The words of a text, however it was typed: letters without variants, and the parts of identifiers.

Words end at everything that is no letter and no digit, so `snake_case`, paths and dotted names are parted by
themselves. Words in scripts written without spaces, and `camelCase`, are parted here. Texts and queries go
through the same functions, so what was put in can be found.
"""

import re
from collections.abc import Iterable
from functools import lru_cache
from unicodedata import normalize

from midfold.late_patterns import compile_late

INDEX_VERSION = 3
"""Rises with every change to what a message is indexed by, be it here or in the texts it is said to have.

An index of another version has to be rebuilt before anything is removed from it.
"""
MAX_INDEXED_CHARS = 1 << 18
"""As much of a message is found by its words; others wait while it is indexed."""
WORD = compile_late(r"[^\W_]+")
"""A word as the tokenizer sees it, in a text that went through `segment`."""

UNSPACED = (
    "\u0e01-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u2e80-\ua4cf\ua960-\ua97f\uac00-\ud7ff"
    "\uf900-\ufaff\U0001aff0-\U0001b16f\U00020000-\U0003ffff"
)
"""Han, kana, bopomofo, hangul and Yi, and the scripts of Thailand, Laos, Myanmar and Cambodia."""

_UNSPACED_RUN = compile_late(f"[{UNSPACED}]+")
_FOREIGN = compile_late("[^\x01-\x7f]+")
# The same word typed as single jamo or in full width, or with its sound marks apart.
_VARIANT = compile_late("[\u1100-\u11ff\uff10-\uffdc]+")
_SOUND_MARK = compile_late("[\u3041-\u30ff][\u3099\u309a]")
_ACCENT = compile_late("[\u0300-\u036f]+")
# The tokenizer takes every sign that is younger than its tables, and every glyph of a private font, for a
# letter. A lone surrogate cannot be bound at all.
_NOISE = compile_late(r"[^\x01-\x7f\w]+")
# Most texts that are not ASCII have nothing else. These end a word, so a space does as well.
_COMMON_NOISE = "→—–…’“”•·│─├└✓✗"
# What kind each character is of: a small letter, a capital, a digit, or none of them.
_NONE, _SMALL, _CAPITAL, _DIGIT = range(4)
_KINDS = bytes(
    _SMALL if sign.islower() else _CAPITAL if sign.isupper() else _DIGIT if sign.isdigit() else _NONE
    for sign in map(chr, range(128))
).ljust(256, b"\0")


def _is_change(kind: int, before: int, second_before: int) -> bool:
    """Whether a part begins around here: camelCase, sha256, 3rd, HTTP2, HTTPServer."""
    if kind == _SMALL:
        return before == _DIGIT or (before, second_before) == (_CAPITAL, _CAPITAL)
    return kind != _NONE and before not in (_NONE, kind)


# By the kinds of three characters in a row, two bits each, the last one lowest: 1 where they show a change.
_CHANGES = bytes(_is_change(code & 3, code >> 2 & 3, code >> 4 & 3) for code in range(64)).ljust(256, b"\0")
_PART = compile_late("[A-Z]{2,}(?=s(?![a-z]))|[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
# Digests and random ids change kind at every other character, and nobody looks for a piece of one.
_MAX_PARTS = 8
_MAX_IDENTIFIER_CHARS = 64
_MIN_CHARS_PER_PART = 2


def index_words(texts: Iterable[str]) -> str:
    """Return what the index gets for a message: its texts, and behind them the parts of its identifiers.

    A text is in there in its own order, so a phrase of it is found; so is each identifier.
    """
    text = segment("\n".join(texts)[:MAX_INDEXED_CHARS])
    parts = [found for found in map(split_identifier, find_identifiers(text)) if found]
    return f"{text}\n{' '.join(parts)}" if parts else text


def segment(text: str) -> str:
    """Return a text with the words that its script does not show: a space around each such character."""
    text = plain(text)
    return text if text.isascii() else _UNSPACED_RUN.sub(lambda found: f" {' '.join(found[0])} ", text)


def plain(text: str) -> str:
    """Return a text without signs that end a word, and with the usual form of letters that have several."""
    if not text.isascii():
        for sign in _COMMON_NOISE:
            text = text.replace(sign, " ")
    if text.isascii():
        return text.replace("\0", " ") if "\0" in text else text
    return _FOREIGN.sub(_plain_foreign, text)


def fold(text: str) -> str:
    """Return a text in small letters without accents, character for character."""
    return text.lower() if text.isascii() else text.translate(_FOLDS)


class _Folds(dict[int, str]):
    """The folded form of each character, worked out when it is first seen."""

    def __missing__(self, code: int) -> str:
        bare = [sign for sign in normalize("NFKD", chr(code).lower()) if not "\u0300" <= sign <= "\u036f"]
        self[code] = bare[0] if len(bare) == 1 else chr(code)
        return self[code]


_FOLDS = _Folds()


def _plain_foreign(found: re.Match[str]) -> str:
    run = found[0]
    return _plain_sign(run) if len(run) == 1 else _plain_run(run)


# Most of what is not ASCII stands alone: dashes, quotation marks, letters with accents.
@lru_cache(maxsize=4096)
def _plain_sign(sign: str) -> str:
    return _plain_run(sign)


def _plain_run(run: str) -> str:
    if "\u3099" in run or "\u309a" in run:
        run = _SOUND_MARK.sub(_usual, run)
    return _NOISE.sub(" ", _ACCENT.sub("", _VARIANT.sub(_usual, run)))


def _usual(found: re.Match[str]) -> str:
    return normalize("NFKC", found[0])


@lru_cache(maxsize=4096)  # a conversation says the same few names over and over
def split_identifier(word: str) -> str:
    """Return the parts of `parseHTTPHeader2` with spaces between, or nothing where it has none."""
    if len(word) > _MAX_IDENTIFIER_CHARS or not word.isascii():
        return ""
    parts = _PART.findall(word)
    if not 1 < len(parts) <= min(_MAX_PARTS, len(word) // _MIN_CHARS_PER_PART):
        return ""
    return " ".join(parts)


def find_identifiers(text: str) -> list[str]:
    """Return the ASCII words of which one kind of character follows another, each once.

    A regular expression that looks for them takes longer than the database takes for all the rest. So three
    copies of the text, as the kinds of its characters, are laid over one another, each a character further.
    """
    kinds = text.encode("ascii", "replace").translate(_KINDS)
    number = int.from_bytes(kinds, "little")
    overlaid = number | number << (8 + 2) | number << (16 + 4)
    changes = overlaid.to_bytes(len(kinds) + 3, "little").translate(_CHANGES)
    kinds += b"\0"
    found: dict[str, None] = {}
    at = changes.find(1)
    while at >= 0:
        start, stop = kinds.rfind(_NONE, 0, at) + 1, kinds.find(_NONE, at)
        found[text[start:stop]] = None
        at = changes.find(1, stop)
    return list(found)
