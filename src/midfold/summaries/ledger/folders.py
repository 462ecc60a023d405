"""The folders that commands went to: a command elsewhere is about the files there."""

from collections.abc import Iterable, Sequence
from posixpath import normpath

from midfold.late_dataclasses import dataclass, field
from midfold.late_patterns import compile_late

_ABSOLUTE = compile_late(r"[/~]|[A-Za-z]:[/\\]")


@dataclass(slots=True)
class Folders:
    """The folder of the work, to which paths are relative, and the others."""

    home: str = ""
    others: frozenset[str] = field(default_factory=frozenset)
    now: str = ""
    """where the last command went"""

    @classmethod
    def of(cls, actions: Sequence[tuple[str, Sequence[str]]]) -> "Folders":
        """Find the folder of the work in where actions went and which files they named: most went there.

        One that was visited late is another place, where files of a place besides it have been named before.
        """
        visits: dict[str, list[int]] = {}
        named: list[str] = []
        first_relative = len(actions)
        for position, (place, paths) in enumerate(actions):
            if is_absolute(place):
                visits.setdefault(place, []).append(position)
            for path in paths:
                if is_absolute(path):
                    named.append(path)
                elif not place:
                    first_relative = min(first_relative, position)
        others = {
            each
            for each, positions in visits.items()
            if positions[0] > first_relative and any(not _is_within(path, each) for path in named)
        }
        homes = [each for each in visits if each not in others]
        home = max(homes, key=lambda each: len(visits[each]), default="")
        return cls(home, frozenset(each for each in visits if not (home and _is_within(each, home))))

    def place(self, folder: str, paths: Iterable[str]) -> dict[str, str]:
        """Say for each path of a command in a folder where the file is; in that of the work it stays."""
        if not folder or folder == self.home or folder.startswith("."):
            return {path: path for path in paths}
        sign = "\\" if "\\" in folder else "/"
        return {path: path if is_absolute(path) else _join(folder, sign, path) for path in paths}

    def is_elsewhere(self, path: str) -> bool:
        """Whether a file is in another folder than that of the work."""
        return any(_is_within(path, each) for each in self.others)

    def is_here(self, path: str) -> bool:
        """Whether a file is in the folder that the last command went to, as far as that is known."""
        if not self.now:
            return True
        is_at_home = bool(self.home) and (_is_within(self.now, self.home) or _is_within(self.home, self.now))
        if is_at_home:
            return not is_absolute(path) or _is_within(path, min(self.now, self.home, key=len))
        return is_absolute(path) and _is_within(path, self.now)


def _join(folder: str, sign: str, path: str) -> str:
    joined = f"{folder}{sign}{path.removeprefix('./')}"
    return normpath(joined) if "../" in path else joined


def is_absolute(path: str) -> bool:
    """Whether a path begins at a root or a home."""
    return _ABSOLUTE.match(path) is not None


def _is_within(path: str, folder: str) -> bool:
    inner, outer = path.replace("\\", "/"), folder.replace("\\", "/")
    return inner == outer or inner.startswith(f"{outer}/")
