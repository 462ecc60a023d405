"""Elements that clients wrap text in: `<name …> … </name>` where a line begins, and whose words stand inside.

The name tells: it is made of words, and few of them are needed to tell a person's words from a tool's output,
a project's file, another agent's report, or a summary. Any other compound name is the client's own.
"""

import re
from collections.abc import Iterator
from functools import lru_cache

from midfold.late_dataclasses import dataclass
from midfold.late_patterns import compile_late
from midfold.provenance.authors import Author

_OPENING = compile_late(r"<([A-Za-z][\w:.-]{0,60})(?:[ \t][^<>\n]{0,300})?>")
_MOST_INDENT = 40
# What names a place is somebody's content, whatever the element is called.
_PLACE = compile_late(r"[ \t](?:url|uri|path|file|file_?name|source|document)=[\"'\w./~]", re.IGNORECASE)
_NAME_WORD = compile_late(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_JOINT = compile_late(r"[_:-]")
_MOST_ELEMENTS = 400

_AGENT = frozenset(
    ["agent", "subagent", "teammate", "assistant", "bot", "peer", "worker", "coworker", "delegate"]
)
_SUMMARY = frozenset(
    [
        "summary",
        "summaries",
        "compaction",
        "compacted",
        "compacting",
        "handoff",
        "handover",
        "continuation",
        "snapshot",
    ]
)
_OUTPUT = frozenset(
    [
        "stdout",
        "stderr",
        "stdin",
        "output",
        "outputs",
        "result",
        "results",
        "observation",
        "observations",
        "response",
        "returncode",
        "log",
        "logs",
        "traceback",
        "error",
        "errors",
        "exitcode",
        "diff",
        "diffs",
    ]
)
_LOCAL = frozenset(["local", "command", "bash", "shell", "terminal", "hook", "exit"])
_PROJECT = frozenset(
    [
        "rule",
        "rules",
        "skill",
        "guideline",
        "guidelines",
        "convention",
        "conventions",
        "instructions",
        "claudemd",
        "agentsmd",
        "memories",
        "constitution",
        "playbook",
        "steering",
    ]
)
_SPOKEN = frozenset(
    [
        "query",
        "request",
        "question",
        "prompt",
        "feedback",
        "answer",
        "answers",
        "args",
        "arguments",
        "argument",
        "reply",
        "task",
        "ask",
        "goal",
        "objective",
        "ticket",
    ]
)
_REPORTED = frozenset(["issue", "description", "statement", "bug", "story"])
"""what somebody else wrote and a person passes on"""
_ADDRESSED = frozenset(["message", "input", "text", "comment", "turn"])
_PEOPLE = frozenset(["user", "human", "person", "customer", "client", "bash", "new", "latest"])
_PLAIN = frozenset(
    [
        "context",
        "untrusted",
        "environment",
        "env",
        "reminder",
        "system",
        "note",
        "notice",
        "warning",
        "info",
        "information",
        "metadata",
        "status",
        "state",
        "files",
        "file",
        "attachment",
        "attachments",
        "document",
        "documents",
        "workspace",
        "skills",
        "tools",
        "tool",
        "date",
        "time",
        "timestamp",
        "caveat",
        "editor",
        "ide",
        "cursor",
        "selection",
        "clipboard",
        "image",
        "images",
        "notification",
        "event",
        "events",
        "memory",
        "git",
        "plugins",
        "permissions",
        "important",
        "critical",
        "image_files",
        "budget",
        "todo",
        "todos",
        "plan",
        "mode",
    ]
)
"""single words that clients use; other single words are somebody's markup"""
_EMPHASIS = frozenset(["important", "critical", "example", "examples", "example_response", "note"])


@dataclass(frozen=True, slots=True)
class Element:
    """One element at the outermost level, and where its content stands."""

    name: str
    start: int
    inner_start: int
    inner_stop: int
    stop: int


@dataclass(frozen=True, slots=True)
class NameReading:
    """The meaning of a name for the words inside."""

    author: Author
    is_quoted: bool = False


def find_elements(text: str) -> Iterator[Element]:
    """Yield the outermost elements of a text that clients could have written.

    One without an end was cut off, where its name is a compound, and goes on to the end of the text.
    """
    if "<" not in text:
        return
    position = found = done = 0
    endless: set[str] = set()
    while found < _MOST_ELEMENTS and (opening := _OPENING.search(text, position)) is not None:
        name = opening[1]
        position = opening.end()
        start = _start_of_line(text, opening.start())
        if start is None or name in endless:
            continue
        if read_name(name) is None and not _PLACE.search(opening[0]):
            continue
        stop = _find_end(text, name, opening.end())
        if stop is None:
            endless.add(name)
            continue
        found += 1
        yield Element(name, start, opening.end(), stop, stop + len(name) + 3)
        position = done = stop + len(name) + 3
    if endless:
        yield from _find_cut_off(text, endless, done)


@lru_cache(maxsize=512)
def read_name(name: str) -> NameReading | None:
    """Say whose words a name announces; `None` for markup that anybody may write."""
    words = [word.lower() for word in _NAME_WORD.findall(name)]
    if not words:
        return None
    every, last = frozenset(words), words[-1]
    if len(words) == 1 and last not in _PLAIN | _OUTPUT | _PROJECT | _SPOKEN | _SUMMARY | _REPORTED:
        return None
    if every & _AGENT:
        return NameReading(Author.AGENT)
    if last in _OUTPUT:
        return NameReading(Author.HOST if every & _LOCAL else Author.TOOL)
    if every & _SUMMARY:
        return NameReading(Author.SUMMARY)
    if last in _SPOKEN or (last in _ADDRESSED and every & _PEOPLE):
        return NameReading(Author.HOST if "system" in every else Author.PERSON)
    if last in _REPORTED:
        return NameReading(Author.PERSON, is_quoted=True)
    if last in _PROJECT or (every & _PROJECT and last not in _PLAIN):
        return NameReading(Author.PROJECT)
    return NameReading(Author.HOST)


def is_instructions(name: str) -> bool:
    """Whether a name is bare `instructions`, which people and projects use alike."""
    return name.lower() in ("instructions", "instruction", "rules", "guidelines")


def is_emphasis(name: str) -> bool:
    """Whether a name only stresses what its author says."""
    return name.lower() in _EMPHASIS


def _find_cut_off(text: str, names: set[str], start: int) -> Iterator[Element]:
    for opening in _OPENING.finditer(text, start):
        name = opening[1]
        reading = read_name(name) if name in names and _JOINT.search(name) else None
        begun = _start_of_line(text, opening.start()) if reading else None
        if begun is not None and reading and reading.author is not Author.PERSON:
            yield Element(name, begun, opening.end(), len(text), len(text))
            return


def _start_of_line(text: str, at: int) -> int | None:
    """Return where the blanks before an element begin; `None` where it stands inside a line."""
    start, least = at, max(at - _MOST_INDENT, 0)
    while start > least and text[start - 1] in " \t":
        start -= 1
    return start if start == 0 or text[start - 1] in "\n>" else None


def _find_end(text: str, name: str, start: int) -> int | None:
    """Find where an element ends; those of the same name inside it are passed over."""
    depth, position = 1, start
    closing, opening = f"</{name}>", f"<{name}"
    while True:
        stop = text.find(closing, position)
        if stop < 0:
            return None
        depth += _count_openings(text, opening, position, stop) - 1
        if depth <= 0:
            return stop
        position = stop + len(closing)


def _count_openings(text: str, opening: str, start: int, stop: int) -> int:
    count, position = 0, text.find(opening, start, stop)
    while position >= 0:
        follows = text[position + len(opening) : position + len(opening) + 1]
        count += follows in (">", " ")
        position = text.find(opening, position + 1, stop)
    return count
