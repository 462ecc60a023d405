r"""Finds the values of a Secret of Kubernetes, whatever its fields are called.

Its fields may stand before or behind the line that says what it is, in YAML or JSON, also with `\n` for the
ends of lines. Certificates are public.
"""

import re
from collections.abc import Iterator
from itertools import pairwise

from midfold.late_patterns import compile_late
from midfold.redact.patterns import Secret, is_argument

SIGN = b"Secret"
KIND = compile_late(rb"\bkind[\"'\\]{0,4}[ \t]{0,4}:[ \t]{0,4}[\"'\\]{0,4}Secret(?![\w.-])")
# Where another manifest begins: a rule, an item of a list, an object in JSON.
_NEXT = compile_late(rb"(?:^|\n|\\n)(?:---|[ \t]{0,40}- apiVersion:|[ \t]{0,40}\\{0,3}\"apiVersion)")
_END = rb"(?:\r?\n|\\r\\n|\\n)"
FIELDS = compile_late(
    rb"(?:^|\n|\\n|[{,])(?P<indent>[ \t]{0,40})\\{0,3}[\"']?(?:stringData|data)\\{0,3}[\"']?"
    rb"[ \t]{0,4}:[ \t]{0,4}\{?[ \t]{0,4}" + _END
)
_LINE = compile_late(rb"(?:[^\\\n]|\\(?!n))*+")
_BREAK = compile_late(_END)
FIELD = compile_late(
    rb"(?P<indent>[ \t]{1,60})\\{0,3}[\"']?(?P<name>[\w.-]{1,253})\\{0,3}[\"']?"
    rb"[ \t]{0,4}:[ \t]{1,4}\\{0,3}[\"']?"
    rb"(?P<value>[^\s\"'#|>\\,{\[][^\"'\r\n\\]{0,8000})"
)
_PUBLIC = compile_late(rb".*\.(?:crt|cer|pub)|namespace|annotations|labels|name")


def find_values(data: bytes) -> Iterator[Secret]:
    """Yield the values of every Secret; each line is read once."""
    starts = [0, *(each.start() for each in _NEXT.finditer(data)), len(data)]
    for start, stop in pairwise(starts):
        if KIND.search(data, start, stop):
            yield from _read_manifest(data, start, stop)


def _read_manifest(data: bytes, start: int, stop: int) -> Iterator[Secret]:
    while (fields := FIELDS.search(data, start, stop)) is not None:
        start = fields.end()
        while (field := FIELD.match(data, start, stop)) and len(field["indent"]) > len(fields["indent"]):
            value = field["value"].rstrip()
            if not _PUBLIC.fullmatch(field["name"]) and is_argument(value):
                yield Secret("secret", field.start("value"), field.start("value") + len(value))
            start = _next_line(data, field.end(), stop)


def _next_line(data: bytes, position: int, stop: int) -> int:
    line: re.Match[bytes] | None = _LINE.match(data, position, stop)
    end = line.end() if line else position
    found = _BREAK.match(data, end, stop)
    return found.end() if found else stop
