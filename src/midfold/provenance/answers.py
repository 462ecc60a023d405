"""People in tool results: answers to questions, reasons for refusing a call, approvals with words.

A tool that asks gives back nothing but the answer. A call that was refused never ran, so that its result is
the client's and the person's: that is believed of a result marked as an error, and of tools that print
nothing of their own. Output of commands and files can imitate any of this, and is never believed.
"""

import json
import re
from collections.abc import Iterator, Mapping

from midfold.late_dataclasses import dataclass
from midfold.late_patterns import compile_late
from midfold.messages import ToolCall, ToolResult

_MOST_CHARS = 6_000
_NAME_WORD = compile_late(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_ASKING = frozenset(
    [
        "ask",
        "question",
        "questions",
        "clarify",
        "clarification",
        "elicit",
        "elicitation",
        "followup",
        "confirm",
    ]
)
# Who else is asked: models, other agents, sources. What a server of tools asks is asked of a person by name.
_PEOPLE = frozenset(["user", "human", "person", "operator"])
_ELSEWHERE = compile_late(
    r"^mcp__|expert|llm|gpt|claude|gemini|oracle|agent|(?<![a-z])bot|docs?(?![a-z])|document|wiki|search|database"
    r"|knowledge|perplexity|codebase|repo|retriev|teammate|specialist|advisor|critic|review|answering"
    r"|order|payment|booking",
    re.IGNORECASE,
)
_DIALOG = frozenset(["plan", "approval", "approve", "permission"])
_PRINTING = compile_late(
    r"bash|shell|terminal|exec|command|run|read|cat|view|open|fetch|web|search|grep|glob|list|browser|http|url|mcp|query",
    re.IGNORECASE,
)
_PAIR = compile_late(r'"((?:[^"\\]|\\.){1,2000})"\s?[=:]\s?"((?:[^"\\]|\\.){0,4000})"')
_ANSWER_KEYS = (
    "answers",
    "answer",
    "user_response",
    "response",
    "reply",
    "selected",
    "choice",
    "value",
    "text",
    "content",
)
_ELEMENT = compile_late(r"<(answer|feedback|user_message|reply|response)>\s*([\s\S]{1,6000}?)\s*</\1>")
_REFUSAL = compile_late(
    r"[^\n]{0,400}?\b(?:user|human|person|operator)\b[^\n]{0,400}?"
    r"(?:\b(?:said|says|reason|feedback|comments?|instructions?|message|wrote|note|instead|following)\b)[^\n:]{0,40}:\s*",
    re.IGNORECASE,
)
_VERDICT = compile_late(
    r"reject|refus|den(?:y|ied)|declin|cancel|doesn.t want|does not want|approv|accept|interrupt",
    re.IGNORECASE,
)
_NO_ANSWER = compile_late(
    r"\b(?:no|not|without|timed out|did(?:n.t| not))\b[^\n]{0,40}\b(?:respon|answer|repl|input)",
    re.IGNORECASE,
)
_QUESTION_KEYS = ("question", "questions", "prompt", "message", "text", "query", "title")
_OPTION_KEYS = ("options", "choices", "label", "value", "suggestions", "enum")


@dataclass(frozen=True, slots=True)
class PersonAnswer:
    """A person's words in a tool result, and what they answer."""

    words: str
    question: str = ""


def find_answer(call: ToolCall, result: ToolResult | None) -> PersonAnswer | None:
    """Return what a person says in the result of a call; `None` where nobody does."""
    if result is None or not result.text.strip() or len(result.text) > _MOST_CHARS:
        return None
    words = frozenset(word.lower() for word in _NAME_WORD.findall(call.name))
    is_for_people = bool(words & _PEOPLE) or not _ELSEWHERE.search(call.name)
    if words & _ASKING and is_for_people and not result.is_error:
        return _read_answer(call, result.text.strip())
    if result.is_error or words & _DIALOG or not _PRINTING.search(call.name):
        return _read_refusal(call, result.text.strip())
    return None


def is_unanswered(text: str) -> bool:
    """Whether the result of a question says that nobody answered."""
    return _NO_ANSWER.search(text[:160]) is not None


def _read_answer(call: ToolCall, text: str) -> PersonAnswer | None:
    asked = " · ".join(_texts_under(call.parse_arguments(), _QUESTION_KEYS))
    options = list(_texts_under(call.parse_arguments(), _OPTION_KEYS))
    question = f"{asked} (options: {' / '.join(options)})" if options else asked
    pairs = _PAIR.findall(text) if '"' in text and "{" not in text[:1] else []
    if pairs:
        said = [answer for _, answer in pairs if answer.strip()]
        return (
            PersonAnswer("; ".join(said), question or " · ".join(asked for asked, _ in pairs))
            if said
            else None
        )
    found = _answer_in_json(text) or _answer_in_element(text)
    if found:
        return PersonAnswer(found, question)
    is_echo = text.lstrip("❓ ")[:40] in asked or asked[:40] in text
    if is_unanswered(text) or (asked and is_echo) or text[:1] in "{[":
        return None
    return PersonAnswer(text, question)


def _read_refusal(call: ToolCall, text: str) -> PersonAnswer | None:
    element = _answer_in_element(text)
    lead = _REFUSAL.match(text)
    if lead is None or not _VERDICT.search(text[: lead.end()]):
        return None
    words = element or text[lead.end() :].strip()
    return PersonAnswer(words, f"{call.name} was refused or approved with words") if words else None


def _answer_in_element(text: str) -> str:
    found = _ELEMENT.search(text)
    return found[2] if found else ""


def _answer_in_json(text: str) -> str:
    if text[:1] != "{":
        return ""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return ""
    return "; ".join(dict.fromkeys(_texts_under(value, _ANSWER_KEYS)))


def _texts_under(
    value: object, keys: tuple[str, ...], *, is_inside: bool = False, depth: int = 0
) -> Iterator[str]:
    """Yield the texts under some keys, in lists and objects below them."""
    if depth > 6:
        return
    if isinstance(value, str):
        if is_inside and value.strip():
            yield value.strip()
    elif isinstance(value, Mapping):
        named = [key for key in value if key in keys]
        for key in named or (value if is_inside else ()):
            yield from _texts_under(value[key], keys, is_inside=True, depth=depth + 1)
        for key in value:
            if key not in named and isinstance(value[key], (dict, list)) and named != []:
                continue
            if key not in named and not is_inside:
                yield from _texts_under(value[key], keys, depth=depth + 1)
    elif isinstance(value, list):
        for each in value:
            yield from _texts_under(each, keys, is_inside=is_inside, depth=depth + 1)
