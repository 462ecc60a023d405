"""Names the kind of tool that a call is for, and its subject.

Tools are known by the words of their names and by the names of their arguments, not by one product's list.
"""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache

from midfold.late_patterns import compile_late
from midfold.messages import ToolCall

PATHS = ("file_path", "path", "filename", "file", "target_file", "absolute_path", "relative_path")
FOLDERS = ("dir_path", "directory", "dir", "folder", "target_directory", "path")
QUERIES = ("pattern", "query", "regex", "q", "search_term", "search_query", "glob_pattern", "file_name")
URLS = ("url", "urls", "uri")
COMMANDS = ("command", "cmd", "commands", "command_line", "code", "script", "input")
PATCHES = ("input", "patch", "diff")
CONTENTS = ("content", "contents", "file_text", "text", "file_content")
TEXTS_BEFORE = (
    *("old_string", "old_str", "old_text", "old_code", "old_content", "old_lines", "old"),
    *("search", "find", "before", "original"),
)
TEXTS_AFTER = (
    *("new_string", "new_str", "new_text", "new_code", "new_content", "new_lines", "new"),
    *("replace", "replace_with", "replacement", "insert_text", "after", "updated", "text"),
)
STEPS = ("todos", "plan", "tasks", "items", "steps")

# Family → words of its tools' names, and the arguments that say what a call is about. The first family that
# knows a word of the name has it: `search_replace` edits, `todo_write` plans.
FAMILIES: dict[str, tuple[frozenset[str], tuple[str, ...]]] = {
    kind: (frozenset(words.split()), subjects)
    for kind, words, subjects in (
        ("plan", "todo todos plan", STEPS),
        ("ask", "ask question questions clarify clarification", ("questions", "question")),
        ("web", "web browser fetch crawl url http", (*URLS, *QUERIES)),
        ("agent", "task agent subagent delegate", ("description", "goal", "task", "prompt", "message")),
        ("edit", "edit editor multiedit patch diff replace insert", (*PATHS, "notebook_path", *PATCHES)),
        ("search", "search grep rg ripgrep glob find", QUERIES),
        ("list", "ls dir directory tree list", FOLDERS),
        ("write", "write create save", PATHS),
        ("read", "read view cat open", (*PATHS, "paths", "file_paths", *URLS)),
        (
            "shell",
            "bash sh shell powershell terminal console exec execute command cmd run python ipython",
            COMMANDS,
        ),
    )
}
TASK_TOOL = compile_late(r"(?:task|todo)_?(create|update)$", re.IGNORECASE)
"""how a tool is called that makes or updates one item of a to-do list"""
_EDITOR_COMMANDS = {"view": "read", "create": "write"}
_WORD = compile_late(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
PATCHED_FILE = compile_late(
    r"^(?:\*\*\* (?:Update|Add|Delete) File: |\+\+\+ (?:b/)?)(\S[^\t\n]{0,300})", re.MULTILINE
)


def is_task_call(tool: str) -> bool:
    """Whether a tool makes or updates one item of a to-do list."""
    return TASK_TOOL.search(tool) is not None


def kind_of(call: ToolCall) -> str:
    """Name the family of a call; empty where neither its name nor its arguments show it."""
    kind = family_of(call.name)
    if kind == "edit":
        kind = _EDITOR_COMMANDS.get(str(arguments_of(call).get("command")), kind)
    return kind if kind and first_of(arguments_of(call), FAMILIES[kind][1]) else ""


@lru_cache(maxsize=1024)
def family_of(name: str) -> str:
    words = {word.lower() for word in _WORD.findall(name[:200])}
    return next((kind for kind, (known, _) in FAMILIES.items() if words & known), "")


@lru_cache(maxsize=1)  # family, writer and error of one stub ask in turn about the same call
def arguments_of(call: ToolCall) -> dict[str, object]:
    value = call.parse_arguments()
    if isinstance(value, dict):
        return value
    return {"input": value} if value else {}


def subject_of(call: ToolCall, kind: str) -> str:
    """Return what a call is about, in full: its command, path, pattern or address."""
    return format_argument(first_of(arguments_of(call), FAMILIES[kind][1]))


def first_of(arguments: Mapping[str, object], names: Iterable[str]) -> object:
    """Return the first of these arguments that says something; `filePath` is `file_path`, too."""
    bare: dict[str, object] | None = None
    for name in names:
        if arguments.get(name):
            return arguments[name]
        if bare is None:
            bare = {bare_name(key): value for key, value in arguments.items() if isinstance(key, str)}
        if bare.get(bare_name(name)):
            return bare[bare_name(name)]
    return None


@lru_cache(maxsize=4096)
def bare_name(name: str) -> str:
    """Return an argument's name without case and separators."""
    return name[:100].lower().replace("_", "").replace("-", "")


def format_argument(value: object) -> str:
    """Write an argument for a person: lists joined, what is nested only counted."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        texts = [item for item in value if isinstance(item, str)]
        return " ".join(texts) if len(texts) == len(value) else f"{len(value)} items"
    if isinstance(value, dict):
        return f"{len(value)} fields"
    return "" if value is None else str(value)
