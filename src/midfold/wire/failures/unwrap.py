"""Finds what a provider says inside whatever it was wrapped in.

Errors arrive as JSON, as JSON inside a JSON string, as the `repr` of a Python dict behind a library's prefix,
as a stream event, as HTML. All of it becomes lines of text; the parts that repeat the request are left out,
because a conversation may well talk about context limits itself.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

MAX_PARSED_CHARS = 1_048_576
"""A body this long may repeat the whole request, and only parsing it tells the error from the echo."""
_MAX_TEXT_CHARS = 8_192
_MAX_LINES = 200
_MAX_DEPTH = 24
_MAX_TRIES = 5
_MAX_REPR_CHARS = 16_384

# A string that is never closed takes the rest: no other quote in it is worth a try.
_REPR_TOKEN = re.compile(
    r"'((?:[^'\\]|\\.)*+)(?:'|\Z)|\"(?:[^\"\\]|\\.)*+(?:\"|\Z)|\b(?:None|True|False)\b", re.DOTALL
)
_REPR_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_REPR_ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}
_REPR_WORDS = {"None": "null", "True": "true", "False": "false"}

_ECHOES = (
    "input",
    "messages",
    "prompt",
    "content",
    "contents",
    "tools",
    "url",
    "headers",
    "stack",
    "traceback",
)
_TEXTS_FIRST = ("message", "msg", "error", "detail", "error_msg", "status_msg", "errormessage")


@dataclass(frozen=True, slots=True)
class _Object:
    """An object that `text[start:stop]` spells."""

    start: int
    stop: int
    value: object


def read_lines(body: object) -> list[str]:
    """Return the statements of an error body, what is meant for people first."""
    return _cut(islice(_walk(_decode(body), "", 0), _MAX_LINES))


def _decode(body: object) -> object:
    if isinstance(body, bytes | bytearray):
        return bytes(body[: MAX_PARSED_CHARS + 1]).decode("utf-8", "replace")
    return body


def _cut(lines: Iterator[str]) -> list[str]:
    """Keep the lines up to a bounded length; of a line that is too long, both ends."""
    kept: list[str] = []
    room = _MAX_TEXT_CHARS
    for line in lines:
        if room <= 0:
            break
        half = room // 2
        kept.append(line if len(line) <= room else f"{line[:half]} {line[-half:]}")
        room -= len(line)
    return kept


def _walk(value: object, key: str, depth: int) -> Iterator[str]:
    if depth > _MAX_DEPTH:
        return
    if isinstance(value, Mapping):
        yield from _walk_mapping(value, depth)
    elif isinstance(value, str):
        yield from _walk_text(value, key, depth)
    elif isinstance(value, Sequence) and not isinstance(value, bytes):
        if key == "loc":
            yield f"loc: {' '.join(str(part) for part in value[:10])}"
            return
        for item in value[:20]:
            yield from _walk(item, key, depth + 1)
    elif value is not None:
        yield f"{key}: {value}"


def _walk_mapping(value: Mapping[object, object], depth: int) -> Iterator[str]:
    named = [(str(key).lower(), inner) for key, inner in islice(value.items(), _MAX_LINES)]
    for key, inner in sorted(named, key=lambda item: item[0] not in _TEXTS_FIRST):
        if key not in _ECHOES and not key.startswith("request"):
            yield from _walk(inner, key, depth + 1)


def _walk_text(text: str, key: str, depth: int) -> Iterator[str]:
    """Yield a text, and in the place of JSON within it what that says."""
    if len(text) > MAX_PARSED_CHARS:
        text = f"{text[:_MAX_TEXT_CHARS]} {text[-_MAX_TEXT_CHARS:]}"
    prefix = "" if key in ("", *_TEXTS_FIRST) else f"{key}: "
    rest = text
    for _ in range(_MAX_TRIES):
        found = _find_json(rest)
        if found is None:
            break
        if before := rest[: found.start].strip():
            yield prefix + before
        yield from _walk(found.value, key, depth + 1)
        rest = rest[found.stop :]
    if rest.strip():
        yield prefix + rest.strip()


def _find_json(text: str) -> _Object | None:
    """Find the first object of `text`; a text that is a JSON string as a whole counts too."""
    start = 0 if text.startswith('"') and text.endswith('"') else text.find("{")
    for _ in range(_MAX_TRIES):
        if start < 0:
            return None
        if found := _read_json(text, start) or _read_repr(text, start):
            return found
        start = text.find("{", start + 1)
    return None


def _read_json(text: str, start: int) -> _Object | None:
    try:
        value, stop = json.JSONDecoder(strict=False).raw_decode(text, start)
    except (ValueError, RecursionError):
        return None
    return _Object(start, stop, value)


def _read_repr(text: str, start: int) -> _Object | None:
    """Read the `repr` of a dict. Where it ends is not known, so what follows it is lost."""
    if not text.startswith("{'", start):
        return None
    found = _read_json(_REPR_TOKEN.sub(_as_json, text[start : start + _MAX_REPR_CHARS]), 0)
    return _Object(start, len(text), found.value) if found else None


def _as_json(token: re.Match[str]) -> str:
    """Spell a piece of a Python `repr` as JSON does."""
    if token[1] is None:
        return _REPR_WORDS.get(token[0], token[0])
    return json.dumps(_REPR_ESCAPE.sub(lambda escape: _REPR_ESCAPES.get(escape[1], escape[1]), token[1]))
