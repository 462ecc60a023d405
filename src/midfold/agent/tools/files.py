"""The tools that read, write and edit single files of the workspace."""

from midfold.agent.tools.file_edits import FileEdits
from midfold.agent.tools.registry import Proposal, Tool, ToolFailed, tool
from midfold.agent.tools.workspace import Workspace

DEFAULT_LINES = 2_000
MAX_READ_CHARS = 50_000
_LINE_CHARS = 2_000


def file_tools(edits: FileEdits) -> list[Tool]:
    """Return the tools that read and change single files of a workspace; the latter ask first."""
    return [_read_tool(edits.workspace), _write_tool(edits), _edit_tool(edits)]


def _read_tool(workspace: Workspace) -> Tool:
    @tool(reads=True)
    def read_file(path: str, offset: int = 1, limit: int = DEFAULT_LINES) -> str:
        """Read a text file, or a part of it. Each line comes with its number.

        path: the file, relative to the workspace
        offset: the first line to return, counted from 1
        limit: how many lines to return at most
        """
        found = workspace.find(path)
        return _number_lines(workspace.name(found), workspace.read_text(found), max(offset, 1), max(limit, 1))

    return read_file


def _write_tool(edits: FileEdits) -> Tool:
    workspace = edits.workspace

    @tool
    def write_file(path: str, content: str) -> Proposal:
        """Write a whole text file; one that exists is replaced. Use edit_file to change a part of one.

        The user sees the change and is asked first.
        path: the file, relative to the workspace; folders that are missing are made
        content: all that the file will hold
        """
        found = workspace.find(path)
        before = workspace.read_if_there(found)
        size = f"{_count_lines(content):,} lines, {len(content):,} characters"
        done = f"{'Wrote' if before is None else 'Replaced'} {workspace.name(found)}: {size}."
        return edits.propose(found, before, content, done)

    return write_file


def _edit_tool(edits: FileEdits) -> Tool:
    workspace = edits.workspace

    @tool
    def edit_file(path: str, old_string: str, new_string: str, replace_all: bool = False) -> Proposal:
        """Replace a piece of a text file. It must occur exactly once, letter by letter with its white space.

        The user sees the change and is asked first.
        path: the file, relative to the workspace
        old_string: the piece as it stands in the file, with enough around it to occur only once
        new_string: what comes in its place
        replace_all: whether to replace every occurrence instead
        """
        found = workspace.find(path)
        text = workspace.read_text(found)
        if _is_crlf(text):  # which read_file does not show
            old_string, new_string = _to_crlf(old_string), _to_crlf(new_string)
        count = text.count(old_string) if old_string else 0
        _check_edit(workspace.name(found), old_string, new_string, count, replace_all)
        line = text.count("\n", 0, text.index(old_string)) + 1
        where = f"line {line}" if count == 1 else f"{count} places, the first at line {line}"
        done = f"Edited {workspace.name(found)} at {where}."
        return edits.propose(found, text.encode(), text.replace(old_string, new_string), done)

    return edit_file


def _number_lines(name: str, text: str, offset: int, limit: int) -> str:
    """Number lines from `offset` on, as many as there is room for, and say what is left out."""
    if not text:
        return f"[{name} is empty]"
    lines = text.removesuffix("\n").split("\n")
    if offset > len(lines):
        raise ToolFailed(f"{name} has {len(lines):,} lines; there is none from {offset:,} on")
    shown: list[str] = []
    room = MAX_READ_CHARS
    for number, line in enumerate(lines[offset - 1 : offset - 1 + limit], offset):
        numbered = f"{number:>6}\t{_cut(line)}"
        room -= len(numbered) + 1
        if room < 0:
            break
        shown.append(numbered)
    last = offset + len(shown) - 1
    rest = len(lines) - last
    more = f"\n[{rest:,} more lines; go on with offset {last + 1}]" if rest else ""
    return "\n".join(shown) + more


def _cut(line: str) -> str:
    line = line.removesuffix("\r")
    if len(line) <= _LINE_CHARS:
        return line
    return f"{line[:_LINE_CHARS]}[… {len(line) - _LINE_CHARS:,} more characters in this line]"


def _check_edit(name: str, old: str, new: str, count: int, replace_all: bool) -> None:
    if not old:
        raise ToolFailed("old_string is empty; use write_file for a whole file")
    if old == new:
        raise ToolFailed("old_string and new_string are the same")
    if not count:
        raise ToolFailed(f"old_string does not occur in {name}; read the file and copy the piece exactly")
    if count > 1 and not replace_all:
        raise ToolFailed(
            f"old_string occurs {count} times in {name}; give more of what is around it, or set replace_all"
        )


def _is_crlf(text: str) -> bool:
    """Whether every line ends the way of Windows."""
    return "\r\n" in text and text.count("\r\n") == text.count("\n")


def _to_crlf(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\n", "\r\n")


def _count_lines(text: str) -> int:
    return text.count("\n") + (not text.endswith("\n") and text != "")
