"""Hints of a query about the message beside its words: who said it, when, and whether something failed."""

import re
from enum import Enum

from midfold.late_patterns import compile_late
from midfold.search.terms import STEMS, terms_in

_PERSON = frozenset(
    STEMS[word]
    for word in (
        *("user", "users", "person", "customer", "usuario", "usuarios", "cliente"),
        *("wish", "want", "asked", "asks", "request", "requested", "complained", "objection"),
        *("peticion", "pide", "pidio", "quiere", "solicita"),
    )
)
_UNSPACED_PERSON = (
    *("用户", "客户", "ユーザー", "사용자", "고객"),
    *("要求", "请求", "希望", "要望", "依頼", "요청", "요구", "부탁"),
)
# What is said to a person is not said by one.
_TO_PERSON = compile_late(
    r"(?<!according )\b(?:to|for) (?:the |a )?(?:user|person|customer)s?\b"
    r"|\b(?:al|a la|para el) (?:usuari[oa]|cliente)s?\b"
    r"|[给向跟对對](?:用户|客户)|(?:ユーザー|顧客)(?:に|へ)|(?:사용자|고객)(?:에게|께)",
    re.IGNORECASE,
)
_MODEL = compile_late(r"\b(?:assistant|agent|asistente|agente)\b|助手|アシスタント|어시스턴트", re.IGNORECASE)
_PERSON_NAME = compile_late(
    r"\b(?:users?|person|customer|usuari[oa]s?|cliente)\b|用户|客户|ユーザー|사용자|고객", re.IGNORECASE
)
_FIRST = compile_late(
    r"\b(?:first|initial(?:ly)?|original(?:ly)?|earliest|primer[oa]?|inicial(?:mente)?|erste[rns]?|premi[eè]re?)\b"
    r"|最初|第一[次个個版]|首次|一开始|初回|처음|첫|최초",
    re.IGNORECASE,
)
_LAST = compile_late(
    r"\b(?:last|final(?:ly)?|latest|newest|[uú]ltim[oa]s?|letzte[rns]?|derni[eè]re?)\b"
    r"|最后|最終|最後|最新|마지막|최종|최근",
    re.IGNORECASE,
)
_FAILURE = compile_late(
    r"\b(?:fail|error|crash|exception|traceback|complain)|\bbroken?\b|\b(?:fall[oóa]|fallos|fallaron)\b"
    r"|错|失败|异常|エラー|失敗|例外|실패|오류|에러|예외",
    re.IGNORECASE,
)
_FAILED = compile_late(
    r"Traceback|Error\b|\bFAIL|\berror\b|\bfatal:|\bpanic:|No such file|not found"
    r"|[Ee]xit[ _]code\W{0,3}[1-9]|<returncode>[1-9]"
)


class Ordinal(Enum):
    """The part of a conversation that a query is about."""

    ANY = "any"
    EARLY = "early"
    LATE = "late"


def find_author(text: str) -> str:
    """Return the role of who is meant to have said it, the person or the model; empty where neither is."""
    if _TO_PERSON.search(text):
        return "assistant"
    model, person = _MODEL.search(text), _PERSON_NAME.search(text)
    if model and (person is None or model.start() < person.start()):
        return "assistant"
    names_person = any(word in text for word in _UNSPACED_PERSON) or not _PERSON.isdisjoint(terms_in(text))
    return "user" if names_person else ""


def asks_for_failure(text: str) -> bool:
    """Whether something is asked for that went wrong."""
    return _FAILURE.search(text) is not None


def tells_failure(output: str) -> bool:
    """Whether the output of a tool says that it failed."""
    return _FAILED.search(output) is not None


def find_ordinal(text: str) -> Ordinal:
    """Say whether the first or the last of several is asked for."""
    first, last = _FIRST.search(text) is not None, _LAST.search(text) is not None
    if first == last:
        return Ordinal.ANY
    return Ordinal.EARLY if first else Ordinal.LATE
