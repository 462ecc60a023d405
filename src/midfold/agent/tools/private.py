"""What file tools leave alone inside their bounds: midfold's own home folder.

Sessions, settings and plug-ins are there: a model that opened the session store would drop its locks, and one
that wrote a plug-in would run it. Tool output that was put aside may be read, as its block names the file.
"""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from midfold.agent.memory import Target
from midfold.config import FILE_NAMES, OUTPUT_FOLDER, STORE_FILE
from midfold.engines import PLUGIN_FOLDER
from midfold.files import identify

LIMITS_FILE = "learnt_limits.json"
PINS_FOLDER = "pins"
# What we keep in the home, for those who work in it and keep files of their own there, too.
_OWN = frozenset(
    name.casefold()
    for name in (
        *FILE_NAMES,
        *(target.file_name for target in Target),
        OUTPUT_FOLDER,
        PLUGIN_FOLDER.parts[0],
        PINS_FOLDER,
        LIMITS_FILE,
        "chat_history",
    )
)


@dataclass(frozen=True, slots=True)
class PrivateHome:
    """The home folder, which need not exist, as it is to tools that work in `root`."""

    home: Path
    root: Path

    def has(self, path: Path, *, may_read_outputs: bool = False) -> bool:
        """Whether a path, given as it really is, is the home's and off limits.

        Where the workspace lies inside the home, or is the home, only what is ours there is off limits.
        """
        if not (way := self._way_to(path)):
            return False
        inner = self._way_to(self.root)
        if inner and len(inner) > 1 and path.is_relative_to(self.root):
            return False
        name = way[1].casefold() if len(way) > 1 else ""
        if name == OUTPUT_FOLDER and may_read_outputs:
            return False
        return _is_own(name) if inner else True

    def visible(self, folder: os.stat_result, names: Iterable[str]) -> list[str]:
        """Return what may be seen of a folder: in the home, nothing that is off limits."""
        if identify(folder) != _identify(self.home):
            return list(names)
        return [name for name in names if not _is_own(name.casefold())] if self._way_to(self.root) else []

    def _way_to(self, path: Path) -> tuple[str, ...]:
        """Return the names from the home to a path, its own first; none where it is not inside.

        Folders are compared by device and inode, so that no link, mount or spelling leads past this.
        """
        home = _identify(self.home)
        if home is None:
            return ()
        for folder in (path, *path.parents):
            if _identify(folder) == home:
                return ("", *path.relative_to(folder).parts)
        return ()


def _is_own(name: str) -> bool:
    return name in _OWN or name.removeprefix(".").startswith(STORE_FILE)


def _identify(path: Path) -> tuple[int, int] | None:
    try:
        return identify(path.stat())
    except (OSError, ValueError):
        return None
