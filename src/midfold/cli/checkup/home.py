"""The home folder: whose it is, who may look into it, how much room there is, and what was left lying.

People keep files of their own there. What is not known by its exact name to be ours is neither changed nor
removed.
"""

import os
import re
import shutil
import stat
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from midfold.cli.checkup.findings import Finding, Severity, fine
from midfold.cli.render.format import format_size
from midfold.cli.terminal import printable
from midfold.config import EDITS_FOLDER, FILE_NAMES, OUTPUT_FOLDER
from midfold.offload import is_reference
from midfold.offload.sinks import SUFFIX, is_temporary, walk
from midfold.store import find_kept, parts_of

_AREA = "home"
_FOR_OTHERS, _FOR_OTHERS_TO_WRITE = 0o077, 0o022
_FILES = (*FILE_NAMES, "learnt_limits.json", "chat_history", "MEMORY.md", "USER.md")
_PLUGINS = "plugins"
# Earlier versions kept pins here; each file goes when its conversation is resumed.
_PINS, _PINNED = "pins", re.compile(r"[0-9a-f]{32}\.json", re.ASCII)
# The names of what is replaced in one step while that goes on. Files that people edit are not among them:
# a copy somebody made could have such a name.
_REPLACED = re.compile(r"\.learnt_limits\.json\.[a-z0-9_]{8}", re.ASCII)
_REPLACED_PINS = re.compile(r"\.[0-9a-f]{32}\.json\.[a-z0-9_]{8}", re.ASCII)
_LITTLE_BYTES, _HARDLY_ANY_BYTES = 500_000_000, 50_000_000
# Nothing is being written for so long: its writer is gone.
_LEFT_SECONDS = 3_600.0
_MOST_NAMED = 4


def check_home(home: Path, store: Path) -> Iterator[Finding]:
    """Look at the folder, at what we keep in it, and at the files of the store, wherever that is."""
    if not home.exists():
        yield fine(_AREA, f"{home} does not exist yet; it is made when something is kept")
        return
    pins = _named(home / _PINS, _PINNED)
    known = _existing(home / name for name in (*_FILES, _PINS, OUTPUT_FOLDER, EDITS_FOLDER))
    ours = [home, *known, *pins, *_find_outputs(home / OUTPUT_FOLDER), *parts_of(store), *find_kept(store)]
    others = sorted({*_list(home), *_walk(home / _PLUGINS)} - set(ours))
    yield from _check_owners([*ours, *others])
    yield from _check_modes(ours)
    yield from _check_others(others)
    # With a probe, a store on a full disk looks for room.
    probe = re.compile(rf"\.{re.escape(store.name)}\.probe-[0-9]+-[0-9a-f]+", re.ASCII)
    temporary = ((home, _REPLACED), (home / _PINS, _REPLACED_PINS), (store.parent, probe))
    yield from _check_left_over([path for folder, names in temporary for path in _named(folder, names)])
    yield _check_room(home)


def _list(folder: Path) -> list[Path]:
    return list(folder.iterdir()) if folder.is_dir() and not folder.is_symlink() else []


def _named(folder: Path, names: re.Pattern[str]) -> list[Path]:
    return [path for path in _list(folder) if names.fullmatch(path.name)]


def _walk(folder: Path) -> Iterator[Path]:
    for root, folders, files in os.walk(folder):
        for name in (*folders, *files):
            yield Path(root, name)


def _find_outputs(root: Path) -> list[Path]:
    """Return the files that a sink wrote, and their folders."""
    files = [
        root / file.folder.tenant / file.folder.session / file.name
        for file in walk(root)
        if is_temporary(file.name) or is_reference(file.name.removesuffix(SUFFIX))
    ]
    return sorted({path for file in files for path in (file, file.parent, file.parent.parent)})


def _existing(paths: Iterable[Path]) -> list[Path]:
    return [path for path in paths if path.exists() and not path.is_symlink()]


def _check_owners(paths: list[Path]) -> Iterator[Finding]:
    if os.name != "posix":
        return
    foreign = [path for path in paths if path.lstat().st_uid != os.geteuid()]
    if foreign:
        text = f"another user owns {_name(foreign)}"
        yield Finding(_AREA, Severity.PROBLEM, text, "give them to yourself with chown, or move them away")


def _check_modes(paths: list[Path]) -> Iterator[Finding]:
    if os.name != "posix":
        return
    open_ones = _open_to_others(paths, _FOR_OTHERS)
    if not open_ones:
        yield fine(_AREA, f"{paths[0]}, for its owner alone")
        return
    yield Finding(
        _AREA,
        Severity.PROBLEM,
        f"others may use {_name(open_ones)}",
        "midfold doctor --fix makes them private",
        lambda: _make_private(open_ones),
    )


def _make_private(paths: Sequence[Path]) -> str:
    """Take away what others may do; what the owner may do stays."""
    for path in paths:
        path.chmod(stat.S_IMODE(path.lstat().st_mode) & ~_FOR_OTHERS)
    return f"made {_name(paths)} private"


def _check_others(paths: list[Path]) -> Iterator[Finding]:
    """Say what is not ours and can be exchanged by others: a plug-in is run, and settings may name a file."""
    open_ones = _open_to_others(paths, _FOR_OTHERS_TO_WRITE) if os.name == "posix" else []
    if open_ones:
        yield Finding(
            _AREA, Severity.WARN, f"others may write to {_name(open_ones)}", "take that away with chmod go-w"
        )


def _open_to_others(paths: list[Path], mode: int) -> list[Path]:
    return [path for path in paths if not path.is_symlink() and path.lstat().st_mode & mode]


def _check_left_over(paths: list[Path]) -> Iterator[Finding]:
    """Find temporary files of a process that was killed while writing."""
    now = time.time()
    left = [path for path in paths if _is_left_over(path, now)]
    if left:
        yield Finding(
            _AREA,
            Severity.WARN,
            f"left behind by a process that was killed: {_name(left)}",
            "midfold doctor --fix removes them",
            lambda: _remove(left),
        )


def _is_left_over(path: Path, now: float) -> bool:
    """Whether no process writes a temporary file any more."""
    status = path.lstat()
    return stat.S_ISREG(status.st_mode) and now - status.st_mtime > _LEFT_SECONDS


def _remove(paths: list[Path]) -> str:
    for path in paths:
        path.unlink(missing_ok=True)
    return f"removed {_name(paths)}"


def _check_room(home: Path) -> Finding:
    free = shutil.disk_usage(home).free
    text = f"{format_size(free)} free on its disk"
    if free < _HARDLY_ANY_BYTES:
        return Finding(_AREA, Severity.PROBLEM, text, "make room, or prune old sessions")
    if free < _LITTLE_BYTES:
        return Finding(_AREA, Severity.WARN, text, "midfold sessions prune --older-than 30d makes room")
    return fine(_AREA, text)


def _name(paths: Sequence[Path]) -> str:
    names = ", ".join(printable(path.name, 40) for path in paths[:_MOST_NAMED])
    return names if len(paths) <= _MOST_NAMED else f"{names} and {len(paths) - _MOST_NAMED:,} more"
