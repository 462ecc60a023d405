"""Puts a damaged store aside and a rescued one in its place. Nothing of the damaged one is ever deleted."""

import glob
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from midfold.store.rescue.salvage import Salvaged, salvage

_SIDE_FILES = ("-wal", "-shm", ".mark")
_RESCUED = "rescued"
_DAMAGED = "damaged"


@dataclass(frozen=True, slots=True)
class Replaced:
    """Where the damaged file is, and what could be saved from it."""

    kept_as: Path
    salvaged: Salvaged


def parts_of(path: Path) -> list[Path]:
    """Return the file of a store and those that SQLite keeps beside it, as far as they exist."""
    return [part for part in _all_parts(path) if part.exists()]


def find_kept(path: Path) -> list[Path]:
    """Return the damaged files that were put aside for the store at `path`."""
    kept = path.parent.glob(f"{glob.escape(path.name)}.{_DAMAGED}-*")
    return sorted(each for each in kept if not each.name.endswith(_SIDE_FILES))


def replace_damaged(path: Path) -> Replaced:
    """Save what can be read of a damaged store into a new one that takes its place; nobody may use it.

    The old file is only copied, and then moved aside with the files that belong to it.
    """
    fresh = path.with_name(f".{path.name}.{_RESCUED}")
    _remove(fresh)
    salvaged = salvage(path, fresh)
    kept_as = path.with_name(f"{path.name}.{_DAMAGED}-{time.strftime('%Y%m%d-%H%M%S')}")
    # The log goes first: beside a file that is not its own, SQLite would throw it away.
    for old, new in reversed(list(zip(_all_parts(path), _all_parts(kept_as), strict=True))):
        with suppress(FileNotFoundError):
            old.rename(new)
    fresh.rename(path)
    _remove(fresh)  # what is beside it by now says nothing of the file in its place
    return Replaced(kept_as, salvaged)


def _all_parts(path: Path) -> list[Path]:
    return [path, *(path.with_name(path.name + suffix) for suffix in _SIDE_FILES)]


def _remove(path: Path) -> None:
    """Remove what an earlier rescue left half done."""
    for part in _all_parts(path):
        part.unlink(missing_ok=True)
