"""Finds private keys: armoured blocks of many lines, also cut ones and ones whose line breaks are escaped.

A block is known by its first line or, where that is cut off, by its last; in between stand lines of base64,
behind whatever a log, a diff, a listing with line numbers or a string literal puts between two lines.
"""

from collections.abc import Iterator

from midfold.late_patterns import compile_late
from midfold.redact.patterns import Secret

_KIND = "private-key"
_MAX_TAIL_CHARS = 16_384
"""The key may begin so far before its last line; the largest keys in use are smaller."""

WORDS = (b"PRIVATE KEY", b"Private-Lines")
"""One of these is in every first and last line."""
_TITLE = rb"[A-Z0-9 ]{0,40}?PRIVATE KEY(?: BLOCK)? ?-{4,5}"
_PUTTY = rb"Private-Lines: {0,2}\d"
_PUTTY_DIGITS = rb"\d{0,3}"
_LAST = rb"-{4,5} ?END " + _TITLE


def _after_dashes(word: bytes) -> bytes:
    return word + rb"(?:(?<=----" + word + rb")|(?<=---- " + word + rb"))" + _TITLE


_DASHES_CHARS = 5
_SPACE, _END = b" E"
_GAP = rb"(?:[ \t\r\n\"'`+,;|>#*?]|\\{1,3}[nrt]?|%0[AaDd]|[0-9]{1,6} ?[\t:|?])"
_HEADER = rb"[A-Z][A-Za-z-]{2,20}: [^\r\n\f\\]{0,200}+"
_MIN_LINE_CHARS = 16
_LINE = rb"[A-Za-z0-9+/]{%d,}+={0,2}" % _MIN_LINE_CHARS
_SHORT_LINE = rb"=?[A-Za-z0-9+/]{1,15}+={0,2}(?![\w.:]|-[^-])"
_LINES = (
    _LINE + rb"(?:" + _GAP + rb"{1,80}+" + _LINE + rb")*+(?:" + _GAP + rb"{1,80}+" + _SHORT_LINE + rb"){0,2}"
)
_HEADERS = _GAP + rb"{0,80}+(?:" + _HEADER + _GAP + rb"{1,80}+){0,6}+"
REST = compile_late(_PUTTY_DIGITS + _HEADERS + _LINES + rb"(?:" + _GAP + rb"{0,80}(?:" + _LAST + rb"))?")
# Words first and outside of any group: that is what is quickly looked for. A first line counts with its rest;
# in a PuTTY file that is base64 at once.
EDGE = compile_late(
    _after_dashes(b"BEGIN ")
    + rb"(?="
    + REST.pattern
    + rb")|"
    + _after_dashes(b"END ")
    + rb"|"
    + _PUTTY
    + rb"(?="
    + _PUTTY_DIGITS
    + _GAP
    + rb"{0,80}+"
    + _LINE
    + rb")"
)
# An escaped line break ends in a letter that base64 has, too.
_RUN = compile_late(rb"(?:(?<![\\A-Za-z0-9+/])|(?<=\\[nrt]))" + _LINES + _GAP + rb"{0,80}")


def find_keys(data: bytes) -> Iterator[Secret]:
    """Yield private keys from first to last."""
    position = before = 0
    for edge in EDGE.finditer(data):
        word, stop = edge.span()
        if data[word] == _END:
            # Between two such lines there may be nothing of a key.
            secret = _read_tail(data, word, stop) if word - before >= _MIN_LINE_CHARS else None
        else:
            rest = REST.match(data, stop)
            secret = Secret(_KIND, _line_start(data, word), rest.end()) if rest else None
        before = stop
        if secret and word >= position:
            position = secret.stop
            yield secret


def _read_tail(data: bytes, word: int, stop: int) -> Secret | None:
    """Read the key that ends at `stop` with a last line whose keyword is at `word`."""
    start = _line_start(data, word)
    first = _key_lines_before(data, start)
    return Secret(_KIND, first, stop) if first < start else None


def _key_lines_before(data: bytes, stop: int) -> int:
    """Return where the lines of base64 begin that end at `stop`; without any, `stop`.

    They begin after any dashes, and no more than a key's length before.
    """
    floor = max(0, stop - _MAX_TAIL_CHARS)
    floor = max(floor, data.rfind(b"----", floor, stop))
    if stop - floor < _MIN_LINE_CHARS:
        return stop
    for run in _RUN.finditer(data, floor, stop):
        if run.end() == stop:
            return run.start()
    return stop


def _line_start(data: bytes, word: int) -> int:
    """Return where the line begins whose keyword is at `word`."""
    if data.startswith(b"P", word):
        return word
    dashes = word - 1 if data[word - 1] == _SPACE else word
    return dashes - (
        _DASHES_CHARS if data[dashes - _DASHES_CHARS : dashes] == b"-----" else _DASHES_CHARS - 1
    )
