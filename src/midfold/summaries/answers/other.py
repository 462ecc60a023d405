"""Answers that are something else than notes: a refusal, a tool call, data."""

import re
from functools import cache
from importlib.resources import files

from midfold.summaries.answers.cleaning import content_lines

_DATA = re.compile(r"(?:```\w*\s{0,20})?(?:\{\s{0,20}[\"'}]|\[\s{0,20}[{\"\[\]])")
_CALL_KEY = re.compile(
    r"[\"'](?:tool|function)\w{0,20}[\"']\s{0,8}:|[\"'](?:arguments|parameters|args)[\"']\s{0,8}:"
)
_CALL_KEY_CHARS = 2_000
# How models that were not asked to write calls do it, each at the start of a line.
_CALL = re.compile(
    r"^[ \t]{0,8}(?:```\w*\n\s{0,8})?(?:"
    r"<[|\uff5c/]?(?:\w{1,12}:)?(?:tool|function|invoke|python_tag)[\w\u2581:=.-]{0,60}(?=[\s>|\uff5c])"
    r"|\[(?:TOOL|FUNCTION)[A-Z_]{0,12}\]"
    r"|Action:[ \t]*\S[^\n]{0,200}\n+[ \t]*Action Input:"
    r"|(?:assistant|commentary)? ?to=functions\.\w"
    r")",
    re.MULTILINE,
)
_NEXT_HEADING = re.compile(r"^## ", re.MULTILINE)
_SENTENCE = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n+")
_FIRST_SENTENCES = 3
_REFUSAL_CHARS = 1_500

_ERROR_CHARS = 400
_ERROR = re.compile(
    r"\b(?:[45]\d\d\b.{0,40}(?:error|gateway|timeout|unavailable|requests|request)|error\b.{0,20}\b[45]\d\d\b"
    r"|(?:gateway|request|read|connection) (?:timeout|timed out)|timed out after|too many requests|rate limit"
    r"|internal server error|bad gateway|service unavailable|maximum context length|context window"
    r"|(?:prompt|input) is too long|connection (?:error|reset|refused|aborted))",
    re.IGNORECASE,
)


def is_data(said: str) -> bool:
    """Whether an answer is JSON, whole or broken."""
    return _DATA.match(said) is not None


def is_call(said: str) -> bool:
    """Whether an answer calls a tool instead of taking notes, or does hardly anything else."""
    if is_data(said):
        return _CALL_KEY.search(said, 0, _CALL_KEY_CHARS) is not None
    call = _find_call(said)
    return call is not None and call <= len(said) - call


def without_call(said: str) -> str:
    """Leave out a tool call that comes after the notes."""
    call = _find_call(said)
    return said if call is None else said[:call].rstrip()


def is_refusal(said: str, *, has_headings: bool) -> bool:
    """Whether an answer declines; notes that tell of a refusal do not begin with one."""
    if has_headings:
        lines = content_lines(said)
        refusing = sum(_declines(line) for line in lines)
        return refusing * 2 >= len(lines) > 0
    sentences = [sentence for sentence in _SENTENCE.split(said[:_REFUSAL_CHARS]) if sentence.strip()]
    return len(said) <= _REFUSAL_CHARS and any(map(_declines, sentences[:_FIRST_SENTENCES]))


def _find_call(said: str) -> int | None:
    """Find where an answer turns into a call; a call that notes follow is quoted in them."""
    call = _CALL.search(said)
    if call is None or _NEXT_HEADING.search(said, call.end()):
        return None
    return call.start()


def _declines(sentence: str) -> bool:
    return sentence.strip(" *_>-").lower().replace("’", "'").startswith(_refusals())


@cache
def _refusals() -> tuple[str, ...]:
    return tuple(files(__package__).joinpath("refusals.txt").read_text("utf-8").splitlines())


def is_error(said: str) -> bool:
    """Recognise what a server or a client says in place of an answer: a line or two about a failure."""
    return len(said) <= _ERROR_CHARS and _ERROR.search(said) is not None
