"""The home folder: whose it is, who may look into it, how much room there is, and what was left lying."""

import os
import shutil
import stat
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from midfold.cli.checkup.findings import Finding, Level, fine
from midfold.cli.plain import printable
from midfold.cli.when import tell_size

_AREA = "home"
_FOLDER_MODE, _FILE_MODE = 0o700, 0o600
_LITTLE_BYTES, _HARDLY_ANY_BYTES = 500_000_000, 50_000_000
# Nothing is being written for so long: whoever wrote it is gone.
_LEFT_SECONDS = 3_600.0
_MOST_NAMED = 4


def check_home(home: Path, *, also: Sequence[Path] = ()) -> Iterator[Finding]:
    """Look at the folder and everything below it, and at files that were put elsewhere."""
    if not home.exists():
        yield fine(_AREA, f"{home} does not exist yet; it is made when something is kept")
        return
    paths = list(dict.fromkeys([home, *_walk(home), *also]))
    yield from _check_owners(paths)
    yield from _check_modes(paths)
    yield from _check_left_over(paths)
    yield _check_room(home)


def _walk(folder: Path) -> Iterator[Path]:
    for root, folders, files in os.walk(folder):
        for name in (*folders, *files):
            yield Path(root, name)


def _check_owners(paths: list[Path]) -> Iterator[Finding]:
    if os.name != "posix":
        return
    foreign = [path for path in paths if path.lstat().st_uid != os.geteuid()]
    if foreign:
        text = f"another user owns {_name(foreign)}"
        yield Finding(_AREA, Level.PROBLEM, text, "give them to yourself with chown, or move them away")


def _check_modes(paths: list[Path]) -> Iterator[Finding]:
    if os.name != "posix":
        return
    open_ones = [path for path in paths if not path.is_symlink() and path.lstat().st_mode & 0o077]
    if not open_ones:
        yield fine(_AREA, f"{paths[0]}, for its owner alone")
        return
    yield Finding(
        _AREA,
        Level.PROBLEM,
        f"others may use {_name(open_ones)}",
        "midfold doctor --fix makes them private",
        lambda: _make_private(open_ones),
    )


def _make_private(paths: list[Path]) -> str:
    for path in paths:
        path.chmod(_FOLDER_MODE if path.is_dir() else _FILE_MODE)
    return f"made {_name(paths)} private"


def _check_left_over(paths: list[Path]) -> Iterator[Finding]:
    """Find what a process that was killed while writing left behind."""
    now = time.time()
    left = [path for path in paths[1:] if _is_temporary(path) and now - path.lstat().st_mtime > _LEFT_SECONDS]
    if left:
        yield Finding(
            _AREA,
            Level.WARN,
            f"left behind by a process that was killed: {_name(left)}",
            "midfold doctor --fix removes them",
            lambda: _remove(left),
        )


def _is_temporary(path: Path) -> bool:
    """Tell the names that our own writing uses: `.sessions.db.probe-12`, `.config.yaml.x1y2z3`, `.tmp-…`."""
    if not path.name.startswith(".") or not stat.S_ISREG(path.lstat().st_mode):
        return False
    # The result of a rescue that was cut short is not thrown away.
    return path.name.startswith(".tmp-") or (path.name.count(".") >= 2 and not path.name.endswith(".rescued"))


def _remove(paths: list[Path]) -> str:
    for path in paths:
        path.unlink(missing_ok=True)
    return f"removed {_name(paths)}"


def _check_room(home: Path) -> Finding:
    free = shutil.disk_usage(home).free
    text = f"{tell_size(free)} free on its disk"
    if free < _HARDLY_ANY_BYTES:
        return Finding(_AREA, Level.PROBLEM, text, "make room, or prune old sessions")
    if free < _LITTLE_BYTES:
        return Finding(_AREA, Level.WARN, text, "midfold sessions prune --older-than 30d makes room")
    return fine(_AREA, text)


def _name(paths: list[Path]) -> str:
    names = ", ".join(printable(path.name, 40) for path in paths[:_MOST_NAMED])
    return names if len(paths) <= _MOST_NAMED else f"{names} and {len(paths) - _MOST_NAMED:,} more"
