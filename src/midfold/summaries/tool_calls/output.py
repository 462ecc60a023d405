"""Tool output in few words: its two ends, its first words, how it ended, and the lines that say what failed.

Each function looks at a bounded piece of its input, and none raises, whatever a tool printed.
"""

import json
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import dropwhile, takewhile

from midfold.late_dataclasses import dataclass
from midfold.late_patterns import compile_late

DECISIVE_CHARS = 200
_NOTE_CHARS = 100  # more than the note between two ends takes, so that a cut always saves something
_JSON_CHARS = 500_000
_WORD_CHARS = 40
_WINDOW_CHARS = 20_000

_UNPRINTABLE = compile_late(
    r"\x1b\[[\d;?]{0,20}[A-Za-z]|[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]+"
)


def excerpt(text: str, head_chars: int = 800, tail_chars: int = 800, *, of: str = "") -> str:
    """Keep the first and the last part of a text, with the size of the cut between them.

    `of` names the text there. The cut falls on line ends where these are close. A text that would not get
    shorter comes back itself.
    """
    head_chars, tail_chars = max(0, head_chars), max(0, tail_chars)
    if len(text) <= head_chars + tail_chars + _NOTE_CHARS:
        return text
    start, stop = head_chars, len(text) - tail_chars
    line_end = text.rfind("\n", start - head_chars // 4, start)
    line_start = text.find("\n", stop, stop + tail_chars // 4)
    start = start if line_end < 0 else line_end
    stop = stop if line_start < 0 else line_start + 1
    return f"{text[:start]}\n[… {stop - start:,} characters{of} cut …]\n{text[stop:]}"


def is_excerpt(text: str) -> bool:
    """Recognise what `excerpt` made."""
    return "\n[… " in text and " characters cut …]\n" in text


def one_line(text: str, limit: int) -> str:
    """Say a text in one printable line of at most `limit` characters; a cut shows as an ellipsis."""
    if len(text) <= limit and text.isprintable() and "  " not in text:
        return text.strip()
    start = text[: limit * 4]
    line = " ".join(_UNPRINTABLE.sub(" ", start).split())
    if len(line) <= limit and len(start) == len(text):
        return line
    return line[: limit - 1].rstrip() + "…"


def cut_at_word(text: str, most: int) -> str:
    """Return at most `most` characters of a line; one that is cut ends with a whole word and a mark."""
    if len(text) <= most:
        return text
    stop = text.rfind(" ", most - _WORD_CHARS, most)
    return f"{text[: stop if stop > 0 else most - 1].rstrip()}…"


def fit_sizes(sizes: Sequence[int], budget: int) -> int:
    """Find the largest cap under which everything fits: `sum(min(size, cap)) <= budget`.

    It is the largest size when all fits whole, and 0 when there is nothing to give.
    """
    left = budget
    ordered = sorted(sizes)
    for position, size in enumerate(ordered):
        share = left // (len(ordered) - position)
        if size > share:
            return max(share, 0)
        left -= size
    return ordered[-1] if ordered else 0


_NAME = compile_late(r"(?<![\w./@#-])[\w.@#-]{0,80}(?:[/_.-]|\d|[a-z][A-Z])[\w./@#-]{0,200}\w")


def find_names(text: str) -> list[str]:
    """List the names of files and other things in a text: words with a digit, a slash, a joint."""
    return _NAME.findall(text)


# "Exit code 127", "[exit status 2]", "<returncode>1</returncode>", "Process exited with code 0"
_EXIT_LINE = compile_late(
    r"^[\s\[(<\"'*]{0,4}(?:[a-z]{1,12}\s){0,4}?(?:exit(?:ed)?|return)[\s_-]?(?:with\s)?(?:code|status)"
    r"[>:=\"'\s]{1,4}(-?\d{1,10})\b",
    re.IGNORECASE | re.MULTILINE,
)
_EXIT_KEYS = ("exit_code", "exitCode", "returncode", "return_code", "exit_status")
_OUTPUT_KEYS = ("output", "stdout", "stderr", "content", "result", "text")
_SUCCESS_KEYS = ("success", "ok", "succeeded")
_FAILURE_KEYS = ("is_error", "isError", "timed_out", "timedOut")
_FAILURE_STATES = ("error", "failed", "failure")
_STATUS_AT_START_CHARS = 200
_STATUS_AT_END_CHARS = 500
_LABEL = compile_late(r"[A-Z][\w ]{1,30}:\s|<[^>]{1,40}>\s*$")


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """A tool's result without its wrapping: its text, how the process ended, what it complains about."""

    text: str
    exit_code: int | None = None
    complaint: str = ""


@lru_cache(maxsize=1)  # those who write one stub ask in turn about the same result
def read_outcome(text: str) -> ToolOutcome:
    """Unwrap a result: many tools put their output into a JSON object, or a status line around it."""
    wrapped = read_json(text)
    if not isinstance(wrapped, dict):
        return ToolOutcome(text, _exit_code(text))
    metadata = wrapped.get("metadata")
    status = {**metadata, **wrapped} if isinstance(metadata, dict) else wrapped
    codes = (code for key in _EXIT_KEYS if type(code := status.get(key)) is int)
    said = [value for key in _OUTPUT_KEYS if isinstance(value := wrapped.get(key), str) and value]
    return ToolOutcome("\n".join(said) or text, next(codes, None), _complaint(wrapped))


def _exit_code(text: str) -> int | None:
    """Read the status line that a tool puts before or after the output."""
    for part in (text[:_STATUS_AT_START_CHARS], text[-_STATUS_AT_END_CHARS:]):
        lowered = part.lower()
        found = _EXIT_LINE.findall(part) if "code" in lowered or "status" in lowered else None
        if found:
            return int(found[-1])
    return None


def _complaint(wrapped: Mapping[str, object]) -> str:
    """Return what a JSON result names as its error."""
    error = wrapped.get("error")
    if isinstance(error, dict):
        error = error.get("message")
    is_bad = any(wrapped.get(key) is False for key in _SUCCESS_KEYS) or any(
        wrapped.get(key) is True for key in _FAILURE_KEYS
    )
    is_bad = is_bad or str(wrapped.get("status")).lower() in _FAILURE_STATES
    words = [error, wrapped.get("message")] if error or is_bad else []
    said = ": ".join(word for word in words if isinstance(word, str) and word)
    return said or ("it reports no success" if is_bad else "")


def read_json(text: str) -> object:
    """Read a text that is a JSON object or list; `None` where it is not, or too long to be worth it."""
    if not text.startswith(("{", "[")) or len(text) > _JSON_CHARS:
        return None
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value


def first_words(text: str) -> str:
    """Return the first line that says something; if it announces the next, its last sentence and that."""
    lines = filter(_speaks, text[:_WINDOW_CHARS].split("\n"))
    first = next(lines, "").strip()
    return f"{first.rpartition('. ')[2]} {next(lines, '')}" if first.endswith(":") else first


def last_words(text: str) -> str:
    """Return the last line that says something, labels of the tool's own left out if there is another."""
    lines = [*filter(_speaks, reversed(text[-_WINDOW_CHARS:].split("\n")))]
    return next((line for line in lines if not _LABEL.match(line)), next(iter(lines), ""))


def _speaks(line: str) -> bool:
    """Recognise words among blanks, fences and status lines."""
    bare = line.strip()
    return bool(bare) and not bare.startswith("```") and _EXIT_LINE.match(bare) is None


_WINDOW_CHARS = 20_000
_LINE_CHARS = 400

# Words without which no sign below can match: to look for them first is what keeps clean output cheap.
_SUSPICIOUS_WORDS = (
    *("rror", "RROR", "ERR!", "ailed", "ailure", "FAIL", "xception", "panic", "atal", "FATAL", "Fehler"),
    *(
        "not ok",
        "not found",
        "o such",
        "o module",
        "CONFLICT (",
        "denied",
        "annot ",
        "ould not",
        "nable to",
        "timed out",
    ),
    *("egmentation", "ategoryInfo", ".go:", "*** ", "E   ", "sh: "),
)
_SUSPICIOUS_SIGNS = ("\u00d7", "✕", "✗", "✖", "●", "шибка", "错误", "錯誤", "エラー", "오류")
_LINT_FINDING = compile_late(r"[^\s:]{1,200}:\d+:(?:\d+:)? [A-Z]{1,4}\d{2,5}\b")
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
    r"CONFLICT\s\(|[\w./\\-]{1,60}:\sNo\smodule\snamed\s|(?:ba|da|fi|k|z)?sh:\s\S|(?:[a-z]{1,8}\s)?[\w./\\-]{1,60}:\s.{0,200}(?:command\snot\sfound|[Nn]o\ssuch\sfile|ermission\sdenied|annot\s)",
    r"(?:Failed|Unable|Cannot|Could\snot|(?:Command|Task)\s(?:failed|timed\sout))\b",
    # what only counts the damage
    r"\w{1,20}(?:\[\d+\])?:\s\*{3,4}\s|FAIL\s|\+\sCategoryInfo|BUILD\sFAILED|FAILED\b",
    r"ERROR\b",
)
_SIGN = compile_late(
    r"(?:\[[^\]]{1,40}\]\s{1,4}|\d{4}-\d\d-\d\d[T ][\d:.,Z+-]{5,20}\s)?(?:"
    + "|".join(f"(?P<rank{rank}>{sign})" for rank, sign in enumerate(_SIGNS))
    + ")"
)
_TEST_RANK = 3
_REJECTION_CHARS, _REJECTION_LINES = 400, 4
# How a tool says in a few words that it did not do what it was told, or how it wants to be called.
_REJECTION = compile_late(
    r"\[Errno \d+\]|^(?:usage:|invalid\b|missing\b|unknown\b|unsupported\b|no such\b)|\bran into\b"
    r"|\b(?:invalid|missing|unknown|required) [`'\"]?\w{1,40}[`'\"]? (?:parameter|argument|option|field)\b"
    r"|\bmust (?:be at (?:least|most)|be an? \w+ path|not be empty|provide)\b|; omit [`'\"]?\w"
    r"|\bshould be an? \w+ path\b|\b(?:does|do) not exist\b|\b(?:was|were) not found\b|\bnot found[.!]?$"
    r"|^(?:错误|失败|エラー|失敗|오류|실패|erreur|échec|ошибка|не удалось|erro\b|falha|fallo)",
    re.IGNORECASE,
)
_TRACEBACK = "Traceback (most recent call last)"
_EXCEPTION = compile_late(r"[\w.]+(?::|$)")
_REMARK = compile_late(r"\s+\S{1,100}:\d+: ")
_CATEGORY = "+ CategoryInfo"
"""PowerShell prints its message above the place, the command and the category."""
_ABOVE_CHARS = 2_000
_MOST_MESSAGE_LINES = 4
_SHELL_PLACE = compile_late(r".{0,300}:\s?\d{1,6}\s*$")
_MESSAGE = compile_late(r"\S.{0,120}? : \S|\S+: \S")
_UNREADABLE = "\ufffd"
_REPROACH = compile_late(r"xpected|want|got |hould|ail|rror|\bnot\b")


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
        lines.append(_with_message(window, line))
        lines.extend(_remarks(window, line) if rank == _TEST_RANK else ())
    found = dict.fromkeys(line.strip()[:_LINE_CHARS] for line in lines or _lint_findings(window))
    return [line for line in found if line][:most]


def find_rejection(text: str) -> str | None:
    """Return the words of a short answer that says of the call itself that it came to nothing."""
    bare = text.strip()
    if len(bare) > _REJECTION_CHARS or bare.count("\n") >= _REJECTION_LINES:
        return None
    first = bare.partition("\n")[0]
    return one_line(first, DECISIVE_CHARS) if _REJECTION.search(first) else None


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
    said = _with_message(window, line)
    if said.startswith("--- FAIL"):
        return f"{said} {next(iter(_remarks(window, line)), '')}"
    following = window[line.stop + 1 : line.stop + 1 + _LINE_CHARS].partition("\n")[0]
    return f"{said} {following.strip()}" if said.endswith(":") else said


def _with_message(window: str, line: slice) -> str:
    """Return a line that says what went wrong; in place of PowerShell's category, the message above it."""
    said = window[line].strip()
    return (_message_above(window[: line.start]) if said.startswith(_CATEGORY) else "") or said


def _message_above(before: str) -> str:
    """Return the first line of the message above a category; empty if none can be read."""
    lines = [line.strip() for line in before[-_ABOVE_CHARS:].split("\n")]
    above = list(dropwhile(_is_command, reversed(lines)))
    if len(above) < 2 or not _SHELL_PLACE.match(above[0]):
        return ""
    said = ""
    for line in above[1 : 1 + _MOST_MESSAGE_LINES]:
        if not line or line.startswith("```"):
            break
        said = line
        if _MESSAGE.match(line):
            break
    return "" if _UNREADABLE in said else said


def _is_command(line: str) -> bool:
    return not line or line.startswith("+")


def _remarks(window: str, line: slice) -> list[str]:
    """Return what stands around a failed test and says why, stripped."""
    following = window[line.stop + 1 : line.stop + 1 + _WINDOW_CHARS].split("\n")
    before = reversed(window[max(0, line.start - _WINDOW_CHARS) : max(0, line.start - 1)].split("\n"))
    remarks = [*takewhile(_REMARK.match, following)] or [*takewhile(_REMARK.match, before)][::-1]
    return [remark.strip() for remark in remarks if _REPROACH.search(remark)]
