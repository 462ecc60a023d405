"""Brings error texts to one spelling, so that a shape is written once."""

import html
import re

# Escapes survive where a repr holds JSON, or JSON holds JSON that was cut.
_ESCAPE = re.compile(r"\\{1,16}(?:([nrt])|u00([0-7][0-9a-f])|(?=[\"'`/]))", re.IGNORECASE)
_URL = re.compile(r"https?://([\w.-]{1,100})[^\s\"'<>)\]}\\]{0,500}", re.IGNORECASE)
_BYTES_PREFIX = re.compile(r"\bb(?=[\"'])")
# Where one field of an unparsed object ends and the next begins.
_FIELD_END = re.compile(r",\s?[\"'](?=\w{1,40}[\"']\s?:)|[{}]")
_DROPPED = re.compile(r"[\"'`\u2018\u2019\u201c\u201d*]")
_SPACES = re.compile(r"[\s\u00a0\u202f\u2009]+")
_GROUPED = re.compile(
    r"(?<![\w.,\[-])\d{1,3}([,._' \u00a0\u202f\u2009])\d{3}(?:\1\d{3}){0,3}(?![\d])(?![.,]\d)"
)
_ZERO_FRACTION = re.compile(r"(?<=\d)\.0{1,2}(?!\d)")
_GLUED_UNIT = re.compile(r"(?<=\d)(?=tokens?\b)")

_CODE_LINE = re.compile(r"(?:code|status|http_code|error_code|status_code|statuscode|id): ?\d+")
_SENTENCE_END = re.compile(r"(?<=[.!?。])\s+|(?<=;)\s+(?!\d)|\n|,? (?=(?:try|please|decrease|reduce) )")
_ADVICE = re.compile(
    r"\W{0,3}(?:please|try|consider|to increase|make sure|update|adjust|you can|you may|use|visit|see"
    r"|for more|for details|reduce|decrease|set|either|or) "
)


def normalize(lines: list[str]) -> str:
    """Return the statements in lower case, without quotes, addresses and separators inside numbers."""
    return "\n".join(filter(None, (part.strip() for line in lines for part in _normalize_line(line))))


def without_advice(text: str) -> str:
    """Leave out the sentences that say what to do, which name prompt and output alike, and bare codes."""
    sentences = _SENTENCE_END.split(text)
    return "\n".join(s for s in sentences if not _ADVICE.match(s) and not _CODE_LINE.fullmatch(s))


def _normalize_line(line: str) -> list[str]:
    text = html.unescape(_ESCAPE.sub(_unescape, _URL.sub(r"\1 ", line)))
    text = _GROUPED.sub(lambda found: found[0].replace(found[1], ""), _ZERO_FRACTION.sub("", text))
    text = _FIELD_END.sub("\n", _BYTES_PREFIX.sub("", _SPACES.sub(" ", text)))
    return _GLUED_UNIT.sub(" ", _DROPPED.sub("", text.lower())).split("\n")


def _unescape(found: re.Match[str]) -> str:
    if found[2]:
        return chr(int(found[2], 16))
    return " " if found[1] else ""
