r"""Finds credentials in the line below their names: blocks of YAML, strings in code, a continued command.

What stands there without quotes counts where nothing else is on its line.
"""

import re

from midfold.late_patterns import compile_late
from midfold.redact.assignments import LOGIN_NAME, NAME, kind_of
from midfold.redact.patterns import Detection, Secret, is_mixed, is_password, is_random

_BREAK = r"(?:\r?\n|\\r\\n|\\n)"
_SIGN = r"[\"'`]?\]?[ \t]{0,4}(?::=|=>|[:=])[ \t]{0,4}"
_BLOCK = r"[|>][-+0-9]{0,2}[ \t]{0,4}"
_LEAD = rf"{NAME}{_SIGN}(?:{_BLOCK}|\\)?{_BREAK}"

SCREEN = rf"(?i:{_LEAD})".encode()

_VALUE = compile_late(
    rf"(?i){NAME}{_SIGN}(?P<mark>{_BLOCK}|\\)?{_BREAK}[ \t]{{0,40}}(?P<quote>\\?[\"'`])?".encode()
    + rb"(?P<value>[^\s\"'`\\][^\"'`\r\n\f\\]{3,4095})(?P<end>\\?[\"'`]|)"
)
_END = compile_late(rb"[ \t]{0,8}[,;)\]}]{0,3}(?:\r?\n|\\r|\\n|\\?[\"'`]|$)")
_CODE = compile_late(rb"[ (){}\[\]]")
_IS_LOGIN = compile_late(rf"(?i){LOGIN_NAME}".encode())


def read_next_line(data: bytes, start: int) -> Detection:
    """Read what stands below the name at `start`."""
    found = _VALUE.match(data, start)
    if found is None:
        return Detection((), start + 1)
    value = found["value"].rstrip()
    stop = found.start("value") + len(value)
    is_closed = bool(found["quote"]) and bool(found["end"])
    is_alone = _END.match(data, stop) is not None and not _CODE.search(value)
    if not (is_closed or (is_alone and not found["quote"])) or not _is_credential(found, value, is_closed):
        return Detection((), found.start("value"))
    return Detection((Secret(kind_of(found[0]), found.start("value"), stop),), stop)


def _is_credential(found: re.Match[bytes], value: bytes, is_closed: bool) -> bool:
    if not _IS_LOGIN.search(found[0], 0, found.start("value") - found.start()):
        return is_random(value)
    if is_closed or (found["mark"] or b"")[:1] in (b"|", b">"):
        return is_password(value, is_quoted=True)
    return is_mixed(value) if not found["mark"] else is_password(value, is_quoted=False)
