"""The question that a short answer answers: "yes", "D A C" and "the second one" mean nothing without it."""

import re
from collections.abc import Sequence

from midfold.late_patterns import compile_late
from midfold.messages import Message

_GO_AHEAD_CHARS = 40
# A message of nothing but these words asks for what was asked before, or agrees to what was proposed.
_GO_AHEAD_WORDS = """
    continue go on ahead proceed yes y ok okay sure please do it next keep going carry resume retry again
    thanks thank you good great fine right alright yep yeah and now then approved approve agreed lgtm
    confirmed confirm perfect accepted
    weiter mach ja gerne bitte los einverstanden genehmigt continua sigue adelante si sí vale dale claro
    aprobado confirmo continuez oui vas-y suite d'accord approuvé sim pode continue aprovado segue vai
    继续 好 好的 可以 是 是的 请继续 下一步 同意 批准 確認 承認 続けて 続行 はい お願いします 계속 네
    승인 진행
    да продолжай дальше давай хорошо согласен подтверждаю
"""
_GO_AHEADS = frozenset(_GO_AHEAD_WORDS.split())
_PROPOSAL_CHARS = 300
_SHORT_CHARS = 80
_SHORT_WORDS = 14
_LOOK_BACK = 40
_READ_CHARS = 4_000
_MOST_LINES = 16
_MOST_CHARS = 900
_QUESTION = compile_late(r"[?？؟]|か[。\s*]*$|까요|나요|ますか|吗[。\s]*$|呢[。\s]*$")
_MOST_OPTIONS = 10
_BARE_QUESTION_CHARS = 60
_MOST_LINES_BEHIND = 4
_BARE_CHOICE = compile_late(
    r"(?:[A-Za-z]|[0-9１-９]{1,2})(?:[\s,、;/+&]{1,3}(?:[A-Za-z]|[0-9１-９]{1,2})){0,9}[.!)]?"
)
_WORD = compile_late(r"[^\W\d_]{2}")
_ENUMERATED = compile_late(
    r"^\s{0,8}(?:[-*+•]\s)?(?:\*\*)?(?:\(?[A-Za-z0-9１-９]{1,2}[.):、．）]\s?|[①-⑳]|[Oo]ption\s)"
)
_HEADED_OPTION = compile_late(
    r"^\s{0,8}(?:#{1,5}\s|[-*•]\s)?[^\w\n]{0,6}"
    r"(?:(?:option|choice|variant|opción|choix|opzione|вариант|オプション|選択肢|方法|方案|选项|옵션|방법)\s?)?"
    r"(?:[A-Ha-h]|[0-9１-９]{1,2})\s?(?:[.):：、．）】]|️?⃣|\*\*|\s-)",
    re.IGNORECASE,
)
_OPTION = compile_late(
    r"^\s{0,8}(?:[-*+•]\s|\(?[A-Za-z0-9１-９]{1,2}[.):、．）]\s?|[①-⑳]|\*\*(?:\(?[A-Za-z0-9]{1,2}[.):]|[Oo]ption))"
)


def is_short(words: str) -> bool:
    """Whether words are so few that they may mean nothing alone."""
    return 0 < len(words) <= _SHORT_CHARS and len(words.split()) <= _SHORT_WORDS


def is_go_ahead(words: str) -> bool:
    """Whether these words only say to go on."""
    if len(words) > _GO_AHEAD_CHARS:
        return False
    return all(word.strip("!.,…。！，").lower() in _GO_AHEADS for word in words.split())


_TAG = compile_late(r"</?[a-z_]{2,30}>")
"""what a question stands in where tools are called in words"""


def question_before(messages: Sequence[Message], index: int, words: str) -> str:
    """Return the question and options that the few `words` of the message at `index` answer, if any."""
    if not is_short(words) or words.rstrip().endswith(("?", "？")):
        return ""
    for at in range(index - 1, max(index - _LOOK_BACK, -1), -1):
        message = messages[at]
        if message.role == "user" and message.text.strip():
            return ""
        if message.role == "assistant" and message.text.strip():
            is_choice = _BARE_CHOICE.fullmatch(words.strip()) is not None
            agrees = not is_choice and is_go_ahead(words)
            return find_question(message.text, is_choice=is_choice, is_agreed=agrees)
    return ""


def proposal_before(messages: Sequence[Message], index: int) -> str:
    """Return the model's last line of prose before `index`: what somebody agrees to who was not asked."""
    before = messages[index - 1] if index else None
    if before is None or before.role != "assistant":
        return ""
    lines = [line.strip() for line in before.text[-_READ_CHARS:].split("\n")]
    said = (line for line in reversed(lines) if not _OPTION.match(line) and _WORD.search(line))
    return next(said, "")[-_PROPOSAL_CHARS:]


def find_question(text: str, *, is_choice: bool = False, is_agreed: bool = False) -> str:
    """Return what a text asks at its end, with the options around it; for a bare choice, with all options.

    Who agrees answers the question itself, and not the list that stands before it.
    """
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
        first = asked if is_agreed else first
        first = _reach_subject(lines, first, last)
        shown = list(range(first, last + 1))
    asked_words = "\n".join(lines[at] for at in shown if lines[at].strip())[-_MOST_CHARS:]
    return _TAG.sub("", asked_words).strip()


def _reach_subject(lines: Sequence[str], first: int, last: int) -> int:
    """Reach back to the line that a bare "Shall I do this?" is about."""
    if first < last or len(lines[first]) > _BARE_QUESTION_CHARS:
        return first
    before = next((at for at in range(first - 1, -1, -1) if lines[at].strip()), first)
    return first if _OPTION.match(lines[before]) else before


def _count_prose(lines: Sequence[str]) -> int:
    return sum(1 for line in lines if line.strip() and not _OPTION.match(line))


def _options_around(lines: Sequence[str], asked: int) -> tuple[int, int]:
    """Reach from the question over the options before and behind it, and the line that announces them."""
    first = last = asked
    for at in range(asked - 1, max(asked - _MOST_LINES, -1), -1):
        # Bullets before a question tell what was done; what may be chosen is numbered or lettered.
        if _ENUMERATED.match(lines[at]) or lines[at].startswith(("  ", "\t")):
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
