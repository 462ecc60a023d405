"""Arguments of tool calls: long strings made short and secrets taken out, and JSON stays JSON."""

import json
from collections.abc import Callable

from midfold.late_patterns import compile_late

LEAF_CHARS = 200
"""The characters of a long string that stay inside shortened arguments."""
_LEAF_NOTE_CHARS = 60  # more than the note takes: a string that was cut once is not cut again
_HALF_CHARACTER = compile_late(r"[\ud800-\udfff]")


def shorten_strings(arguments: str, leaf_chars: int = LEAF_CHARS) -> str:
    """Shorten the long strings inside a JSON object or list; anything else comes back as it is.

    `leaf_chars` is what stays of each. The result is JSON with the same keys, and shorter.
    """
    try:
        value = json.loads(arguments)
        shortened = _shorten(value, leaf_chars)
        if not isinstance(value, dict | list) or shortened == value:
            return arguments
        written = json.dumps(shortened, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        if _HALF_CHARACTER.search(written):  # which no request can carry unless it is escaped
            written = json.dumps(shortened, allow_nan=False, separators=(",", ":"))
    except (ValueError, RecursionError):
        return arguments
    return written if len(written) < len(arguments) else arguments


def redact_arguments(arguments: str, redact: Callable[[str], str]) -> str:
    """Take secrets out of arguments; what was JSON stays JSON."""
    redacted = redact(arguments)
    if redacted == arguments:
        return arguments
    try:
        value = json.loads(arguments)
    except (ValueError, RecursionError):
        return redacted
    try:
        json.loads(redacted)
    except (ValueError, RecursionError):
        return json.dumps(_redact_strings(value, redact), separators=(",", ":"))
    return redacted


def _redact_strings(value: object, redact: Callable[[str], str]) -> object:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, dict):
        return {redact(key): _redact_strings(inner, redact) for key, inner in value.items()}
    return [_redact_strings(inner, redact) for inner in value] if isinstance(value, list) else value


def _shorten(value: object, leaf_chars: int) -> object:
    if isinstance(value, str) and len(value) > leaf_chars + _LEAF_NOTE_CHARS:
        return f"{value[:leaf_chars]}… [{len(value) - leaf_chars:,} more characters]"
    if isinstance(value, dict):
        return {key: _shorten(inner, leaf_chars) for key, inner in value.items()}
    return [_shorten(inner, leaf_chars) for inner in value] if isinstance(value, list) else value
