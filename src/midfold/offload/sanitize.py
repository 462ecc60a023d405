"""The door that every text passes on its way to a sink, so that no credential is written anywhere."""

import re
from collections.abc import Callable

from midfold.compression.redact import redact as hide_credentials

_HALF_CHARACTERS = re.compile("[\ud800-\udfff]")


class SafeText(str):
    """A text that passed the door. Only `sanitize` makes one; a part of one is an ordinary text again."""

    __slots__ = ()


def sanitize(text: str, redact: Callable[[str], str] = hide_credentials) -> SafeText:
    """Replace credentials by placeholders, and by visible signs what no file or database can hold."""
    if isinstance(text, SafeText):
        return text
    clean = redact(text)
    if "\0" in clean:
        clean = clean.replace("\0", "\N{SYMBOL FOR NULL}")
    return SafeText(_whole_characters(clean))


def _whole_characters(text: str) -> str:
    if text.isascii():
        return text
    try:
        text.encode()  # far quicker than to look for what is hardly ever there
    except UnicodeEncodeError:
        return _HALF_CHARACTERS.sub("\N{REPLACEMENT CHARACTER}", text)
    return text
