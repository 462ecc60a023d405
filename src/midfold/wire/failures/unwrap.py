"""Finds what a provider says inside whatever it was wrapped in.

Errors arrive as JSON, as JSON inside a JSON string, as the `repr` of a Python dict behind a library's prefix,
as a stream event, as HTML. All of it becomes lines of text; the parts that repeat the request are left out,
because a conversation may well talk about context limits itself.
"""

import html
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
_FOR_PEOPLE = ("message", "msg", "error", "detail", "error_msg", "status_msg", "errormessage")


@dataclass(frozen=True, slots=True)
class Line:
    """A statement of an error body, and the name it stands under; plain text has none."""

    name: str
    text: str

    @property
    def is_for_people(self) -> bool:
        """Say whether the name, or that there is none, marks what people are to read."""
        return self.name in ("", *_FOR_PEOPLE)

    def __str__(self) -> str:
        return self.text if self.is_for_people else f"{self.name}: {self.text}"


@dataclass(frozen=True, slots=True)
class _Object:
    """An object that `text[start:stop]` spells."""

    start: int
    stop: int
    value: object


def read_lines(body: object) -> list[Line]:
    """Return the statements of an error body, what is meant for people first."""
    return _cut(islice(_walk(_decode(body), "", 0), _MAX_LINES))


def _decode(body: object) -> object:
    if isinstance(body, bytes | bytearray):
        return bytes(body[: MAX_PARSED_CHARS + 1]).decode("utf-8", "replace")
    return body


def _cut(lines: Iterator[Line]) -> list[Line]:
    """Keep the lines up to a bounded length; of a line that is too long, both ends."""
    kept: list[Line] = []
    room = _MAX_TEXT_CHARS
    for line in lines:
        if room <= 0:
            break
        text, half = line.text, room // 2
        kept.append(line if len(text) <= room else Line(line.name, f"{text[:half]} {text[-half:]}"))
        room -= len(str(line))
    return kept


def _walk(value: object, key: str, depth: int) -> Iterator[Line]:
    if depth > _MAX_DEPTH:
        return
    if isinstance(value, Mapping):
        yield from _walk_mapping(value, depth)
    elif isinstance(value, str):
        yield from _walk_text(value, key, depth)
    elif isinstance(value, Sequence) and not isinstance(value, bytes):
        if key == "loc":
            yield Line(key, " ".join(str(part) for part in value[:10]))
            return
        for item in value[:20]:
            yield from _walk(item, key, depth + 1)
    elif value is not None:
        yield Line(key or "value", str(value))


def _walk_mapping(value: Mapping[object, object], depth: int) -> Iterator[Line]:
    named = [(str(key).lower(), inner) for key, inner in islice(value.items(), _MAX_LINES)]
    for key, inner in sorted(named, key=lambda item: item[0] not in _FOR_PEOPLE):
        if key not in _ECHOES and not key.startswith("request"):
            yield from _walk(inner, key, depth + 1)


def _walk_text(text: str, key: str, depth: int) -> Iterator[Line]:
    """Yield a text, and in the place of JSON within it what that says."""
    if len(text) > MAX_PARSED_CHARS:
        text = f"{text[:_MAX_TEXT_CHARS]} {text[-_MAX_TEXT_CHARS:]}"
    is_escaped = len(text) <= _MAX_REPR_CHARS and "&quot;" in text
    rest = html.unescape(text) if is_escaped else text
    for _ in range(_MAX_TRIES):
        found = _find_json(rest)
        if found is None:
            break
        if before := rest[: found.start].strip():
            yield Line(key, before)
        yield from _walk(found.value, key, depth + 1)
        rest = rest[found.stop :]
    if rest.strip():
        yield Line(key, rest.strip())


def _find_json(text: str) -> _Object | None:
    """Find the first object of `text`, or the string that holds it; a text may be a string as a whole."""
    start = 0 if text.startswith('"') and text.endswith('"') else text.find("{")
    for _ in range(_MAX_TRIES):
        if start < 0:
            return None
        if found := _read_json(text, start) or _read_string(text, start) or _read_repr(text, start):
            return found
        start = text.find("{", start + 1)
    return None


def _read_json(text: str, start: int) -> _Object | None:
    try:
        value, stop = json.JSONDecoder(strict=False).raw_decode(text, start)
    except (ValueError, RecursionError):
        return None
    return _Object(start, stop, value)


def _read_string(text: str, start: int) -> _Object | None:
    """Read the string around an object, as loggers write one."""
    return _read_json(text, start - 1) if text.startswith('"{\\"', start - 1) else None


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
