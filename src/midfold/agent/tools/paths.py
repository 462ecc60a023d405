"""Where file tools may go: into the workspace, into folders that were allowed, and nowhere else.

A path is judged by where it really leads, so a link is as good as its target. What is opened is the very file
that was judged: a link that takes its place in between is not followed.
"""

import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from midfold.agent.tools.registry import ToolFailed
from midfold.files import replace_file

MAX_FILE_BYTES = 10_000_000
"""More than anybody edits by hand; larger files are for the terminal."""


@dataclass(frozen=True, slots=True)
class Workspace:
    """A folder to work in, and further ones that may be used; all are given as they really are."""

    root: Path
    allowed: tuple[Path, ...] = ()

    @classmethod
    def open(cls, root: Path | str, allowed: Iterable[Path | str] = ()) -> "Workspace":
        """Resolve the folders, which need not exist."""
        return cls(_real(Path(root)), tuple(_real(Path(each)) for each in allowed))

    def find(self, path: str) -> Path:
        """Return where a path leads, or raise `ToolFailed` where that is out of bounds."""
        if not path or "\0" in path:
            raise ToolFailed("the path is empty or not a path")
        try:
            real = _real(self.root / Path(path).expanduser())
        except (OSError, RuntimeError) as error:
            raise ToolFailed(f"{path!r} cannot be resolved: {error}") from None
        if not any(real.is_relative_to(folder) for folder in (self.root, *self.allowed)):
            raise ToolFailed(f"{path!r} leads out of the workspace {self.root}, where nothing may be touched")
        return real

    def name(self, path: Path) -> str:
        """Return a path as it is shown: below the workspace without it."""
        return str(path.relative_to(self.root)) if path.is_relative_to(self.root) else str(path)

    def read(self, path: Path) -> bytes:
        """Read a file that was found; a folder, a device or a giant is refused."""
        try:
            handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            raise self._failed(path, error) from None
        try:
            facts = os.fstat(handle)
            if not stat.S_ISREG(facts.st_mode):
                raise ToolFailed(f"{self.name(path)} is not a file")
            if facts.st_size > MAX_FILE_BYTES:
                size = f"{facts.st_size:,} bytes; {MAX_FILE_BYTES:,} are the most that is read"
                raise ToolFailed(f"{self.name(path)} has {size}")
            with os.fdopen(handle, "rb", closefd=False) as file:
                return file.read(MAX_FILE_BYTES)
        finally:
            os.close(handle)

    def read_text(self, path: Path) -> str:
        """Read a file as text; what is not UTF-8 is refused, as writing it back would damage it."""
        data = self.read(path)
        if b"\0" in data[:8192]:
            raise ToolFailed(f"{self.name(path)} is not a text file ({len(data):,} bytes)")
        try:
            return data.decode()
        except UnicodeDecodeError:
            raise ToolFailed(f"{self.name(path)} is not UTF-8 text ({len(data):,} bytes)") from None

    def write_text(self, path: Path, text: str) -> None:
        """Write a file in one step, with the folders it needs; a failure leaves the old one."""
        try:
            data = text.encode()
        except UnicodeEncodeError:
            raise ToolFailed("the text holds half a character and cannot be written") from None
        if path.exists() and not path.is_file():
            raise ToolFailed(f"{self.name(path)} is not a file")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            is_new = not path.exists()
            replace_file(path, data)
            if is_new:
                path.chmod(0o666 & ~_umask())
        except OSError as error:
            raise self._failed(path, error) from None

    def _failed(self, path: Path, error: OSError) -> ToolFailed:
        return ToolFailed(f"{self.name(path)}: {error.strerror or type(error).__name__}")


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))


@cache
def _umask() -> int:
    """Return what the user takes away from the rights of new files; asking means setting it, for a moment."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
