"""Credentials that stand in JSON in a way which only a reader of JSON makes out.

Some are named by the field beside them: `{"name": "DB_PASSWORD", "value": ...}`. Some lie deeper in JSON
inside of JSON than a search for names looks, and some have a name that is spelled with escapes. All of them
are found in the text: a field is two strings with a colon between, whatever backslashes its quotes have.
"""

import re
from collections.abc import Callable

from midfold.redact import redact

# A look for the first of each is all that most texts cost.
_PAIR_SIGN, _PAIR_SIGNS = "alue", ('alue"', "alue\\")
_DEPTH_SIGN = "\\\\"
# Seven backslashes: JSON in a string of JSON in a string of JSON, which is a string itself.
_DEEP_SIGN = '\\\\\\\\\\\\\\"'
_ESCAPE_SIGN = "\\\\u00"

_QUOTE = r'\\*"'
_SPACES = r"(?:\s|\\+[nrt])*"
_COLON = rf"{_QUOTE}{_SPACES}:{_SPACES}{_QUOTE}"
_NAME = r'((?:[^"\\]|\\+u[0-9a-f]{4}){1,128})'
_VALUE = r'([^"\\]*(?:\\+[^"\\][^"\\]*)*)'
_OTHER_FIELDS = r"(?:\\*[^{}\\]){1,128}?\\*"
_NAME_FIRST = re.compile(
    rf'"(?:name|key){_COLON}{_NAME}{_QUOTE}{_OTHER_FIELDS}"value{_COLON}{_VALUE}', re.IGNORECASE
)
_VALUE_FIRST = re.compile(
    rf'"value{_COLON}{_VALUE}{_QUOTE}{_OTHER_FIELDS}"(?:name|key){_COLON}{_NAME}', re.IGNORECASE
)
_DEEP_FIELD = re.compile(rf'(?<=\\{{7}})"{_NAME}{_COLON}{_VALUE}', re.IGNORECASE)
_FIELD = re.compile(rf'"{_NAME}{_COLON}{_VALUE}', re.IGNORECASE)
_ESCAPE = re.compile(r"\\+u([0-9a-f]{4})", re.IGNORECASE)


def hide_fields(text: str, key: bytes) -> str:
    """Return a JSON text with placeholders in such fields; the very same text where there are none."""
    hidden = text
    if _PAIR_SIGN in text and any(sign in text for sign in _PAIR_SIGNS):
        hidden = _NAME_FIRST.sub(_hiding(key, name=1, value=2), hidden)
        hidden = _VALUE_FIRST.sub(_hiding(key, name=2, value=1), hidden)
    if _DEPTH_SIGN in text:
        if _DEEP_SIGN in text:
            hidden = _DEEP_FIELD.sub(_hiding(key, name=1, value=2), hidden)
        if _ESCAPE_SIGN in text:
            hidden = _FIELD.sub(_hiding(key, name=1, value=2), hidden)
    return text if hidden == text else hidden


def _hiding(key: bytes, *, name: int, value: int) -> Callable[[re.Match[str]], str]:
    def hide(found: re.Match[str]) -> str:
        whole, start = found[0], found.start()
        before, after = whole[: found.start(value) - start], whole[found.end(value) - start :]
        return f"{before}{_placeholder(found[name], found[value], key)}{after}"

    return hide


def _placeholder(name: str, value: str, key: bytes) -> str:
    """Return what stands for a value: the value itself where its name makes it no secret."""
    opening = f'"{_ESCAPE.sub(lambda found: chr(int(found[1], 16)), name)}": "'
    field = f'{opening}{value}"'
    hidden = redact(field, key=key)
    is_value = hidden.startswith(opening) and hidden.endswith('"')
    return hidden[len(opening) : -1] if hidden != field and is_value else value
