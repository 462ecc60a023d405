"""The workspace: the folders that file tools may enter, and nothing beside them.

A path is judged by where it really leads, so a link is as good as its target. What is opened is the very file
that was judged: a link that replaces it, or a folder on the way, in between is not followed.
Midfold's own files are out of bounds wherever they are: those of its home folder, and by device and inode
those of every session store that is open.
"""

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

from midfold.agent.memory import Target
from midfold.agent.tools.registry import ToolFailed
from midfold.agent.tools.safe_files import READ, check_replaceable, open_folder, remove_in, replace_in
from midfold.config import EDITS_FOLDER, FILE_NAMES, OUTPUT_FOLDER, STORE_FILE
from midfold.engines import PLUGIN_FOLDER
from midfold.files import BelongsToStore, identify, is_held, open_to_read
from midfold.late_dataclasses import dataclass
from midfold.offload import READER
from midfold.tokens import LIMITS_FILE

MAX_FILE_BYTES = 10_000_000
"""More than anybody edits by hand; larger files are for the terminal."""
_OURS = (
    "belongs to midfold's own store and is not opened; "
    f"the tools recall, memory and {READER} show what is kept there"
)
PINS_FOLDER = "pins"
# Our own files in the home: users may work in it, and keep files of their own there.
_OWN = frozenset(
    name.casefold()
    for name in (
        *FILE_NAMES,
        *(target.file_name for target in Target),
        OUTPUT_FOLDER,
        EDITS_FOLDER,
        PLUGIN_FOLDER.parts[0],
        PINS_FOLDER,
        LIMITS_FILE,
        "chat_history",
    )
)


@dataclass(frozen=True, slots=True)
class PrivateHome:
    """Midfold's home folder, which need not exist, as it is to tools that work in `root`.

    Sessions, settings and plug-ins are there: a model that opened the session store would drop its locks, and
    one that wrote a plug-in would run it. Offloaded tool output may be read, as its block names the file.
    """

    home: Path
    root: Path

    def has(self, path: Path, *, may_read_outputs: bool = False) -> bool:
        """Whether a path, given as it really is, is the home's and off limits.

        Where the workspace lies inside the home, or is the home, only what is ours there is off limits.
        """
        if not (way := self._names_below_home(path)):
            return False
        inner = self._names_below_home(self.root)
        if inner and len(inner) > 1 and path.is_relative_to(self.root):
            return False
        name = way[1].casefold() if len(way) > 1 else ""
        if name == OUTPUT_FOLDER and may_read_outputs:
            return False
        return _is_own(name) if inner else True

    def visible(self, folder: os.stat_result, names: Iterable[str]) -> list[str]:
        """Return the visible entries of a folder: in the home, nothing that is off limits."""
        if identify(folder) != _identify(self.home):
            return list(names)
        return (
            [name for name in names if not _is_own(name.casefold())]
            if self._names_below_home(self.root)
            else []
        )

    def _names_below_home(self, path: Path) -> tuple[str, ...]:
        """Return the names from the home to a path, its own first; none where it is not inside.

        Folders are compared by device and inode, so that no link, mount or form of the path leads past this.
        """
        home = _identify(self.home)
        if home is None:
            return ()
        for folder in (path, *path.parents):
            if _identify(folder) == home:
                return ("", *path.relative_to(folder).parts)
        return ()


@dataclass(frozen=True, slots=True)
class Workspace:
    """A folder to work in, and further ones that may be used; all are given as they really are."""

    root: Path
    allowed: tuple[Path, ...] = ()
    private: PrivateHome | None = None

    @classmethod
    def open(
        cls, root: Path | str, allowed: Iterable[Path | str] = (), *, home: Path | str | None = None
    ) -> "Workspace":
        """Resolve the folders, which need not exist; `home` is midfold's own, and out of bounds."""
        real = _real_path(Path(root))
        private = None if home is None else PrivateHome(_real_path(Path(home)), real)
        return cls(real, tuple(_real_path(Path(each)) for each in allowed), private)

    def find(self, path: str) -> Path:
        """Return where a path leads, or raise `ToolFailed` where that is out of bounds.

        Offloaded output may be read, so it is found; `write` refuses to write there.
        """
        if not path or "\0" in path:
            raise ToolFailed("the path is empty or not a path")
        try:
            real = _real_path(self.root / Path(path).expanduser())
        except (OSError, RuntimeError) as error:
            raise ToolFailed(f"{path!r} cannot be resolved: {error}") from None
        if not any(real.is_relative_to(folder) for folder in (self.root, *self.allowed)):
            raise ToolFailed(f"{path!r} leads out of the workspace {self.root}, where nothing may be touched")
        is_ours = self.private is not None and self.private.has(real, may_read_outputs=True)
        if is_ours or _is_held(real):
            raise self._refused(real)
        return real

    def name(self, path: Path) -> str:
        """Return a path as it is shown: below the workspace without it."""
        return str(path.relative_to(self.root)) if path.is_relative_to(self.root) else str(path)

    def read(self, path: Path) -> bytes:
        """Read a file that was found; a folder, a device, a giant or a file of the store is refused."""
        try:
            return self._read(path)
        except OSError as error:
            raise self._failed(path, error) from None

    def read_if_there(self, path: Path) -> bytes | None:
        """Read a file as `read` does; `None` where there is none."""
        try:
            return self._read(path)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self._failed(path, error) from None

    def _read(self, path: Path) -> bytes:
        try:
            with (
                self._folder_of(path) as folder,
                open_to_read(path.name, folder=folder, flags=READ) as handle,
            ):
                return self._read_all(path, handle)
        except BelongsToStore:
            raise self._refused(path) from None

    def _read_all(self, path: Path, handle: int) -> bytes:
        facts = os.fstat(handle)
        if not stat.S_ISREG(facts.st_mode):
            raise ToolFailed(f"{self.name(path)} is not a file")
        if facts.st_size > MAX_FILE_BYTES:
            size = f"{facts.st_size:,} bytes; {MAX_FILE_BYTES:,} are the most that is read"
            raise ToolFailed(f"{self.name(path)} has {size}")
        with os.fdopen(handle, "rb", closefd=False) as file:
            return file.read(MAX_FILE_BYTES)

    def read_text(self, path: Path) -> str:
        """Read a file as text; what is not UTF-8 is refused, as writing it back would damage it."""
        data = self.read(path)
        if b"\0" in data[:8192]:
            raise ToolFailed(f"{self.name(path)} is not a text file ({len(data):,} bytes)")
        try:
            return data.decode()
        except UnicodeDecodeError:
            raise ToolFailed(f"{self.name(path)} is not UTF-8 text ({len(data):,} bytes)") from None

    def check_writable(self, path: Path) -> None:
        """Raise `ToolFailed` where `write` would refuse a file that was found; nothing is opened to write."""
        if self.private is not None and self.private.has(path):
            raise self._refused(path)
        with self._refusing(path), suppress(FileNotFoundError), self._folder_of(path) as folder:
            check_replaceable(folder, path.name)

    def write(self, path: Path, data: bytes) -> bool:
        """Write a file in one step, with the folders it needs; true where it replaced another.

        A failure leaves the old one.
        """
        self.check_writable(path)
        with self._refusing(path), self._folder_of(path, make=True) as folder:
            return replace_in(folder, path.name, data)

    def remove(self, path: Path) -> None:
        """Remove a file that was found; folders stay."""
        self.check_writable(path)
        with self._refusing(path), self._folder_of(path) as folder:
            remove_in(folder, path.name)

    def visible(self, folder: int, names: Iterable[str]) -> list[str]:
        """Return the visible entries of an open folder: none of midfold's home."""
        return list(names) if self.private is None else self.private.visible(os.fstat(folder), names)

    @contextmanager
    def open_folder(self, path: Path) -> Iterator[int]:
        """Open a folder that was found, to list it; `ToolFailed` where it is none."""
        try:
            base = self.base_of(path)
            with open_folder(str(base), path.relative_to(base).parts) as folder:
                yield folder
        except OSError as error:
            raise self._failed(path, error) from None

    def _folder_of(self, path: Path, *, make: bool = False) -> AbstractContextManager[int]:
        """Open the folder of a file that was found."""
        base = self.base_of(path)
        if path == base:
            raise ToolFailed(f"{self.name(path)} is not a file")
        if make:
            base.mkdir(parents=True, exist_ok=True)
        return open_folder(str(base), path.relative_to(base).parts[:-1], make=make)

    def base_of(self, path: Path) -> Path:
        """Return the outermost folder that allows a path: a process that may write there cannot swap it."""
        folders = [each for each in (self.root, *self.allowed) if path.is_relative_to(each)]
        return min(folders, key=lambda each: len(each.parts))

    @contextmanager
    def _refusing(self, path: Path) -> Iterator[None]:
        """Turn what the system says about a file into words for the model."""
        try:
            yield
        except BelongsToStore:
            raise self._refused(path) from None
        except OSError as error:
            raise self._failed(path, error) from None

    def _refused(self, path: Path) -> ToolFailed:
        return ToolFailed(f"{self.name(path)} {_OURS}")

    def _failed(self, path: Path, error: OSError) -> ToolFailed:
        return ToolFailed(f"{self.name(path)}: {error.strerror or type(error).__name__}")


def _real_path(path: Path) -> Path:
    return Path(os.path.realpath(path))


def _is_held(path: Path) -> bool:
    try:
        return is_held(path.stat())
    except OSError:
        return False


def _is_own(name: str) -> bool:
    return name in _OWN or name.removeprefix(".").startswith(STORE_FILE)


def _identify(path: Path) -> tuple[int, int] | None:
    try:
        return identify(path.stat())
    except (OSError, ValueError):
        return None
