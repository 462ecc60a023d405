"""The lines of an error: unwrapped from whatever held them, and brought to one form.

Errors arrive as JSON, as JSON inside a JSON string, as the `repr` of a Python dict behind a library's prefix,
as a stream event, as HTML. All of it becomes lines of text; the parts that repeat the request are left out,
because a conversation may well talk about context limits itself. `normalize` gives the lines one form, so
that a pattern is written once.
"""

import html
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from midfold.late_dataclasses import dataclass
from midfold.late_patterns import compile_late

MAX_PARSED_CHARS = 1_048_576
"""A body this long may repeat the whole request, and only parsing it separates the error from the echo."""
_MAX_TEXT_CHARS = 8_192
_MAX_LINES = 200
_MAX_DEPTH = 24
_MAX_TRIES = 5
_MAX_REPR_CHARS = 16_384

# A string that is never closed takes the rest: no other quote in it is worth a try.
_REPR_TOKEN = compile_late(
    r"'((?:[^'\\]|\\.)*+)(?:'|\Z)|\"(?:[^\"\\]|\\.)*+(?:\"|\Z)|\b(?:None|True|False)\b", re.DOTALL
)
_REPR_ESCAPE = compile_late(r"\\(.)", re.DOTALL)
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
class ErrorLine:
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
    """An object that `text[start:stop]` is the text of."""

    start: int
    stop: int
    value: object


def read_lines(body: object) -> list[ErrorLine]:
    """Return the statements of an error body, what is meant for people first."""
    return _cut(islice(_walk(_decode(body), "", 0), _MAX_LINES))


def _decode(body: object) -> object:
    if isinstance(body, bytes | bytearray):
        return bytes(body[: MAX_PARSED_CHARS + 1]).decode("utf-8", "replace")
    return body


def _cut(lines: Iterator[ErrorLine]) -> list[ErrorLine]:
    """Keep the lines up to a bounded length; of a line that is too long, both ends."""
    kept: list[ErrorLine] = []
    room = _MAX_TEXT_CHARS
    for line in lines:
        if room <= 0:
            break
        text, half = line.text, room // 2
        kept.append(line if len(text) <= room else ErrorLine(line.name, f"{text[:half]} {text[-half:]}"))
        room -= len(str(line))
    return kept


def _walk(value: object, key: str, depth: int) -> Iterator[ErrorLine]:
    if depth > _MAX_DEPTH:
        return
    if isinstance(value, Mapping):
        yield from _walk_mapping(value, depth)
    elif isinstance(value, str):
        yield from _walk_text(value, key, depth)
    elif isinstance(value, Sequence) and not isinstance(value, bytes):
        if key == "loc":
            yield ErrorLine(key, " ".join(str(part) for part in value[:10]))
            return
        for item in value[:20]:
            yield from _walk(item, key, depth + 1)
    elif value is not None:
        yield ErrorLine(key or "value", str(value))


def _walk_mapping(value: Mapping[object, object], depth: int) -> Iterator[ErrorLine]:
    named = [(str(key).lower(), inner) for key, inner in islice(value.items(), _MAX_LINES)]
    for key, inner in sorted(named, key=lambda item: item[0] not in _FOR_PEOPLE):
        if key not in _ECHOES and not key.startswith("request"):
            yield from _walk(inner, key, depth + 1)


def _walk_text(text: str, key: str, depth: int) -> Iterator[ErrorLine]:
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
            yield ErrorLine(key, before)
        yield from _walk(found.value, key, depth + 1)
        rest = rest[found.stop :]
    if rest.strip():
        yield ErrorLine(key, rest.strip())


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
    """Write a piece of a Python `repr` as JSON does."""
    if token[1] is None:
        return _REPR_WORDS.get(token[0], token[0])
    return json.dumps(_REPR_ESCAPE.sub(lambda escape: _REPR_ESCAPES.get(escape[1], escape[1]), token[1]))


# Escapes survive where a repr holds JSON, or JSON holds JSON that was cut.
_ESCAPE = compile_late(r"\\{1,16}(?:([nrt])|u([0-9a-f]{4})|(?=[\"'`/]))", re.IGNORECASE)
# Bytes beyond ASCII, as a repr of bytes writes them.
_HEX = compile_late(r"(?:\\{1,4}x[0-9a-f]{2})+", re.IGNORECASE)
_URL = compile_late(r"https?://([\w.-]{1,100})[^\s\"'<>)\]}\\]{0,500}", re.IGNORECASE)
_TAG = compile_late(
    r"</?(?:html|head|title|body|center|h\d|hr|p|pre|div|span|br|code)\b[^<>]{0,200}>", re.IGNORECASE
)
# A name and its value in an unparsed object.
_FIELD = compile_late(r"(?<=[\"']):(?=\S)")
_BYTES_PREFIX = compile_late(r"\bb(?=[\"'])")
# Where one field of an unparsed object ends and the next begins.
_FIELD_END = compile_late(r",\s?[\"'](?=\w{1,40}[\"']\s?:)|[{}]")
_DROPPED = compile_late(r"[\"'`\u2018\u2019\u201c\u201d*]")
_SPACES = compile_late(r"[\s\u00a0\u202f\u2009]+")
_GROUPED = compile_late(
    r"(?<![\w.,\[-])\d{1,3}([,._' \u00a0\u202f\u2009])\d{3}(?:\1\d{3}){0,3}(?!\d|[.,]\d|m?s\b)"
)
_ZERO_FRACTION = compile_late(r"(?<=\d)\.0{1,2}(?!\d)")
_GLUED_UNIT = compile_late(r"(?<=\d)(?=tokens?\b)")
_THOUSANDS = compile_late(r"(?<![\w./-])(\d{1,4})k(?= ?(?:-token|tokens?\b|context)|[.,;)]|$)", re.MULTILINE)

# What loggers and libraries write around an error; none of it counts anything that was sent.
_NOISE = compile_late(
    r"\d{4}-\d\d-\d\d(?:[t ]\d\d:\d\d(?::\d\d)?(?:[.,]\d+)?(?:z|[+-]\d\d:?\d\d)?)?"
    r"|\b\d\d?:\d\d(?::\d\d)?(?:[.,]\d{1,9})?\b|\b\d{1,9}(?:\.\d{1,9}){2,5}|\b\d{1,9}(?:\.\d{1,9})?%"
    r"|\b\d{1,9}(?:\.\d{1,9})? ?(?:ms|s|secs?|seconds?|mins?|minutes?|hours?|days?)\b"
    r"|\b(?:attempt|try|retry|step|turn|line|col(?:umn)?|port|index) ?#?\d{1,9}(?: ?(?:/|of) ?\d{1,9})?"
    r"|(?<![\w/.-])[\w/.-]{1,200}\.[a-z]{1,4}:\d{1,9}(?::\d{1,9})?|\bat \d{1,9}:\d{1,9}|<\d{3}>"
    r"|\b(?:\w{1,20}[_ -])?(?:id|status|code|elapsed|duration|latency|took|ts|pid)\b"
    r"[ :=]{1,3}\(?-?\d{1,20}\)?(?! tokens?)"
)
# An error code that some providers write behind the last word of a message.
_TRAILING_CODE = compile_late(r"(?<!length)(?<!size)(?<!window)(?<!tokens)(?<!maximum) \(\d{4}\)\W{0,3}$")
_DIGIT = compile_late(r"\d")

_CODE_LINE = compile_late(r"(?:code|status|http_code|error_code|status_code|statuscode|id): ?\d+")
_SENTENCE_END = compile_late(r"(?<=[.!?。])\s+|(?<=;)\s+(?!\d)|\n|,? (?=(?:try|please|decrease|reduce) )")
_ADVICE = compile_late(
    r"\W{0,3}(?:please|try|consider|to increase|make sure|update|adjust|you can|you may|use|visit|see"
    r"|for more|for details|reduce|decrease|set|either|or|you should|possible causes:) "
)


def normalize(lines: list[str]) -> str:
    """Return the statements in lower case, without quotes, addresses and separators inside numbers."""
    return "\n".join(filter(None, (part.strip() for line in lines for part in _normalize_line(line))))


def without_noise(text: str) -> str:
    """Leave out times, positions, ids and codes, whose numbers are no counts."""
    lines = (_NOISE.sub(" ", line) for line in text.split("\n"))
    return "\n".join(_without_code(line) for line in lines)


def _without_code(line: str) -> str:
    found = _TRAILING_CODE.search(line)
    return line[: found.start()] if found and not _DIGIT.search(line[: found.start()]) else line


def without_advice(text: str) -> str:
    """Leave out the sentences that say what to do, which name prompt and output alike, and bare codes."""
    sentences = _SENTENCE_END.split(text)
    return "\n".join(s for s in sentences if not _ADVICE.match(s) and not _CODE_LINE.fullmatch(s))


def _normalize_line(line: str) -> list[str]:
    text = _ESCAPE.sub(_unescape, _HEX.sub(_read_hex, _URL.sub(r"\1 ", line)))
    text = _TAG.sub(" ", html.unescape(text))
    text = _GROUPED.sub(lambda found: found[0].replace(found[1], ""), _ZERO_FRACTION.sub("", text))
    text = _FIELD_END.sub("\n", _FIELD.sub(": ", _BYTES_PREFIX.sub("", _SPACES.sub(" ", text))))
    text = _GLUED_UNIT.sub(" ", _DROPPED.sub("", text.lower()))
    return _THOUSANDS.sub(r"\g<1>000", text).split("\n")


def _read_hex(found: re.Match[str]) -> str:
    return bytes.fromhex(found[0].replace("\\", "").lower().replace("x", "")).decode("utf-8", "replace")


def _unescape(found: re.Match[str]) -> str:
    if found[2]:
        return chr(int(found[2], 16))
    return " " if found[1] else ""
