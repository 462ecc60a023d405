"""Moves a damaged store away and a rescued one in its place. Nothing of the damaged one is ever deleted."""

import glob
import os
from pathlib import Path

from midfold.store.sqlite.replacement import DAMAGED, SIDE_FILES, all_parts, finish_replacing, ready_path
from midfold.store.sqlite.rescue.salvage import salvage
from midfold.store.values import Replaced

_RESCUED = "rescued"


def parts_of(path: Path) -> list[Path]:
    """Return the file of a store and those that SQLite keeps beside it, as far as they exist."""
    return [part for part in all_parts(path) if part.exists()]


def find_kept(path: Path) -> list[Path]:
    """Return the damaged files that were kept of the store at `path`."""
    kept = path.parent.glob(f"{glob.escape(path.name)}.{DAMAGED}-*")
    return sorted(each for each in kept if not each.name.endswith(SIDE_FILES))


def replace_damaged(path: Path) -> Replaced:
    """Save what can be read of a damaged store into a new one that takes its place; nobody may use it.

    The old file is only copied, and then moved away with the files that belong to it.
    """
    path = Path(os.path.realpath(path))
    fresh = path.with_name(f".{path.name}.{_RESCUED}")
    _remove(fresh)
    salvaged = salvage(path, fresh)
    for part in all_parts(fresh)[1:]:  # what is beside it by now says nothing of the file in its place
        part.unlink(missing_ok=True)
    fresh.rename(ready_path(path))
    kept_as = finish_replacing(path)
    return Replaced(kept_as or path, salvaged)


def _remove(path: Path) -> None:
    """Remove what an earlier rescue left half done."""
    for part in all_parts(path):
        part.unlink(missing_ok=True)
