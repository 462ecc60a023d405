"""Moves a damaged store away and a rescued one in its place; what one process began another one finishes.

A rescued store that is whole has a name of its own. As long as there is a file of that name, the parts of the
damaged store are moved, one after the other, and then it takes their place. A process that opens the store
meanwhile would see a file without its log, or none, and so finishes that first.
"""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

SIDE_FILES = ("-wal", "-shm", ".mark")
DAMAGED = "damaged"
_READY = "ready"


def ready_path(path: Path) -> Path:
    """Return what a rescued store is called once it is whole and about to take the place of `path`."""
    return path.with_name(f".{path.name}.{_READY}")


def all_parts(path: Path) -> list[Path]:
    """Return the names of a store's file and of those beside it."""
    return [path, *(path.with_name(path.name + suffix) for suffix in SIDE_FILES)]


def finish_replacing(path: Path) -> Path | None:
    """Put the rescued store in its place where that was begun; return where the damaged one is then."""
    path = Path(os.path.realpath(path))
    ready = ready_path(path)
    if not ready.exists():
        return None
    with _only_one(path.parent):
        try:
            made_at = ready.stat().st_mtime
        except FileNotFoundError:  # somebody else has just done it
            return None
        stamp = time.strftime("%Y%m%d-%H%M%S", time.localtime(made_at))
        kept_as = path.with_name(f"{path.name}.{DAMAGED}-{stamp}")
        # The log goes first: beside a file that is not its own, SQLite would throw it away.
        for old, new in reversed(list(zip(all_parts(path), all_parts(kept_as), strict=True))):
            if not new.exists():
                with suppress(FileNotFoundError):
                    old.rename(new)
        ready.rename(path)
    return kept_as


@contextmanager
def _only_one(folder: Path) -> Iterator[None]:
    """Let one process at a time do this, where the system can."""
    try:
        import fcntl  # Windows has none

        handle = os.open(folder, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
    except (ImportError, OSError):
        yield
        return
    try:
        with suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
