"""The memory that outlives sessions: MEMORY.md, facts about the work, and USER.md, facts about the user.

The files belong to people, who may write into them what they like; the agent adds and takes out single lines
that are bullets and leaves every other byte as it is. They are part of the system prompt of every session
that starts afterwards, so they are kept short. An entry is written at once; where that fails it is kept and
written by the next `flush`.
"""

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TypeAlias

from midfold.files import read_bytes, replace_file
from midfold.late_dataclasses import dataclass, field
from midfold.redact import redact

MAX_CHARS = 8_000
"""Of one file: it is sent with every request."""
_BULLET = "- "
_FENCES = ("```", "~~~")

_Change: TypeAlias = Callable[[str], str]


class Target(StrEnum):
    """One of the two files of the memory."""

    MEMORY = "memory"
    USER = "user"

    @property
    def file_name(self) -> str:
        return f"{self.upper()}.md"


class MemoryFull(ValueError):
    """There is no room for another entry."""

    def __init__(self, target: Target, chars: int) -> None:
        super().__init__(
            f"{target.file_name} would have {chars:,} characters and may have {MAX_CHARS:,}; "
            "remove or shorten entries first"
        )


@dataclass(slots=True)
class Memory:
    """The two files in a folder, which need not exist."""

    home: Path
    _unsaved: dict[Target, list[_Change]] = field(default_factory=dict)
    """changes yet to be made to a file, whatever it holds by then"""

    @property
    def files(self) -> tuple[Path, ...]:
        """Where they are."""
        return tuple(self.home / target.file_name for target in Target)

    def entries(self, target: Target) -> tuple[str, ...]:
        """Return the entries that can be removed, one text each; a file that cannot be read has none."""
        try:
            return tuple(entry for _, entry in _find_entries(self._text(target)))
        except OSError:
            return ()

    def show(self) -> str:
        """Return both files as the system prompt has them; nothing where both are empty."""
        parts = [f"# {target.file_name}\n{text}" for target in Target if (text := self._shown(target))]
        return "\n\n".join(parts)

    def add(self, target: Target, entry: str) -> None:
        """Keep an entry; one that is there already is not kept twice.

        Raises `MemoryFull`, and `OSError` where the file is there but cannot be read: it is left alone.
        """
        wanted = _normalize_entry(entry)
        text = self._text(target)
        if not wanted or wanted in (found for _, found in _find_entries(text)):
            return
        change = partial(_append, wanted)
        chars = len(change(text))
        if chars > MAX_CHARS:
            raise MemoryFull(target, chars)
        self._change(target, change)

    def remove(self, target: Target, part: str) -> str | None:
        """Forget the one entry that holds this text and return it; `None` where none or several do.

        Raises `OSError` where the file is there but cannot be read.
        """
        text = self._text(target)
        holders = [entry for _, entry in _find_entries(text) if part in entry] if part else []
        if len(holders) != 1:
            return None
        self._change(target, partial(_remove_line, holders[0]))
        return holders[0]

    def flush(self) -> None:
        """Write what could not be written before; raises `OSError` where it still cannot."""
        for target in list(self._unsaved):
            self._save(target)

    def _text(self, target: Target) -> str:
        """Read a file as it is now, with what is yet to be done to it; raises `OSError`."""
        path = self.home / target.file_name
        try:
            text = read_bytes(path).decode()
        except (FileNotFoundError, NotADirectoryError):
            text = ""
        except UnicodeDecodeError:
            raise OSError(errno.EILSEQ, "it is not UTF-8 text", str(path)) from None
        for change in self._unsaved.get(target, ()):
            text = change(text)
        return text

    def _shown(self, target: Target) -> str:
        try:
            text = self._text(target)
        except OSError as error:
            return f"[{target.file_name} cannot be read: {error.strerror}]\n"
        if not text.strip():
            return ""
        if len(text) > MAX_CHARS:
            return f"{text[:MAX_CHARS]}\n[{len(text) - MAX_CHARS:,} more characters are left out]\n"
        return text

    def _change(self, target: Target, change: _Change) -> None:
        self._unsaved.setdefault(target, []).append(change)
        with suppress(OSError):  # it stays unsaved, and `flush` says so
            self._save(target)

    def _save(self, target: Target) -> None:
        """Read the file anew, as others may have written to it, and replace it."""
        data = self._text(target).encode()
        self.home.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = self.home / target.file_name
        replace_file(path, data)
        os.chmod(path, 0o600)  # noqa: PTH101 - it is for the user alone, however it was made
        self._unsaved.pop(target, None)


def _normalize_entry(entry: str) -> str:
    """Return an entry in one line, without credentials: it is stored, and sent with every request."""
    return redact(" ".join(entry.encode("utf-8", "replace").decode().split()))


def _find_entries(text: str) -> Iterator[tuple[int, str]]:
    """Yield the entries with the numbers of their lines: bullets that are not nested, nor part of code."""
    is_code = False
    for number, line in enumerate(text.split("\n")):
        if line.lstrip().startswith(_FENCES):
            is_code = not is_code
        elif not is_code and line.startswith(_BULLET) and line.strip() != _BULLET.strip():
            yield number, line.removeprefix(_BULLET).strip()


def _append(entry: str, text: str) -> str:
    gap = "\n" if text and not text.endswith("\n") else ""
    return f"{text}{gap}{_BULLET}{entry}\n"


def _remove_line(entry: str, text: str) -> str:
    """Take the line of an entry out, where it is still there."""
    lines = text.split("\n")
    number = next((number for number, found in _find_entries(text) if found == entry), None)
    return text if number is None else "\n".join([*lines[:number], *lines[number + 1 :]])
