"""The question that a short answer answers: "yes", "D A C" and "the second one" mean nothing without it."""

import re
from collections.abc import Sequence

from midfold.messages import Message

_SHORT_CHARS = 80
_SHORT_WORDS = 14
_LOOK_BACK = 40
_READ_CHARS = 4_000
_MOST_LINES = 16
_MOST_CHARS = 900
_QUESTION = re.compile(r"[?？؟]|か[。\s*]*$|까요|나요|ますか|吗[。\s]*$|呢[。\s]*$")
_MOST_OPTIONS = 10
_BARE_QUESTION_CHARS = 60
_MOST_LINES_BEHIND = 4
_BARE_CHOICE = re.compile(
    r"(?:[A-Za-z]|[0-9１-９]{1,2})(?:[\s,、;/+&]{1,3}(?:[A-Za-z]|[0-9１-９]{1,2})){0,9}[.!)]?"
)
_HEADED_OPTION = re.compile(
    r"^\s{0,8}(?:#{1,5}\s|[-*•]\s)?[^\w\n]{0,6}"
    r"(?:(?:option|choice|variant|opción|choix|opzione|вариант|オプション|選択肢|方法|方案|选项|옵션|방법)\s?)?"
    r"(?:[A-Ha-h]|[0-9１-９]{1,2})\s?(?:[.):：、．）】]|️?⃣|\*\*|\s-)",
    re.IGNORECASE,
)
_OPTION = re.compile(
    r"^\s{0,8}(?:[-*+•]\s|\(?[A-Za-z0-9１-９]{1,2}[.):、．）]\s?|[①-⑳]|\*\*(?:\(?[A-Za-z0-9]{1,2}[.):]|[Oo]ption))"
)


def is_short(words: str) -> bool:
    """Whether words are so few that they may mean nothing alone."""
    return 0 < len(words) <= _SHORT_CHARS and len(words.split()) <= _SHORT_WORDS


def question_before(messages: Sequence[Message], index: int, words: str) -> str:
    """Return the question and options that the few `words` of the message at `index` answer, if any."""
    if not is_short(words) or words.rstrip().endswith(("?", "？")):
        return ""
    for at in range(index - 1, max(index - _LOOK_BACK, -1), -1):
        message = messages[at]
        if message.role == "user" and message.text.strip():
            return ""
        if message.role == "assistant" and message.text.strip():
            return find_question(message.text, is_choice=_BARE_CHOICE.fullmatch(words.strip()) is not None)
    return ""


def find_question(text: str, *, is_choice: bool = False) -> str:
    """Return what a text asks at its end, with the options around it; for a bare choice, with all options."""
    lines = [line.rstrip() for line in text[-_READ_CHARS:].strip().split("\n")]
    asked = next((at for at in range(len(lines) - 1, -1, -1) if _QUESTION.search(lines[at])), None)
    if asked is not None and _count_prose(lines[asked + 1 :]) > _MOST_LINES_BEHIND:
        asked = None
    if is_choice:
        options = [at for at, line in enumerate(lines) if _HEADED_OPTION.match(line)][-_MOST_OPTIONS:]
        shown = sorted({*options, *([] if asked is None else [asked])})
    elif asked is None:
        return ""
    else:
        first, last = _options_around(lines, asked)
        first = _reach_subject(lines, first, last)
        shown = list(range(first, last + 1))
    return "\n".join(lines[at] for at in shown if lines[at].strip())[-_MOST_CHARS:]


def _reach_subject(lines: Sequence[str], first: int, last: int) -> int:
    """Reach back to the line that a bare "Shall I do this?" is about."""
    if first < last or len(lines[first]) > _BARE_QUESTION_CHARS:
        return first
    return next((at for at in range(first - 1, -1, -1) if lines[at].strip()), first)


def _count_prose(lines: Sequence[str]) -> int:
    return sum(1 for line in lines if line.strip() and not _OPTION.match(line))


def _options_around(lines: Sequence[str], asked: int) -> tuple[int, int]:
    """Reach from the question over the options before and behind it, and the line that announces them."""
    first = last = asked
    for at in range(asked - 1, max(asked - _MOST_LINES, -1), -1):
        if _OPTION.match(lines[at]) or lines[at].startswith(("  ", "\t")):
            first = at
        elif lines[at].strip():
            first = at if first < asked and lines[at].endswith((":", "：")) else first
            break
    for at in range(asked + 1, min(asked + _MOST_LINES, len(lines))):
        if _OPTION.match(lines[at]) or lines[at].startswith(("  ", "\t")):
            last = at
        elif lines[at].strip():
            break
    return first, last
