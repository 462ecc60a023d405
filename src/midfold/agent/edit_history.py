"""Files as they were before an agent edited them, so that an edit can be taken back.

Each version is a file of its own in the home folder, for its owner alone: one line of facts, then the bytes
of the file. The oldest go when there are too many.
"""

import json
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from midfold.config import EDITS_FOLDER
from midfold.errors import MidfoldError
from midfold.files import read_bytes, write_atomically
from midfold.late_dataclasses import dataclass

MAX_VERSIONS = 1_000
MAX_BYTES = 100_000_000
"""Of all conversations together."""
_NUMBER_DIGITS = 8
_SUFFIX = ".before"


class NoEditToUndo(MidfoldError, LookupError):
    """No edit of this conversation can be taken back."""

    def __init__(self, path: str | None = None) -> None:
        of = f" of {path}" if path else ""
        super().__init__(f"there is no edit{of} to take back")


class FileChangedSince(MidfoldError, RuntimeError):
    """A file is not as the edit left it, so taking the edit back would lose what came later."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name} changed since the edit; taking it back would lose that")
        self.name = name


@dataclass(frozen=True, slots=True)
class KeptVersion:
    """A file before an edit; `before` is `None` where the edit made the file. `after` is a hash."""

    file: Path
    path: Path
    before: bytes | None
    after: str
    at: float


class EditHistory:
    """The versions of one conversation at a time; `conversation` names the one that is going on."""

    def __init__(self, home: Path, conversation: Callable[[], str]) -> None:
        self._root = home / EDITS_FOLDER
        self._conversation = conversation

    def keep(self, path: Path, before: bytes | None, after: bytes) -> KeptVersion:
        """Keep a version durably; raises `OSError`, and then the edit must not be made."""
        folder = self._folder
        for each in (self._root.parent, self._root, folder):
            each.mkdir(mode=0o700, parents=True, exist_ok=True)
        newest = max((_number(file) for file in _versions(folder)), default=0)
        file = folder / f"{newest + 1:0{_NUMBER_DIGITS}}{_SUFFIX}"
        version = KeptVersion(file, path, before, _hash(after), time.time())
        facts = {"path": str(path), "is_new": before is None, "after": version.after, "at": version.at}
        parts = [json.dumps(facts).encode() + b"\n", before or b""]
        write_atomically(str(file), parts, temporary=str(folder / f".{secrets.token_hex(8)}"))
        self._trim(file)
        return version

    def versions(self) -> list[KeptVersion]:
        """Return the versions of the conversation, the oldest first; damaged ones are left out."""
        found = (_read(file) for file in sorted(_versions(self._folder)))
        return [version for version in found if version is not None]

    def forget(self, version: KeptVersion) -> None:
        """Drop a version: its edit was taken back, or never made."""
        version.file.unlink(missing_ok=True)

    @property
    def _folder(self) -> Path:
        return self._root / self._conversation()

    def _trim(self, newest: Path) -> None:
        """Drop the oldest versions of all conversations, down to the bounds."""
        found: list[tuple[float, Path, int]] = []
        for file in (file for folder in self._root.iterdir() for file in _versions(folder)):
            with suppress(FileNotFoundError):  # another chat may have dropped it
                facts = file.stat()
                found.append((facts.st_mtime, file, facts.st_size))
        room = MAX_BYTES
        for count, (_, file, size) in enumerate(sorted(found, reverse=True), 1):
            room -= size
            if file != newest and (room < 0 or count > MAX_VERSIONS):
                file.unlink(missing_ok=True)


def is_as_left(version: KeptVersion, data: bytes | None) -> bool:
    """Whether a file is as the edit left it."""
    return data is not None and _hash(data) == version.after


def _versions(folder: Path) -> Iterator[Path]:
    if folder.is_dir():
        yield from (file for file in folder.iterdir() if file.suffix == _SUFFIX and file.stem.isdecimal())


def _read(file: Path) -> KeptVersion | None:
    try:
        line, _, data = read_bytes(file).partition(b"\n")
        facts = json.loads(line)
        before = None if facts["is_new"] else data
        return KeptVersion(file, Path(facts["path"]), before, str(facts["after"]), float(facts["at"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _number(file: Path) -> int:
    return int(file.stem)


def _hash(data: bytes) -> str:
    return sha256(data).hexdigest()
