"""Parts that stand for a whole text: its two ends, its first words, how it ended.

Each looks at a bounded piece of its input, and none raises, whatever a tool printed.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

LEAF_CHARS = 200
"""How much of a long string stays inside shortened arguments."""
DECISIVE_CHARS = 200
_LEAF_LIMIT_CHARS = 260  # a string that was cut once is shorter than this, its note included
_NOTE_CHARS = 100  # more than the note between two ends takes, so that a cut always saves something
_JSON_CHARS = 500_000
_WINDOW_CHARS = 20_000

_UNPRINTABLE = re.compile(
    r"\x1b\[[\d;?]{0,20}[A-Za-z]|[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]+"
)
_HALF_CHARACTER = re.compile(r"[\ud800-\udfff]")


def excerpt(text: str, head_chars: int = 800, tail_chars: int = 800) -> str:
    """Keep the first and the last part of a text, with the size of the cut between them.

    The cut falls on line ends where these are close. A text that would not get shorter comes back itself.
    """
    head_chars, tail_chars = max(0, head_chars), max(0, tail_chars)
    if len(text) <= head_chars + tail_chars + _NOTE_CHARS:
        return text
    start, stop = head_chars, len(text) - tail_chars
    line_end = text.rfind("\n", start - head_chars // 4, start)
    line_start = text.find("\n", stop, stop + tail_chars // 4)
    start = start if line_end < 0 else line_end
    stop = stop if line_start < 0 else line_start + 1
    return f"{text[:start]}\n[… {stop - start:,} characters cut …]\n{text[stop:]}"


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


def shorten_strings(arguments: str) -> str:
    """Shorten the long strings inside a JSON object or list; anything else comes back as it is.

    The result is JSON with the same keys, and shorter.
    """
    try:
        value = json.loads(arguments)
        shortened = _shorten(value)
        if not isinstance(value, dict | list) or shortened == value:
            return arguments
        written = json.dumps(shortened, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        if _HALF_CHARACTER.search(written):  # which no request can carry unless it is escaped
            written = json.dumps(shortened, allow_nan=False, separators=(",", ":"))
    except (ValueError, RecursionError):
        return arguments
    return written if len(written) < len(arguments) else arguments


def redact_arguments(arguments: str, redact: Callable[[str], str]) -> str:
    """Take secrets out of arguments; what was JSON stays JSON."""
    redacted = redact(arguments)
    if redacted == arguments:
        return arguments
    try:
        value = json.loads(arguments)
    except (ValueError, RecursionError):
        return redacted
    try:
        json.loads(redacted)
    except (ValueError, RecursionError):
        return json.dumps(_redact_strings(value, redact), separators=(",", ":"))
    return redacted


def _redact_strings(value: object, redact: Callable[[str], str]) -> object:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, dict):
        return {redact(key): _redact_strings(inner, redact) for key, inner in value.items()}
    return [_redact_strings(inner, redact) for inner in value] if isinstance(value, list) else value


def _shorten(value: object) -> object:
    if isinstance(value, str) and len(value) > _LEAF_LIMIT_CHARS:
        return f"{value[:LEAF_CHARS]}… [{len(value) - LEAF_CHARS:,} more characters]"
    if isinstance(value, dict):
        return {key: _shorten(inner) for key, inner in value.items()}
    return [_shorten(inner) for inner in value] if isinstance(value, list) else value


# "Exit code 127", "[exit status 2]", "<returncode>1</returncode>", "Process exited with code 0"
_EXIT_LINE = re.compile(
    r"^[\s\[(<\"'*]{0,4}(?:[a-z]{1,12}\s){0,4}?(?:exit(?:ed)?|return)[\s_-]?(?:with\s)?(?:code|status)"
    r"[>:=\"'\s]{1,4}(-?\d{1,10})\b",
    re.IGNORECASE | re.MULTILINE,
)
_EXIT_KEYS = ("exit_code", "exitCode", "returncode", "return_code", "exit_status")
_OUTPUT_KEYS = ("output", "stdout", "stderr", "content", "result", "text")
_STATUS_AT_START_CHARS = 200
_STATUS_AT_END_CHARS = 500
_LABEL = re.compile(r"[A-Z][\w ]{1,30}:\s|<[^>]{1,40}>\s*$")


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """What a result says, out of its wrapping: its text, how the process ended, what it complains about."""

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
    words = [error, wrapped.get("message")] if error or wrapped.get("success") is False else []
    return ": ".join(word for word in words if isinstance(word, str) and word)


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
    """Return the last line that says something, labels of the tool's own left out."""
    lines = filter(_speaks, reversed(text[-_WINDOW_CHARS:].split("\n")))
    return next((line for line in lines if not _LABEL.match(line)), "")


def _speaks(line: str) -> bool:
    """Tell words from blanks, fences and status lines."""
    bare = line.strip()
    return bool(bare) and not bare.startswith("```") and _EXIT_LINE.match(bare) is None
