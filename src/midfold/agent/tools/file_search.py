"""The search of the workspace: which files there are, and which lines match. Bounded, whatever is there.

Patterns run in linear time. Links are not followed, and folders of generated files are left out.
"""

import os
import stat
import time
from collections.abc import Iterator
from contextlib import suppress
from fnmatch import fnmatchcase
from pathlib import Path

from midfold.agent.tools.registry import Tool, ToolFailed, tool
from midfold.agent.tools.workspace import Workspace
from midfold.files import held_files, identify
from midfold.late_dataclasses import dataclass
from midfold.offload import BadPattern, Find, literal, regex
from midfold.summaries.tool_calls import one_line

LEFT_OUT = frozenset(
    {
        ".git",
        ".hg",
        ".svn",
        "node_modules",
        "__pycache__",
        ".venv",
        "venv",
        ".tox",
        ".mypy_cache",
        ".pytest_cache",
    }
)
MAX_LISTED = 500
MAX_VISITED = 50_000
MAX_MATCHES = 100
MAX_SEARCHED_BYTES = 2_000_000
"""A larger file is data or a log; the terminal has tools for those."""
SEARCH_SECONDS = 10.0
_LINE_CHARS = 300


def search_tools(workspace: Workspace) -> list[Tool]:
    """Return the tools that list and search the files of a workspace."""

    @tool(reads=True)
    def list_files(path: str = ".", pattern: str = "") -> str:
        """List the files below a folder, in the order of their names.

        path: the folder, relative to the workspace
        pattern: only files whose name or path matches this, such as *.py or src/*/test_*.py
        """
        walk = _Walk(workspace, workspace.find(path), pattern)
        found = [f"{workspace.name(each.path)}  ({each.size:,} bytes)" for each in walk.files(MAX_LISTED)]
        if not found:
            return "[no files]" if not pattern else f"[no files match {pattern!r}]"
        more = "\n[there are more; give a folder or a pattern]" if walk.is_cut else ""
        return "\n".join(found) + more

    @tool(reads=True)
    def search_files(pattern: str, path: str = ".", files: str = "", is_regex: bool = False) -> str:
        """Search the text files below a folder, and return the lines that match with their places.

        pattern: the text to search for
        path: the folder or file, relative to the workspace
        files: only files whose name or path matches this, such as *.py
        is_regex: whether the pattern is a regular expression in the syntax of RE2
        """
        try:
            find = (regex if is_regex else literal)(pattern)
        except BadPattern as error:
            raise ToolFailed(str(error)) from None
        search = _Search(
            workspace, _Walk(workspace, workspace.find(path), files), time.monotonic() + SEARCH_SECONDS
        )
        lines = list(search.matches(find))
        if not lines:
            return (
                "[no match]" if not search.is_cut else "[no match in what could be searched; not all could]"
            )
        more = "\n[there may be more than these]" if search.is_cut else ""
        return "\n".join(lines) + more

    return [list_files, search_files]


@dataclass(frozen=True, slots=True)
class _Found:
    path: Path
    size: int


class _Walk:
    """Goes through the files below a folder; `is_cut` says afterwards that there are more."""

    def __init__(self, workspace: Workspace, start: Path, pattern: str) -> None:
        self.is_cut = False
        self._workspace = workspace
        self._start = start
        self._pattern = pattern

    def files(self, most: int) -> Iterator[_Found]:
        count = 0
        for visited, (path, facts) in enumerate(self._walk_files()):
            if count == most or visited >= MAX_VISITED:
                self.is_cut = True
                return
            if not stat.S_ISLNK(facts.st_mode) and self._matches_pattern(path):
                count += 1
                yield _Found(path, facts.st_size)

    def _walk_files(self) -> Iterator[tuple[Path, os.stat_result]]:
        if _is_file(self._start):
            yield self._start, self._start.lstat()
            return
        with self._workspace.open_folder(self._start) as start:
            for folder, folders, names, handle in os.fwalk(".", dir_fd=start):
                folders[:] = sorted(self._workspace.visible(handle, set(folders) - LEFT_OUT))
                held = held_files()
                for name in sorted(self._workspace.visible(handle, names)):
                    with suppress(OSError):  # it is gone by now
                        facts = os.stat(name, dir_fd=handle, follow_symlinks=False)
                        if identify(facts) not in held:
                            yield self._start / folder / name, facts

    def _matches_pattern(self, path: Path) -> bool:
        if not self._pattern or path == self._start:
            return True
        below = str(path.relative_to(self._start))
        return fnmatchcase(path.name, self._pattern) or fnmatchcase(below, self._pattern)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # the name is too long, or the like; opening it as a folder says so
        return False


@dataclass(slots=True)
class _Search:
    """Looks at file after file until enough is found or time is up."""

    workspace: Workspace
    walk: _Walk
    until: float
    is_cut: bool = False

    def matches(self, find: Find) -> Iterator[str]:
        count = 0
        for found in self.walk.files(MAX_VISITED):
            if time.monotonic() > self.until:
                self.is_cut = True
                return
            for line in self._lines(found, find):
                if count == MAX_MATCHES:
                    self.is_cut = True
                    return
                count += 1
                yield line
        self.is_cut = self.is_cut or self.walk.is_cut

    def _lines(self, found: _Found, find: Find) -> Iterator[str]:
        text = self._read(found)
        line, counted, found_at = 1, 0, find(text, 0) if text else -1
        while found_at >= 0:
            line += text.count("\n", counted, found_at)
            start = text.rfind("\n", 0, found_at) + 1
            end = text.find("\n", found_at)
            end = len(text) if end < 0 else end
            shown = one_line(text[max(start, found_at - _LINE_CHARS // 3) : end], _LINE_CHARS)
            yield f"{self.workspace.name(found.path)}:{line}: {shown}"
            counted = found_at
            found_at = find(text, end + 1) if end + 1 < len(text) else -1

    def _read(self, found: _Found) -> str:
        """Read a text file; what is too large or no text is passed over, and said to be."""
        if found.size > MAX_SEARCHED_BYTES:
            self.is_cut = True
            return ""
        try:
            data = self.workspace.read(found.path)
        except ToolFailed:
            return ""
        return "" if b"\0" in data[:8192] else data.decode("utf-8", "replace")
