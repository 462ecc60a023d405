"""What a tool call is about: a command, files it changes or reads, and its other arguments.

Tools have no common vocabulary, so names and keys are read for what they commonly mean.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from midfold.messages import ToolCall

_COMMAND_KEYS = ("command", "cmd", "script", "shell_command", "bash")
_PATH_KEYS = (
    "path",
    "file_path",
    "filepath",
    "file",
    "filename",
    "file_name",
    "target_file",
    "notebook_path",
)
_CONTENT_KEYS = frozenset(
    {
        *("content", "contents", "file_text", "new_source", "edits", "patch", "diff"),
        *("old_string", "old_str", "new_string", "new_str"),
    }
)
_CHANGING = re.compile(
    r"write|edit|crea|patch|replace|insert|append|delete|remove|rename|save|update|modif|"
    r"escrib|schreib|ersetz|écri|写|编辑|編集",
    re.IGNORECASE,
)
_READING = re.compile(r"read|view|open|cat|show|fetch_file|get_file|leer|lesen|lire|读|読", re.IGNORECASE)
_LOOKS_LIKE_PATH = re.compile(r"[~.]{0,2}/?(?:[\w.@+-]+/)+[\w.@+-]+\.\w{1,8}")
_PATH = re.compile(r"[^\n\0<>|*?]{1,300}")
_WRITTEN = re.compile(
    r"^\*\*\* (?:Add|Update|Delete) File: (.+)$|^\+\+\+ b/(\S+)|(?:\bcat|\btee)\s*>{1,2}\s*([\w./~-]+)",
    re.MULTILINE,
)
_SHELL_BLOCK = re.compile(r"^```(?:bash|sh|shell|zsh|console)[^\n]*\n(.+?)\n```", re.MULTILINE | re.DOTALL)
_COMMAND_CHARS = 600
_VALUE_CHARS = range(4, 161)


@dataclass(frozen=True, slots=True)
class Reading:
    """A call in common terms; `tool` is the name it goes by."""

    tool: str
    command: str = ""
    changed: tuple[str, ...] = ()
    read: tuple[str, ...] = ()
    others: tuple[tuple[str, str], ...] = ()


def read_call(call: ToolCall) -> Reading:
    """Read a call; free text is taken for a patch or a command only where it looks like one."""
    arguments = call.parse_arguments()
    if not isinstance(arguments, dict):
        return Reading(call.name, changed=tuple(written_in_patch(str(arguments))))
    command = next((spelled for key in _COMMAND_KEYS if (spelled := _spell(arguments.get(key)))), "")
    paths = tuple(
        value
        for key, value in arguments.items()
        if isinstance(value, str)
        and value.strip()
        and (_PATH.fullmatch(value) if key in _PATH_KEYS else _LOOKS_LIKE_PATH.fullmatch(value))
    )
    # An editor with several commands names them where a shell has its command line.
    is_verb = bool(paths) and re.fullmatch(r"\w+", command) is not None
    changes = _is_change(f"{call.name} {command if is_verb else ''}", arguments)
    others = tuple(
        (key, value)
        for key, value in arguments.items()
        if isinstance(value, str)
        and len(value) in _VALUE_CHARS
        and value == value.strip()
        and "\n" not in value
        and value not in (command, *paths)
        and key not in _CONTENT_KEYS
    )
    return Reading(
        tool=call.name,
        command="" if is_verb or len(command) > _COMMAND_CHARS else command,
        changed=paths if changes else (),
        read=paths if not changes and _READING.search(f"{call.name} {command}") else (),
        others=others,
    )


def written_in_patch(text: str) -> Iterator[str]:
    """Yield the files that a patch or a shell line writes."""
    for match in _WRITTEN.finditer(text):
        yield next(path for path in match.groups() if path).strip()


def shell_blocks(words: str) -> Iterator[str]:
    """Yield the commands of an agent that writes them into its words instead of calling a tool."""
    for match in _SHELL_BLOCK.finditer(words):
        if len(match[1]) <= _COMMAND_CHARS:
            yield match[1].strip()


def _is_change(name: str, arguments: dict[str, object]) -> bool:
    if re.search(r"\bview\b", name):
        return False
    return _CHANGING.search(name) is not None or not _CONTENT_KEYS.isdisjoint(arguments)


def _spell(value: object) -> str:
    if isinstance(value, list) and len(value) > 2 and str(value[1]).startswith("-"):
        # Wrappers such as ["bash", "-lc", "…"] hold the command in their last word.
        value = value[-1]
    return value.strip() if isinstance(value, str) else ""
