"""What outlives every session: MEMORY.md, what the agent learnt, and USER.md, what it knows of the user.

Each file is a list of entries. They are part of the system prompt of every session that starts afterwards, so
they are kept short. An entry is written at once; where that fails it is kept and written by the next `flush`.
"""

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from midfold.compression.redact import redact
from midfold.files import replace_file

MAX_CHARS = 8_000
"""Of one file: it is sent with every request."""
_BULLET = "- "


class Target(StrEnum):
    """Which of the two files."""

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
    _unsaved: dict[Target, tuple[str, ...]] = field(default_factory=dict)

    @property
    def files(self) -> tuple[Path, ...]:
        """Where they are."""
        return tuple(self.home / target.file_name for target in Target)

    def entries(self, target: Target) -> tuple[str, ...]:
        """Return what a file holds, one text an entry; a file that cannot be read holds nothing."""
        if target in self._unsaved:
            return self._unsaved[target]
        try:
            text = (self.home / target.file_name).read_text("utf-8", "replace")
        except OSError:
            return ()
        return tuple(_split(text))

    def show(self) -> str:
        """Return both files as the system prompt has them; nothing where both are empty."""
        parts = [
            f"# {target.file_name}\n{_spell(found)}" for target in Target if (found := self.entries(target))
        ]
        return "\n\n".join(parts)

    def add(self, target: Target, entry: str) -> None:
        """Keep an entry; one that is there already is not kept twice."""
        wanted = _tidy(entry)
        found = self.entries(target)
        if wanted and wanted not in found:
            self._change(target, lambda entries: (*entries, wanted))

    def remove(self, target: Target, part: str) -> str | None:
        """Forget the one entry that holds this text and return it; `None` where none or several do."""
        holders = [entry for entry in self.entries(target) if part in entry] if part else []
        if len(holders) != 1:
            return None
        self._change(target, lambda entries: tuple(entry for entry in entries if entry != holders[0]))
        return holders[0]

    def flush(self) -> None:
        """Write what could not be written before; raises `OSError` where it still cannot."""
        for target, entries in list(self._unsaved.items()):
            self._save(target, entries)

    def _change(self, target: Target, change: Callable[[tuple[str, ...]], tuple[str, ...]]) -> None:
        """Read the file anew, as others may have written to it, and replace it."""
        entries = change(self.entries(target))
        chars = len(_spell(entries))
        if chars > MAX_CHARS:
            raise MemoryFull(target, chars)
        self._unsaved[target] = entries
        with suppress(OSError):  # it stays unsaved, and `flush` says so
            self._save(target, entries)

    def _save(self, target: Target, entries: tuple[str, ...]) -> None:
        self.home.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = self.home / target.file_name
        replace_file(path, _spell(entries).encode("utf-8", "replace"))
        os.chmod(path, 0o600)  # noqa: PTH101 - whoever made it, it is the user's own
        self._unsaved.pop(target, None)


def _tidy(entry: str) -> str:
    """Return an entry in one line, without credentials: it is stored, and sent with every request."""
    return redact(" ".join(entry.split()))


def _split(text: str) -> list[str]:
    """Read entries: bullets, or lines that somebody wrote by hand; headings are for people."""
    lines = (line.strip() for line in text.splitlines())
    return [line.removeprefix(_BULLET).strip() for line in lines if line and not line.startswith("#")]


def _spell(entries: tuple[str, ...]) -> str:
    return "".join(f"{_BULLET}{entry}\n" for entry in entries)
