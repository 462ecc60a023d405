"""What tools and clients print around an output: labels, banners, line numbers, their own bookkeeping.

All of it says how the tool works, and nothing about the work.
"""

import re

from midfold.late_patterns import compile_late

_LABELLED = compile_late(r"[A-Z][\w ]{1,30}:(?:\s|$)|[A-Z]\w{2,20} exited with (?:code|status) \d|-{3,}$")
"""a line of a frame before an output: `Wall time: 0.4 seconds`"""
_OPENS_OUTPUT = compile_late(r"(?:Output|Stdout|STDOUT|Result):[ \t]*")
_RESULT_LABEL = compile_late(r"\[[\w.-]{1,60}(?: for '[^\n]{0,400}')?\] Result:\s*")
"""how a client announces what a tool gave back"""
_MOST_FRAME_LINES = 10
_NOTE_CHARS = 100
_FRAME_CHARS = 2_000
_EMPTY_LABEL = compile_late(r"[A-Z][\w ]{1,30}:\s*(?:\((?:none|empty|root)\)|-?\d{1,12})?\s*$")
"""a line of a frame behind an output: a label with nothing, or a number"""
_USAGE = compile_late(r"\s*<(?P<tag>[a-z_]{2,30})>(?:\s*[\w ]{2,30}:\s?[\d.,]+\s*){1,12}</(?P=tag)>\s*$")
_ID_LINE = compile_late(r"[a-z]\w{1,20}I[dD]: \S{1,80}(?: \([^()\n]{1,120}\))?$")
"""what a client adds behind the words of an agent: its usage, its id"""
_USAGE_CHARS = 400
_MOST_ENDINGS = 6
_BANNER = compile_late(r"(?P<sign>[=\-*#_~+])(?P=sign){2,}(?P<said>[^\d\n]{0,80}?)(?P=sign){3,}$")
"""a title between rules; one with figures says more"""
_EXIT = compile_late(
    r"[<\[(\"']{0,2}(?:\w{1,12}\s){0,3}?(?:exit(?:ed)?|return)[\s_-]?(?:with\s)?(?:code|status)\"?"
    r"[>:=\"'\s]{1,4}-?\d{1,6}(?:</\w{1,20}>|[\])\"',.])*$",
    re.IGNORECASE,
)
_BARE_FIELD = compile_late(r"\"[\w-]{1,40}\"\s?:\s?(?:null|true|0|\"\"|\[\]?|\{\}?)?,?$")
"""a field of an answer in JSON that holds nothing, or says that all went well"""
_WORDLESS = compile_late(r"[\W_]+$")
_GUTTER = compile_late(r"[ \t]{0,8}\d{1,6}(?:\t|→|: |\| ?|:(?=\s{2})| {2})")
"""the number of a line, before the line"""
_IMPORTS = compile_late(
    r"(?:from\s[\w.]+\simport\b|import\s|#\s?include\b|using\s[\w.:]+;|package\s[\w.]+;?$|use\s[\w:]+(?:::|;)"
    r"|(?:const|let|var)\s[\w{}, ]+=\s?require\(|require\s['\"]|export\s\*\sfrom\b|#!/|<!DOCTYPE\b|<\?xml\b)"
)
_DOCUMENT_END = compile_late(r"(?:[A-Z]{2,12}['\")]{0,3}|.{0,200}<<-?\s?['\"]?[A-Z]\w{1,20}['\"]?)$")
"""how a text inside a command is opened and closed"""


def unframe(text: str) -> str:
    """Return an output without the labels before and behind it; nothing of a mere note in brackets."""
    if text[:1] == "(" and len(text) <= _NOTE_CHARS and text.rstrip()[-1:] == ")":
        return ""
    label = _RESULT_LABEL.match(text)
    text = text[label.end() :] if label else text
    lines = text[:_FRAME_CHARS].split("\n", _MOST_FRAME_LINES)
    for number, line in enumerate(lines[:_MOST_FRAME_LINES]):
        opening = _OPENS_OUTPUT.match(line)
        if opening is not None and number:
            start = sum(len(each) + 1 for each in lines[:number]) + opening.end()
            return _without_ending(text[start:], _EMPTY_LABEL)
        if line.strip() and _LABELLED.match(line) is None:
            break
    usage = _USAGE.search(text, max(0, len(text) - _USAGE_CHARS)) if text.endswith(">") else None
    return _without_ending(text[: usage.start()] if usage else text, _ID_LINE)


def says_nothing(line: str) -> bool:
    """Whether a line only parts, opens or closes, holds nothing, or says how a process ended."""
    return (
        _WORDLESS.match(line) is not None
        or _EXIT.match(line) is not None
        or _BARE_FIELD.match(line) is not None
        or (_BANNER.match(line) is not None and line[0] == line[-1])
    )


def without_number(line: str) -> str:
    """Return a line of a file without its number."""
    found = _GUTTER.match(line)
    return line[found.end() :].strip() if found else line


def is_idle(line: str) -> bool:
    """Whether a line of a text that was written says nothing of its own: an import, a mark, an end."""
    return is_import(line) or says_nothing(line) or _DOCUMENT_END.match(line) is not None


def is_import(line: str) -> bool:
    """Whether a line of a file only fetches what others define, or says what kind of file it is."""
    return _IMPORTS.match(line) is not None


def _without_ending(text: str, ending: re.Pattern[str]) -> str:
    """Cut off the last lines as long as they belong to the frame."""
    stop = len(text.rstrip())
    for _ in range(_MOST_ENDINGS):
        start = text.rfind("\n", 0, stop) + 1
        if ending.match(text[start:stop].strip()) is None:
            break
        stop = len(text[:start].rstrip())
    return text[:stop]
