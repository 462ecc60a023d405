"""Finds the notes in an answer: without control characters, thoughts, preamble, or a fence around it all.

Headings are written as they were asked for, since everything after this reads notes by their headings.
"""

import re
from functools import cache

from midfold.late_patterns import compile_late
from midfold.settings import Template
from midfold.summaries.sections import HEADINGS

_SURROGATE = compile_late("[\ud800-\udfff]")
_TERMINAL_CODE = compile_late(r"\x1b\[[0-9;?]{0,20}[A-Za-z]")
_LINE_BREAK = compile_late("\r\n?|[\v\f\x1c-\x1e\x85\u2028\u2029]")
_CONTROL = compile_late("[\x00-\x08\x0e-\x1f\x7f-\x9f\ufeff\ufffe\uffff]")
_BLANKS = compile_late(r"[ \t\xa0\u3000]{100,}")
_THOUGHTS_START = compile_late(r"\s*<think(?:ing)?>")
_THOUGHTS_END = compile_late(r"</think(?:ing)?>")
_HEADING = compile_late(r"^## +(\S.*)$", re.MULTILINE)
_ANY_HEADING = compile_late(r"^ {0,3}#{1,6}[ \t]+(?=\S)", re.MULTILINE)
_FENCE_LINE = compile_late(r"^[ \t]{0,8}(?:```|~~~)[^\n`]*$", re.MULTILINE)
_LONGEST_PREAMBLE_CHARS = 400
_BULLET = compile_late(r"\s{0,12}(?:[-*+•>]|\d{1,3}[.)、])\s+")
_WORD = compile_late(r"\w+")
# What stands under a heading when there is nothing to say.
_NOTHING_WORDS = """
    none na n a nothing nil empty keine keiner keines aucun aucune rien ninguno ninguna nada nessuno nessuna
    niente nenhum nenhuma geen ingen brak yok нет 无 無 没有 なし 無し ありません 없음
"""
_NOTHINGS = frozenset(_NOTHING_WORDS.split())


def clean(text: str) -> str:
    """Join halves of characters, take out what no text contains, end lines in one way, shorten long gaps."""
    if _SURROGATE.search(text):
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "ignore")
    text = _LINE_BREAK.sub("\n", _TERMINAL_CODE.sub("", text))
    return _BLANKS.sub(" ", _CONTROL.sub("", text)).strip()


def without_thoughts(text: str) -> str:
    """Leave out what a model thought aloud before its answer; nothing is left if it never came to one."""
    end = _THOUGHTS_END.search(text)
    if _THOUGHTS_START.match(text):
        return text[end.end() :].strip() if end else ""
    if end and not _ANY_HEADING.search(text, 0, end.start()):
        return text[end.end() :].strip()
    return text


def find_notes(text: str, template: Template) -> str:
    """Return the notes with headings as they were asked for, from the first heading on."""
    text = _normalize_headings(text, template)
    first = _HEADING.search(text)
    if first is None:
        return text
    before, body = text[: first.start()].rstrip(), text[first.start() :]
    fences = list(_FENCE_LINE.finditer(before))
    if len(fences) % 2 and fences[-1].end() == len(before):
        before, body = before[: fences[-1].start()].rstrip(), _without_last_fence(body)
    # What introduces the notes is short; more than that is something the model had to say.
    return (body if len(before) <= _LONGEST_PREAMBLE_CHARS else f"{before}\n\n{body}").strip()


def find_titles(notes: str) -> list[str]:
    """List the headings of notes, in their order."""
    return [title.rstrip() for title in _HEADING.findall(notes)]


def section_ends(notes: str) -> list[int]:
    """List where the sections of notes end, but for the last one."""
    return [heading.start() for heading in _HEADING.finditer(notes) if heading.start()]


def content_lines(notes: str) -> list[str]:
    """List what notes say line by line, without headings, bullets, and lines that say there is nothing."""
    lines = (_BULLET.sub("", line, count=1).strip() for line in notes.split("\n") if line[:1] != "#")
    return [line for line in lines if not _NOTHINGS.issuperset(_WORD.findall(line[:40].lower()))]


def is_fence_open(notes: str) -> bool:
    """Whether notes end inside a block of code; with a heading behind its beginning it is only quoted."""
    fences = list(_FENCE_LINE.finditer(notes))
    return len(fences) % 2 == 1 and _HEADING.search(notes, fences[-1].end()) is None


def _without_last_fence(body: str) -> str:
    """Drop the closing line of a fence that was opened before the body, and what comes after it."""
    fences = list(_FENCE_LINE.finditer(body))
    return body[: fences[-1].start()] if len(fences) % 2 else body


def _normalize_headings(text: str, template: Template) -> str:
    """Write the headings of a template as `## Name`, however they were marked."""

    def write(found: re.Match[str]) -> str:
        name = _canonical(template)[_key(found["name"])]
        return f"## {name}\n{found['rest']}" if found["rest"] else f"## {name}"

    written = _marked(template).sub(write, text)
    if _HEADING.search(written):
        return written
    if _ANY_HEADING.search(written):
        return _ANY_HEADING.sub("## ", written)
    return _unmarked(template).sub(write, text)


def _key(name: str) -> str:
    return " ".join(name.lower().replace("&amp;", "and").replace("&", "and").split())


@cache
def _canonical(template: Template) -> dict[str, str]:
    return {_key(name): name for name in HEADINGS[template]}


def _names(template: Template) -> str:
    patterns = (
        re.escape(name).replace(r"\&", "(?:&|&amp;|and)").replace(r"\ ", "[ ]") for name in HEADINGS[template]
    )
    return "|".join(sorted(patterns, key=len, reverse=True))


@cache
def _marked(template: Template) -> re.Pattern[str]:
    """Match a heading of a template with any number of `#`, alone on its line."""
    return re.compile(
        rf"^ {{0,3}}#{{1,6}}[ \t]*(?:\d{{1,2}}[.)][ \t]*)?[*_]{{0,2}}(?P<name>{_names(template)})"
        r"[*_]{0,2}[ \t]*+:?[*_]{0,2}(?P<rest>)[ \t]*$",
        re.MULTILINE | re.IGNORECASE,
    )


@cache
def _unmarked(template: Template) -> re.Pattern[str]:
    """Match a heading in bold or with a colon, alone on its line or followed by what it is about."""
    return re.compile(
        rf"^(?:\d{{1,2}}[.)][ \t]*)?[*_]{{0,2}}(?P<name>{_names(template)})"
        r"(?:[*_]{2}:?|:[*_]{0,2})[ \t]*(?P<rest>[^\n]*)$",
        re.MULTILINE | re.IGNORECASE,
    )
