"""Brings error texts to one spelling, so that a shape is written once."""

import html
import re

# Escapes survive where a repr holds JSON, or JSON holds JSON that was cut.
_ESCAPE = re.compile(r"\\{1,16}(?:([nrt])|u([0-9a-f]{4})|(?=[\"'`/]))", re.IGNORECASE)
# Bytes beyond ASCII, as a repr of bytes spells them.
_HEX = re.compile(r"(?:\\{1,4}x[0-9a-f]{2})+", re.IGNORECASE)
_URL = re.compile(r"https?://([\w.-]{1,100})[^\s\"'<>)\]}\\]{0,500}", re.IGNORECASE)
_TAG = re.compile(
    r"</?(?:html|head|title|body|center|h\d|hr|p|pre|div|span|br|code)\b[^<>]{0,200}>", re.IGNORECASE
)
# A name and its value in an unparsed object.
_FIELD = re.compile(r"(?<=[\"']):(?=\S)")
_BYTES_PREFIX = re.compile(r"\bb(?=[\"'])")
# Where one field of an unparsed object ends and the next begins.
_FIELD_END = re.compile(r",\s?[\"'](?=\w{1,40}[\"']\s?:)|[{}]")
_DROPPED = re.compile(r"[\"'`\u2018\u2019\u201c\u201d*]")
_SPACES = re.compile(r"[\s\u00a0\u202f\u2009]+")
_GROUPED = re.compile(
    r"(?<![\w.,\[-])\d{1,3}([,._' \u00a0\u202f\u2009])\d{3}(?:\1\d{3}){0,3}(?!\d|[.,]\d|m?s\b)"
)
_ZERO_FRACTION = re.compile(r"(?<=\d)\.0{1,2}(?!\d)")
_GLUED_UNIT = re.compile(r"(?<=\d)(?=tokens?\b)")
_THOUSANDS = re.compile(r"(?<![\w./-])(\d{1,4})k(?= ?(?:-token|tokens?\b|context)|[.,;)]|$)", re.MULTILINE)

# What loggers and libraries write around an error; none of it counts anything that was sent.
_NOISE = re.compile(
    r"\d{4}-\d\d-\d\d(?:[t ]\d\d:\d\d(?::\d\d)?(?:[.,]\d+)?(?:z|[+-]\d\d:?\d\d)?)?"
    r"|\b\d\d?:\d\d(?::\d\d)?(?:[.,]\d{1,9})?\b|\b\d{1,9}(?:\.\d{1,9}){2,5}|\b\d{1,9}(?:\.\d{1,9})?%"
    r"|\b\d{1,9}(?:\.\d{1,9})? ?(?:ms|s|secs?|seconds?|mins?|minutes?|hours?|days?)\b"
    r"|\b(?:attempt|try|retry|step|turn|line|col(?:umn)?|port|index) ?#?\d{1,9}(?: ?(?:/|of) ?\d{1,9})?"
    r"|(?<![\w/.-])[\w/.-]{1,200}\.[a-z]{1,4}:\d{1,9}(?::\d{1,9})?|\bat \d{1,9}:\d{1,9}|<\d{3}>"
    r"|\b(?:\w{1,20}[_ -])?(?:id|status|code|elapsed|duration|latency|took|ts|pid)\b"
    r"[ :=]{1,3}\(?-?\d{1,20}\)?(?! tokens?)"
)
# An error code that some providers write behind the last word of a message.
_TRAILING_CODE = re.compile(r"(?<!length)(?<!size)(?<!window)(?<!tokens)(?<!maximum) \(\d{4}\)\W{0,3}$")
_DIGIT = re.compile(r"\d")

_CODE_LINE = re.compile(r"(?:code|status|http_code|error_code|status_code|statuscode|id): ?\d+")
_SENTENCE_END = re.compile(r"(?<=[.!?。])\s+|(?<=;)\s+(?!\d)|\n|,? (?=(?:try|please|decrease|reduce) )")
_ADVICE = re.compile(
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
