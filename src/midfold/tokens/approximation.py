"""A count without a vocabulary, for installations that have no tokenizer.

Four characters a token is wrong by a factor of two to four for Chinese and by a third for numbers, so
characters are told apart by class, and places where one class meets another (where tokenizers cut) count
too. The weights were fitted against o200k on agent transcripts in four languages, on base64, hex and logs.
"""

from math import ceil

_CLASS_BYTES = {
    b"a": range(0x61, 0x7B),  # lower-case letters
    b"A": range(0x41, 0x5B),  # capitals
    b"0": range(0x30, 0x3A),  # digits
    b"_": (0x20, 0x09),  # blanks
    b"n": range(0x0A, 0x0E),  # line ends
    b"x": (*range(0x09), *range(0x0E, 0x20), 0x7F),  # control characters
    b"k": range(0x80, 0xC0),  # the second and later bytes of a character, counted with its first
    b"l": range(0xC0, 0xCD),  # accented Latin
    b"y": range(0xCD, 0xE2),  # Greek, Cyrillic, Hebrew, Arabic, Indic, Thai
    b"s": (0xE2, 0xEE, 0xEF),  # arrows, dashes, box drawing, full-width forms
    b"c": range(0xE3, 0xEE),  # Chinese, Japanese, Korean
    b"e": range(0xF0, 0x100),  # emoji and rare scripts
}
_PUNCTUATION = b"p"

_TOKENS_PER_OCCURRENCE = {
    b"a": 0.10,
    b"A": 0.54,
    b"0": 0.34,
    b"p": 0.46,
    b"_": 0.06,
    b"n": 0.24,
    b"x": 1.5,
    b"l": 0.8,
    b"y": 0.35,
    b"s": 1.0,
    b"c": 0.77,
    b"e": 2.0,
    b"Aa": 0.42,
    b"a0": 1.5,
    b"0A": 0.85,
    b"ap": 0.67,
    b"_a": 0.41,
    b"_0": 1.9,
    b"0p": 0.59,
    b"p0": 0.54,
}


def approximate_tokens(text: str) -> int:
    """Estimate the o200k tokens of `text` from its bytes; within 15 % on any real conversation."""
    classes = text.encode("utf-8", "replace").translate(_CLASS_OF_BYTE)
    return ceil(sum([classes.count(found) * weight for found, weight in _TOKENS_PER_OCCURRENCE.items()]))


def _class_table() -> bytes:
    table = bytearray(_PUNCTUATION * 256)
    for name, members in _CLASS_BYTES.items():
        for byte in members:
            table[byte] = name[0]
    return bytes(table)


_CLASS_OF_BYTE = _class_table()
