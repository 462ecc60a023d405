"""What went wrong: the lines of a tool's output that say so, the most informative first.

Each looks at a bounded piece of its input, and none raises, whatever a tool printed.
"""

import re
from itertools import takewhile

from midfold.summaries.tool_calls.excerpts import DECISIVE_CHARS, one_line

_WINDOW_CHARS = 20_000
_LINE_CHARS = 400

# Words without which no sign below can match: to look for them first is what keeps clean output cheap.
_SUSPICIOUS_WORDS = (
    *("rror", "RROR", "ERR!", "ailed", "ailure", "FAIL", "xception", "panic", "atal", "FATAL", "Fehler"),
    *("not ok", "not found", "No such", "denied", "annot ", "ould not", "nable to", "timed out"),
    *("egmentation", "ategoryInfo", ".go:", "*** ", "E   ", "sh: "),
)
_SUSPICIOUS_SIGNS = ("\u00d7", "✕", "✗", "✖", "●", "шибка", "错误", "錯誤", "エラー", "오류")
_LINT_FINDING = re.compile(r"[^\s:]{1,200}:\d+:(?:\d+:)? [A-Z]{1,4}\d{2,5}\b")
_LINT_LINES = 5
# How a line that says what went wrong begins, the most informative kind first.
_SIGNS = (
    # a test runner's summary: which test, and why
    r"FAILED\s[\w./\\-]+::\S|ERROR\s[\w./\\-]+\.py\b(?:::\S+)?(?:\s-\s|$)",
    # compilers: where, and what
    r"(?:[A-Za-z]:)?[^\s:][^:]{0,200}?(?::\d+(?::\d+)?(?::|\s-)|\(\d+(?:,\d+)?\)\s?:)\s*(?:fatal\s)?[eE]rror\b"
    r"|error\[[A-Z]?\d+\]:|[^\s:]{1,200}\.go:\d+:\d+:\s",
    r"panic:\s|fatal(?:\serror)?:\s|thread\s'[^']{1,80}'.{0,40}\spanicked\sat|FATAL\b|Segmentation\sfault",
    # single tests
    r"---\sFAIL:\s|not\sok\s\d|[✕✗✖\u00d7]\s|●\s.{1,150}\s\u203a\s|FAIL:\s"
    r"|E\s{3,}(?:\w+Error|\w+Exception|assert|Failed)\b|[^\s:]{1,200}:\d+:\s\w+(?:Error|Exception)$",
    r"npm\s(?:ERR!|error)\s(?!code\b|errno\b|syscall\b|path\b|workspace\b|location\b|command\b|A\scomplete)",
    # errors by name
    r"(?:[\w$]{1,60}[.:]{1,2}){0,8}\w{0,60}(?:Error|Exception|Failure)\b(?:\s\[\w{1,40}\])?(?::\s(?!\(none)|$)"
    r"|[eE]rror\b(?:\s\w{1,30}){0,5}:\s(?!\(none)|<\w{0,20}error>|ERROR:\s|Exception\sin\s|Uncaught\s"
    r"|(?:Fehler|错误|錯誤|エラー|오류|Ошибка)\s?[:：]",
    # shells, in any language, and the calls under them
    r"(?:ba|da|fi|k|z)?sh:\s\S|[\w./\\-]{1,60}:\s.{0,200}(?:command\snot\sfound|No\ssuch\sfile|ermission\sdenied|annot\s)",
    r"(?:Failed|Unable|Cannot|Could\snot|(?:Command|Task)\s(?:failed|timed\sout))\b",
    # what only counts the damage
    r"\w{1,20}(?:\[\d+\])?:\s\*{3,4}\s|FAIL\s|\+\sCategoryInfo|BUILD\sFAILED|FAILED\b",
    r"ERROR\b",
)
_SIGN = re.compile(
    r"(?:\[[^\]]{1,40}\]\s{1,4}|\d{4}-\d\d-\d\d[T ][\d:.,Z+-]{5,20}\s)?(?:"
    + "|".join(f"(?P<rank{rank}>{sign})" for rank, sign in enumerate(_SIGNS))
    + ")"
)
_TEST_RANK = 3
_TRACEBACK = "Traceback (most recent call last)"
_EXCEPTION = re.compile(r"[\w.]+(?::|$)")
_REMARK = re.compile(r"\s+\S{1,100}:\d+: ")
_REPROACH = re.compile(r"xpected|want|got |hould|ail|rror|\bnot\b")


def find_failure(text: str) -> str | None:
    """Return the line that says what went wrong, if one does.

    That is a compiler's first error, a traceback's last line, the first test that failed. Only the two ends
    of a long text are looked at.
    """
    window = _window(text)
    signs = _signs(window)
    exception = None if any(rank == 0 for rank, _ in signs) else _last_exception(window)
    if exception is not None:
        return one_line(exception, DECISIVE_CHARS)
    if signs:
        return one_line(_with_detail(window, min(signs, key=_rank)[1]), DECISIVE_CHARS)
    return next(iter(_lint_findings(window)), None)


def find_failures(text: str, most: int) -> list[str]:
    """Return up to `most` lines that say what went wrong, word for word, the most informative first."""
    window = _window(text)
    signs = _signs(window)
    exception = _last_exception(window)
    lines = [exception] if exception else []
    for rank, line in sorted(signs, key=_rank)[: most * 2]:
        lines.append(window[line])
        lines.extend(_remarks(window, line) if rank == _TEST_RANK else ())
    found = dict.fromkeys(line.strip()[:_LINE_CHARS] for line in lines or _lint_findings(window))
    return [line for line in found if line][:most]


def _window(text: str) -> str:
    return text if len(text) <= 2 * _WINDOW_CHARS else f"{text[:_WINDOW_CHARS]}\n{text[-_WINDOW_CHARS:]}"


def _signs(window: str) -> list[tuple[int, slice]]:
    """Find the lines that begin like a failure, each with how informative its kind is; 0 is most."""
    found = []
    for line in _suspects(window):
        sign = _SIGN.match(window[line].strip()[:_LINE_CHARS])
        if sign is not None and sign.lastgroup is not None:
            found.append((int(sign.lastgroup.removeprefix("rank")), line))
    return found


def _rank(sign: tuple[int, slice]) -> int:
    return sign[0]


def _lint_findings(window: str) -> list[str]:
    opening = window[: _LINT_LINES * _LINE_CHARS].split("\n")[:_LINT_LINES]
    return [one_line(line, DECISIVE_CHARS) for line in opening if _LINT_FINDING.match(line)]


def _suspects(window: str) -> list[slice]:
    """Find the lines that hold a suspicious word, in order."""
    lines: dict[int, slice] = {}
    words = _SUSPICIOUS_WORDS if window.isascii() else (*_SUSPICIOUS_WORDS, *_SUSPICIOUS_SIGNS)
    for word in [word for word in words if word in window]:
        at = window.find(word)
        while at >= 0:
            line = _line_at(window, at)
            lines[line.start] = line
            at = window.find(word, line.stop)
    return [lines[start] for start in sorted(lines)]


def _line_at(window: str, at: int) -> slice:
    stop = window.find("\n", at)
    return slice(window.rfind("\n", 0, at) + 1, stop if stop >= 0 else len(window))


def _last_exception(window: str) -> str | None:
    """Return what a stack trace boils down to: the line after Python's last frame, or Java's root cause."""
    cause = window.rfind("\nCaused by: ")
    if cause >= 0:
        return window[cause + 1 :].partition("\n")[0]
    start = window.rfind(_TRACEBACK)
    if start < 0:
        return None
    margin = window[window.rfind("\n", 0, start) + 1 : start]
    lines = (line.removeprefix(margin) for line in window[start:].split("\n")[1:])
    after_frames = next((line for line in lines if line and not line[0].isspace()), "")
    return after_frames if _EXCEPTION.match(after_frames) else None


def _with_detail(window: str, line: slice) -> str:
    """Add the next line to one that only announces it, and the decisive remark to a test that failed."""
    said = window[line].strip()
    if said.startswith("--- FAIL"):
        return f"{said} {next(iter(_remarks(window, line)), '')}"
    following = window[line.stop + 1 : line.stop + 1 + _LINE_CHARS].partition("\n")[0]
    return f"{said} {following.strip()}" if said.endswith(":") else said


def _remarks(window: str, line: slice) -> list[str]:
    """Return what stands around a failed test and says why, stripped."""
    following = window[line.stop + 1 : line.stop + 1 + _WINDOW_CHARS].split("\n")
    before = reversed(window[max(0, line.start - _WINDOW_CHARS) : max(0, line.start - 1)].split("\n"))
    remarks = [*takewhile(_REMARK.match, following)] or [*takewhile(_REMARK.match, before)][::-1]
    return [remark.strip() for remark in remarks if _REPROACH.search(remark)]
