"""The strings of a JSON text as a program reads them: escapes hide lines and letters from patterns."""

import json
from collections.abc import Callable, Iterator

from midfold.late_patterns import compile_late

_OPENINGS = ("{", "[")
_ESCAPED = compile_late(r"[\x00-\x1f\"\\\x7f-\U0010ffff]")
"""what JSON may write as an escape"""
_SPACED = '": '


def escaped_strings(text: str) -> list[str]:
    """Return the strings of a JSON object or list that read otherwise than they are written."""
    if "\\" not in text or not text.lstrip().startswith(_OPENINGS):
        return []
    try:
        return [said for said in _strings(json.loads(text)) if _ESCAPED.search(said)]
    except (ValueError, RecursionError):
        return []


def rewrite_strings(text: str, rewrite: Callable[[str], str]) -> str:
    """Rewrite each string of a JSON text; the very same text where none changes."""
    value = json.loads(text)
    rewritten = _rewrite(value, rewrite)
    if rewritten == value:
        return text
    separators = (", ", ": ") if _SPACED in text else (",", ":")
    return json.dumps(rewritten, ensure_ascii=text.isascii(), separators=separators)


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield name
            yield from _strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner)


def _rewrite(value: object, rewrite: Callable[[str], str]) -> object:
    if isinstance(value, str):
        return rewrite(value)
    if isinstance(value, dict):
        return {rewrite(name): _rewrite(inner, rewrite) for name, inner in value.items()}
    return [_rewrite(inner, rewrite) for inner in value] if isinstance(value, list) else value
