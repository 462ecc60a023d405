"""Opening files to read them, unless they are the store's; see `store_files`."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from midfold.files.store_files import BelongsToStore, all_holds, close_or_keep, identify, is_held

_READ = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)


@contextmanager
def open_to_read(path: str | Path, *, folder: int | None = None, flags: int = 0) -> Iterator[int]:
    """Open a file for the block, relative to an open folder if one is given; `flags` add to reading.

    Raises `BelongsToStore`, without opening it, for a file of a store that is open in this process.
    """
    holds, facts = all_holds(), os.stat(path, dir_fd=folder, follow_symlinks=not flags & _NO_LINK)
    if is_held(facts):
        raise BelongsToStore(str(path))
    handle = os.open(path, _READ | flags, dir_fd=folder)
    try:
        found = os.fstat(handle)
        if identify(found) != identify(facts) and is_held(found):  # exchanged in between
            holds = ()
            raise BelongsToStore(str(path))
        yield handle
    finally:
        if holds is all_holds():
            os.close(handle)
        else:
            close_or_keep(handle)


def read_bytes(path: str | Path, most: int = -1) -> bytes:
    """Read a file, or its first bytes; raises `OSError`, and `BelongsToStore` as `open_to_read` does."""
    with open_to_read(path) as handle, os.fdopen(handle, "rb", closefd=False) as file:
        return file.read(most)
