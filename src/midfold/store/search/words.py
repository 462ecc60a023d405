"""What a message is found by: the text that goes into the index, and its twin on the side of a query.

The tokenizer of the database ends words at everything that is no letter and no digit, so `snake_case`, paths
and dotted names are parted already. It knows no words in scripts written without spaces, nor `camelCase`:
those are parted here. Texts and queries go through the same functions, so what was put in can be found.
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from unicodedata import normalize

INDEX_VERSION = 1
"""Rises with every change to what a message is indexed by, be it here or in the texts it is said to have.

An index of another version has to be rebuilt before anything is removed from it.
"""
WORD = re.compile(r"[^\W_]+")
"""What the tokenizer takes for a word, in a text that went through `segment`."""

UNSPACED = (
    "\u0e01-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u2e80-\ua4cf\ua960-\ua97f\uac00-\ud7ff"
    "\uf900-\ufaff\U0001aff0-\U0001b16f\U00020000-\U0003ffff"
)
"""Han, kana, bopomofo, hangul and Yi, and the scripts of Thailand, Laos, Myanmar and Cambodia."""

_UNSPACED_RUN = re.compile(f"[{UNSPACED}]+")
_FOREIGN = re.compile("[^\x01-\x7f]+")
# The same word typed as single jamo or in full width, or with its sound marks apart.
_VARIANT = re.compile("[\u1100-\u11ff\uff10-\uffdc]+")
_SOUND_MARK = re.compile("[\u3041-\u30ff][\u3099\u309a]")
_ACCENT = re.compile("[\u0300-\u036f]+")
# The tokenizer takes every sign that is younger than its tables, and every glyph of a private font, for a
# letter. A lone surrogate cannot be bound at all.
_NOISE = re.compile(r"[^\x01-\x7f\w]+")
# What kind each ASCII character is of: small letter, capital, digit, or none of them.
_KINDS = bytes(
    ord("a" if sign.islower() else "A" if sign.isupper() else "0" if sign.isdigit() else " ")
    if sign.isascii()
    else ord(" ")
    for sign in map(chr, range(256))
)
# camelCase, sha256, 3rd, HTTP2, HTTPServer. Capitals and digits are rare, so they are what is looked for.
_CHANGE = re.compile(rb"[A0](?:(?<=a.)|(?<=0)(?=[aA])|(?<=A0)|(?<=AA)(?=a))")
_PART = re.compile("[A-Z]{2,}(?=s(?![a-z]))|[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
# Digests and random ids change kind at every other character, and nobody looks for a piece of one.
_MAX_PARTS = 8
_MAX_IDENTIFIER_CHARS = 64
_MIN_CHARS_PER_PART = 2


def index_words(texts: Iterable[str]) -> str:
    """Return what the index gets for a message: its texts, and behind them the parts of its identifiers.

    A text is in there in its own order, so a phrase of it is found; so is each identifier.
    """
    text = segment("\n".join(texts))
    identifiers = dict.fromkeys(_identifiers(text))
    parts = [found for identifier in identifiers if (found := split_identifier(identifier))]
    return f"{text}\n{' '.join(parts)}" if parts else text


def segment(text: str) -> str:
    """Return a text with the words that its script does not show: a space around each such character."""
    if text.isascii():
        return text.replace("\0", " ") if "\0" in text else text
    return _FOREIGN.sub(_segment_foreign, text)


def _segment_foreign(found: re.Match[str]) -> str:
    run = found[0]
    return _segment_sign(run) if len(run) == 1 else _segment_run(run)


# Most of what is not ASCII stands alone: dashes, quotation marks, letters with accents.
@lru_cache(maxsize=4096)
def _segment_sign(sign: str) -> str:
    return _segment_run(sign)


def _segment_run(run: str) -> str:
    if "\u3099" in run or "\u309a" in run:
        run = _SOUND_MARK.sub(_usual, run)
    run = _ACCENT.sub("", _VARIANT.sub(_usual, run))
    return _UNSPACED_RUN.sub(lambda found: f" {' '.join(found[0])} ", _NOISE.sub(" ", run))


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


def _identifiers(text: str) -> Iterator[str]:
    """Yield the ASCII words of which one kind of character follows another."""
    kinds = text.encode("ascii", "replace").translate(_KINDS) + b" "
    stop = 0
    while change := _CHANGE.search(kinds, stop):
        start = kinds.rfind(b" ", 0, change.start()) + 1
        stop = kinds.find(b" ", change.start())
        yield text[start:stop]
