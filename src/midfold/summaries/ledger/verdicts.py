"""The verdict of tests and checks, as the lines that sum them up tell it.

Who filters what a test runner prints gets the status of the filter, and often only these lines.
"""

import re

from midfold.late_patterns import compile_late

_END_CHARS = 6_000
_COUNT = (
    r"(?:^|[,;:=(|\u2716\u2717\u00d7]|\b(?:[Ff]ound|and|with))\W{0,8}(\d{1,7})\s"
    r"(?:(?:tests?|examples?|specs?|suites?|files?),?\s)?"
)
_BAD = compile_late(
    _COUNT + r"(?:failed|failing|failures?|errors?|problems?|issues?)\b"
    r"|\b(?:[Ff]ail(?:ed|ures)|[Ee]rrors)[:=]\s?(\d{1,7})",
    re.MULTILINE,
)
_GOOD = compile_late(_COUNT + r"(?:passed|passing|succeeded)\b", re.MULTILINE)
_RED = compile_late(
    r"^\W{0,8}(?:---\sFAIL|FAIL(?:ED)?\b|not\sok\s\d|BUILD\sFAILED|test\sresult:\sFAILED)", re.MULTILINE
)
_GREEN = compile_late(
    r"^\W{0,8}(?:---\sPASS:|PASS(?:ED)?\b|ok\s{1,6}\S|OK$|OK\s\(|BUILD\sSUCCESS|test\sresult:\sok"
    r"|All\s.{1,40}\spassed|Success:\sno\sissues)",
    re.MULTILINE,
)


def read_verdict(text: str) -> bool | None:
    """Say whether all was well; `None` where no line sums it up."""
    end = text[-_END_CHARS:]
    bad = [found.groups() for found in _BAD.finditer(end)]
    if _RED.search(end) or any(map(_is_counted, bad)):
        return False
    is_good = _GREEN.search(end) or any(_is_counted(found.groups()) for found in _GOOD.finditer(end))
    return True if is_good or bad else None


def sums_up(line: str) -> bool:
    """Whether a line sums up a run of tests or checks."""
    return any(pattern.search(line) for pattern in (_BAD, _GOOD, _RED, _GREEN))


def _is_counted(groups: tuple[str | None, ...]) -> bool:
    return any(int(group) for group in groups if group)
