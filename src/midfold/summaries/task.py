"""The active task, set by code: the newest request in the user's own words, whatever a summariser wrote."""

from collections.abc import Sequence

from midfold.messages import Message, is_request, newest_request

MAX_TASK_CHARS = 2_000
NO_TASK = "None."
WORDLESS = "(the user sent something without words; it follows)"
_GO_AHEAD_CHARS = 40
# A message of nothing but these words asks for what was asked before.
_GO_AHEAD_WORDS = """
    continue go on ahead proceed yes y ok okay sure please do it next keep going carry resume retry again
    thanks thank you good great fine right alright yep yeah and now then
    weiter mach ja gerne bitte los continua sigue adelante si sí vale dale continuez oui vas-y suite
    继续 好 好的 可以 是 是的 请继续 下一步 続けて 続行 はい お願いします 계속 네
    да продолжай дальше давай
"""
_GO_AHEADS = frozenset(_GO_AHEAD_WORDS.split())


def active_task(messages: Sequence[Message], is_summary: int | None = None) -> str:
    """Quote the newest request, and below a mere go-ahead the last one with substance.

    `is_summary` is the index of an earlier summary, which is no request.
    """
    newest = newest_request(messages)
    if newest is None or newest == is_summary:
        return NO_TASK
    words = messages[newest].text.strip() or WORDLESS
    if not is_go_ahead(words):
        return words[:MAX_TASK_CHARS]
    for index in range(newest - 1, -1, -1):
        earlier = messages[index]
        if index != is_summary and is_request(earlier) and not is_go_ahead(earlier.text):
            return f"{words}\n(Asked before: {earlier.text.strip()[:MAX_TASK_CHARS]})"
    return words[:MAX_TASK_CHARS]


def is_go_ahead(words: str) -> bool:
    """Whether these words only say to go on."""
    if len(words) > _GO_AHEAD_CHARS:
        return False
    return all(word.strip("!.,…。！，").lower() in _GO_AHEADS for word in words.split())
