"""The strings of a JSON text as a program reads them: escapes hide lines and letters from patterns."""

import json
from collections.abc import Callable, Iterator

from midfold.late_patterns import compile_late

_OPENINGS = ("{", "[")
_ESCAPED = compile_late(r"[\x00-\x1f\"\\\x7f-\U0010ffff]")
"""what JSON may write as an escape"""
_SPACED = '": '
_TOO_DEEP = '"[REDACTED:secret]"'


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
    if not _rewrite_all(value, rewrite):
        return text
    separators = (", ", ": ") if _SPACED in text else (",", ":")
    try:
        return json.dumps(value, ensure_ascii=text.isascii(), separators=separators)
    except RecursionError:  # it can be read and not be written: better none of it than a secret
        return _TOO_DEEP


# Hostile texts are nested as deep as a parser goes, so nothing here calls itself.


def _strings(value: object) -> Iterator[str]:
    left = [value]
    while left:
        each = left.pop()
        if isinstance(each, str):
            yield each
        elif isinstance(each, dict):
            left += [*each.values(), *each]
        elif isinstance(each, list):
            left += each


def _rewrite_all(value: object, rewrite: Callable[[str], str]) -> bool:
    """Rewrite the strings in a value that was just decoded, in place; say whether any changed."""
    is_changed, left = False, [value]
    while left:
        each = left.pop()
        if isinstance(each, dict):
            items = [(rewrite(name), _rewritten(inner, rewrite, left)) for name, inner in each.items()]
            pairs = zip(items, each.items(), strict=True)
            is_changed = is_changed or any(new[0] != old[0] or new[1] is not old[1] for new, old in pairs)
            each.clear()
            each.update(items)
        elif isinstance(each, list):
            inner = [_rewritten(one, rewrite, left) for one in each]
            is_changed = is_changed or any(new is not old for new, old in zip(inner, each, strict=True))
            each[:] = inner
    return is_changed


def _rewritten(value: object, rewrite: Callable[[str], str], left: list[object]) -> object:
    if isinstance(value, str):
        return rewrite(value)
    left.append(value)
    return value
