"""Finds private keys: armoured blocks of many lines, also cut ones and ones whose line breaks are escaped.

A block is known by its first line or, where that is cut off, by its last; in between stand lines of base64,
behind whatever a log, a diff, a listing with line numbers or a string literal puts between two lines.
"""

import re

from midfold.compression.redact.results import Reading, Secret

KIND = "private-key"
MAX_TAIL_CHARS = 16_384
"""How far before a last line its key may begin; the largest keys in use are smaller."""
MAX_HEADER_CHARS = 2_048
"""How far behind a first line the lines of base64 begin: there may be a few headers between."""

WORDS = (b"PRIVATE KEY", b"Private-Lines")
"""One of these is in every first and last line."""
_TITLE = rb"[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?"
_FIRST = rb"-{4,5} ?BEGIN " + _TITLE + rb"-{4,5}|Private-Lines: {0,2}\d{1,4}"
_LAST = rb"-{4,5} ?END " + _TITLE + rb"-{4,5}"
# Base64 follows a first line and stands before a last one; without it, somebody writes about such lines.
SCREEN = (
    rb"(?:"
    + _FIRST
    + rb")[ \t\r\n\"'`+,;|>#*?\\%]{0,80}[A-Za-z0-9/]|[A-Za-z0-9+/=][ \t\r\n\"'`+,;|>#*?\\%]{0,80}"
    + _LAST
)

_GAP = rb"(?:[ \t\r\n\"'`+,;|>#*?]|\\{1,3}[nrt]?|%0[AaDd]|[0-9]{1,6} ?[\t:|?])"
_HEADER = rb"[A-Z][A-Za-z-]{2,20}: [^\r\n\f\\]{0,200}+"
_LINE = rb"[A-Za-z0-9+/]{16,}+={0,2}"
_SHORT_LINE = rb"=?[A-Za-z0-9+/]{1,15}+={0,2}(?![\w.:]|-[^-])"
_LINES = (
    _LINE + rb"(?:" + _GAP + rb"{1,80}+" + _LINE + rb")*+(?:" + _GAP + rb"{1,80}+" + _SHORT_LINE + rb"){0,2}"
)
_START = rb"(?:" + _FIRST + rb")" + _GAP + rb"{0,80}+(?:" + _HEADER + _GAP + rb"{1,80}+){0,6}+"
_WHOLE = re.compile(_START + _LINES + rb"(?:" + _GAP + rb"{0,80}(?:" + _LAST + rb"))?")
_FIRST_LINE = re.compile(_FIRST)
_LAST_LINE = re.compile(_LAST)
# An escaped line break ends in a letter that base64 has, too.
_RUN = re.compile(rb"(?:(?<![\\A-Za-z0-9+/])|(?<=\\[nrt]))" + _LINES + _GAP + rb"{0,80}")


def read_block(data: bytes, start: int) -> Reading:
    """Read the key whose first or last line the screen found at `start`."""
    if _FIRST_LINE.match(data, start) is None:
        return _read_tail(data, start)
    block = _WHOLE.match(data, start)
    if block is None:
        return Reading((), start + 1)
    return Reading((Secret(KIND, start, block.end()),), block.end())


def first_lines(data: bytes, start: int) -> list[int]:
    """Return where first lines of keys begin from `start` on."""
    return [line.start() for line in _FIRST_LINE.finditer(data, start)]


def key_lines_before(data: bytes, stop: int) -> int:
    """Return where the lines of base64 begin that end at `stop`; without any, `stop`.

    They begin after any dashes, and no more than a key's length before.
    """
    floor = max(0, stop - MAX_TAIL_CHARS)
    runs = _RUN.finditer(data, max(floor, data.rfind(b"----", floor, stop)), stop)
    return next((run.start() for run in runs if run.end() == stop), stop)


def _read_tail(data: bytes, start: int) -> Reading:
    """Read the last line that follows soon after `start`, with the lines of base64 before it."""
    last = _LAST_LINE.search(data, start, start + MAX_HEADER_CHARS)
    if last is None:
        return Reading((), start + 1)
    first = key_lines_before(data, last.start())
    secrets = (Secret(KIND, first, last.end()),) if first < last.start() else ()
    return Reading(secrets, last.end())
