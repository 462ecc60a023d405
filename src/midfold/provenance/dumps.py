"""Text that a machine wrote and a person pasted: logs, listings, traces, diffs, data, code.

Line by line: what prose never looks like. A run of such lines is a dump, with the few lines between them that
could be either.
"""

import re
from collections.abc import Iterator, Sequence

from midfold.late_patterns import compile_late

_LONG_LINE_CHARS = 20_000
_LEAST_LINES = 3
_MOST_GAP = 2
_SURE_CHARS = 160
_DUMP_SIGNS = compile_late(
    r"""
    [\[{(]?["']?\d{4}-\d\d-\d\d[T\ ]\d\d:               # dates and times of logs
  | [\[(]?\d\d:\d\d:\d\d
  | [{\[][\s"'{\[]|["'][\w.-]{1,60}["']\s?:|[}\]][,;)]?\s*$  # data
  | -->|\||=\s|\^{2,}|~{2,}|\d{1,5}\s?\|               # compilers
  | [$\u276f\u279c%]\s?\S|>>>\s?\S                     # prompts
  | </?[a-zA-Z][\w:-]{0,40}[\s>/]|<[!?][a-zA-Z]
  | [-=_*\#]{6,}\s*$
  | \d{1,6}(?:\t|→|:\s{2,}\S)
    """,
    re.VERBOSE,
)
"""how a machine's line begins that begins with no letter, behind blanks"""
_DUMP_WORDS = compile_late(
    r"""
    (?:at\s\S+\s?\(|File\s"|Traceback\s|Caused\sby:|goroutine\s\d|panic:|thread\s')
  | (?:error|warning|note|help|fatal|info|debug|trace|err|warn|critical|npm\sERR!)(?:\[\w+\])?:?\s*[:|(\[`]
  | (?:ERROR|WARN|WARNING|INFO|DEBUG|TRACE|FATAL|FAIL|FAILED|PASS|PASSED|ok|not\sok)\b[:\s\]]
  | commit\s[0-9a-f]{7,64}\b|(?:Author|AuthorDate|Commit|CommitDate|Date|Merge):\s{1,8}\S
  | (?:PS\s\S{1,80}>|C:\\\S{0,80}>)\s?\S
  | (?:import\s[\w{*]|from\s[\w.]{1,80}\simport|def\s\w{1,80}\(|class\s\w{1,80}[:({]|return\b.{0,200};?$
       |(?:public|private|static|const|let|var|func|fn|async|export)\s[\w\s<>,{]{1,80}[=({:])
    """,
    re.VERBOSE,
)
"""how one begins that begins with a letter"""
_DUMP_LETTERS = frozenset("aAFTCgptewnhfidcEWIDMPorslv")
_EXCEPTION = compile_late(r"\w{3,40}(?:Error|Exception|Warning)\b")
_PLACE = compile_late(r"\S{1,200}:\d{1,6}(?::\d{1,6})?(?::|\s|$)")
_PROMPT = compile_late(r"\S{1,60}[@:]\S{1,80}[$\#]\s")
_UNINDENTED = compile_late(
    r"""
    [+-]{3}\s[ab/]|@@\s|diff\s--git|index\s[0-9a-f]{6,}|[+-]\s{2,}\S
  | [d-][r-][w-][x-][r-]                                # listings
  | (?:\./|/|~/)[\w.@+-]{1,80}(?:/[\w.@+-]{1,120}){1,20}\s*$
    """,
    re.VERBOSE,
)
_UNINDENTED_SIGNS = frozenset("+-@di./~")
_CODE_END_CHARS = 201
_EXCEPTION_CHARS = 49
_FENCE = compile_late(r"^[ \t]{0,8}(`{3,}|~{3,})", re.MULTILINE)
# A title between rules, and another that says that it ends.
_RULED = compile_late(
    r"^(-{3,}|={3,}|\*{3,})[ \t]?(?![Ee]nd\b|END\b)[^\n]{3,120}?[ \t]?\1[ \t]*$", re.MULTILINE
)
_RULED_END = compile_late(r"^(-{3,}|={3,}|\*{3,})[ \t]?(?:end\b|END\b|End\b)[^\n]{0,120}$", re.MULTILINE)
_RULES = ("---", "===", "***")
# A line that begins nothing but a document or a trace.
_SURE = compile_late(r"(?i:<!doctype\s|<\?xml\s|<html[\s>])|Traceback \(most recent call last\):|diff --git ")
# The message of a commit stands behind an empty line and is indented.
_COMMIT = compile_late(r"commit [0-9a-f]{7,64}\b")
_INDENT = "    "
_OBJECT = compile_late(r"\s*\{\s*\"[\w.$-]{1,60}\"\s?:")
_HUNK = "@@ "
_HUNK_SIGNS = ("+", "-", " ", "\\")


# Two who speak in turns, each behind a label: a talk that somebody pasted.
_ASKER = compile_late(
    r"^(?:\*\*)?(?:user|human|customer|client|nutzer|benutzer|usuario|utilisateur"
    r"|用户|ユーザー)(?:\*\*)?[ \t]?[:：]",
    re.IGNORECASE | re.MULTILINE,
)
_ANSWERER = compile_late(
    r"^(?:\*\*)?(?:assistant|ai|bot|agent|chatgpt|claude|gemini|gpt-?\w{0,6}|support|assistent|asistente"
    r"|助手|アシスタント)(?:\*\*)?[ \t]?[:：]",
    re.IGNORECASE | re.MULTILINE,
)


def find_talk(text: str) -> tuple[int, int] | None:
    """Return where a pasted talk stands: from its first label to the end of the last one's paragraph."""
    asks, answers = _ASKER.search(text), _ANSWERER.search(text)
    if asks is None or answers is None:
        return None
    last = max(asks.start(), answers.start())
    for pattern in (_ASKER, _ANSWERER):
        for label in pattern.finditer(text, last):
            last = max(last, label.start())
    end = text.find("\n\n", last)
    return min(asks.start(), answers.start()), end if end >= 0 else len(text)


def find_dumps(text: str, start: int, stop: int) -> Iterator[tuple[int, int]]:
    """Yield where fenced blocks and runs of a machine's lines stand, in order."""
    position = start
    for fenced_start, fenced_stop in _find_blocks(text, start, stop):
        yield from _find_runs(text, position, fenced_start)
        yield fenced_start, fenced_stop
        position = fenced_stop
    yield from _find_runs(text, position, stop)


def is_dump_line(line: str) -> bool:
    """Whether a machine wrote a line, as far as its shape tells."""
    bare = line[:_LONG_LINE_CHARS].lstrip()
    if not bare:
        return False
    sign, is_indented = bare[0], bare[0] != line[0]
    if sign in _DUMP_LETTERS:
        is_known = _DUMP_WORDS.match(bare) is not None
    else:
        is_known = not sign.isalpha() and _DUMP_SIGNS.match(bare) is not None
    return (
        is_known
        or _ends_as_code(line)
        or (not is_indented and sign in _UNINDENTED_SIGNS and _UNINDENTED.match(line) is not None)
        or _has_machine_word(bare, is_indented=is_indented)
    )


def _ends_as_code(line: str) -> bool:
    line = line[:_LONG_LINE_CHARS].rstrip()
    return line[-1] in ";{}" and len(line) <= _CODE_END_CHARS


def _has_machine_word(bare: str, *, is_indented: bool) -> bool:
    """Whether a line begins with a place in a file, the name of an exception, or a prompt."""
    if ":" in bare and _PLACE.match(bare):
        return True
    head = bare[:_EXCEPTION_CHARS]
    if ("Error" in head or "Exception" in head or "Warning" in head) and _EXCEPTION.match(bare):
        return True
    return not is_indented and ("$" in bare or "#" in bare) and _PROMPT.match(bare) is not None


def _find_blocks(text: str, start: int, stop: int) -> Iterator[tuple[int, int]]:
    """Yield ruled and fenced blocks; a fence inside of a ruled block is part of it."""
    position = start
    for ruled_start, ruled_stop in _find_ruled(text, start, stop):
        yield from _find_fences(text, position, ruled_start)
        yield ruled_start, ruled_stop
        position = ruled_stop
    yield from _find_fences(text, position, stop)


def _find_ruled(text: str, start: int, stop: int) -> Iterator[tuple[int, int]]:
    if not any(rule in text for rule in _RULES):
        return
    while (opening := _RULED.search(text, start, stop)) is not None:
        closing = _RULED_END.search(text, opening.end(), stop)
        if closing is None:
            return
        yield opening.start(), closing.end()
        start = closing.end()


def _find_fences(text: str, start: int, stop: int) -> Iterator[tuple[int, int]]:
    if "```" not in text and "~~~" not in text:
        return
    position = start
    while (opening := _FENCE.search(text, position, stop)) is not None:
        closing = text.find(f"\n{opening[1]}", opening.end(), stop)
        if closing < 0:
            # A fence that nobody closed holds what follows it up to an empty line.
            end = text.find("\n\n", opening.end(), stop)
            yield opening.start(), stop if end < 0 else end
            position = stop if end < 0 else end
            continue
        end = text.find("\n", closing + 1, stop)
        position = stop if end < 0 else end
        yield opening.start(), position


def _find_runs(text: str, start: int, stop: int) -> Iterator[tuple[int, int]]:
    lines = list(_spans_of_lines(text, start, stop))
    marks = [is_dump_line(text[first:last]) for first, last in lines]
    index = 0
    while index < len(lines):
        if not marks[index]:
            index += 1
            continue
        end, count = _run_from(text, lines, marks, index)
        first, last = lines[index][0], lines[end][1]
        if count >= _LEAST_LINES or (count and _is_data(text[first:last])) or _SURE.match(text, first):
            yield first, last
        index = end + 1


def _run_from(
    text: str, lines: Sequence[tuple[int, int]], marks: Sequence[bool], start: int
) -> tuple[int, int]:
    """Return where a run of dump lines ends, and how many it has; short gaps are part of it."""
    end, count, gap, is_apart = start, 1, 0, False
    for index in range(start + 1, len(lines)):
        if marks[index]:
            end, count, gap, is_apart = index, count + 1, 0, False
        elif not text[lines[index][0] : lines[index][1]].strip():
            is_apart = True
        else:
            # A paragraph of its own is somebody's remark.
            gap += 1
            if gap > _MOST_GAP or is_apart:
                break
    has_hunk = any(text.startswith(_HUNK, first) for first, _ in lines[start : end + 1])
    has_commit = any(_COMMIT.match(text, first) for first, _ in lines[start : end + 1])
    going_on = _HUNK_SIGNS if has_hunk else (" ", "\t")
    while end + 1 < len(lines):
        first, last = lines[end + 1]
        if text.startswith(going_on, first, last):
            end += 1  # a long line that was wrapped, or a line of the diff
        elif has_commit and first == last and end + 2 < len(lines) and text.startswith(_INDENT, last + 1):
            end += 2
        else:
            break
    return end, count


def _is_data(text: str) -> bool:
    """Whether a run is one object, or long and full of strings."""
    bare = text.strip()
    if _OBJECT.match(bare) and bare[-1] == "}":
        return True
    return len(text) >= _SURE_CHARS and bare[:1] in ("{", "[") and bare.count('"') >= 6


def _spans_of_lines(text: str, start: int, stop: int) -> Iterator[tuple[int, int]]:
    while start < stop:
        end = text.find("\n", start, stop)
        end = stop if end < 0 else end
        yield start, end
        start = end + 1
