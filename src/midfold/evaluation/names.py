"""Specific strings in a text: paths, identifiers, ids and values, told by their shape alone."""

import re
from collections.abc import Iterator

_CANDIDATE = re.compile(r"[A-Za-z0-9_~./@+-]{4,}")
_EDGES = "./@+-~"
_LONGEST = 120  # longer runs are data, not names
_CAMEL = re.compile(r"[a-z][A-Z]|[A-Z]{2}[a-z]")
_NUMBER = re.compile(r"[\d.+-]+")
_LEAST_DIGITS = 3
_SHAPED = frozenset("/._0123456789")


def read_names(text: str) -> Iterator[str]:
    """Yield the strings of a text that have a slash, a dot, an underscore, a digit or camel case."""
    for match in _CANDIDATE.finditer(text):
        name = match[0].rstrip(_EDGES).lstrip("@+-~.")
        if 4 <= len(name) <= _LONGEST and _is_specific(name):
            yield name


def _is_specific(name: str) -> bool:
    if _NUMBER.fullmatch(name):
        return sum(char.isdigit() for char in name) >= _LEAST_DIGITS
    return not _SHAPED.isdisjoint(name.strip("/")) or _CAMEL.search(name) is not None


def has_name(text: str, name: str) -> bool:
    """Whether a text has a name that is not a piece of a longer word."""
    start = text.find(name)
    while start >= 0:
        end = start + len(name)
        if not (_is_word(text[start - 1 : start]) or _is_word(text[end : end + 1])):
            return True
        start = text.find(name, start + 1)
    return False


def _is_word(char: str) -> bool:
    return char.isascii() and (char.isalnum() or char == "_")
