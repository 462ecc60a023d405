"""Files below a folder, opened so that nothing leads out of it, whatever changes meanwhile.

A path that was judged may lead elsewhere a moment later, when a folder is swapped for a link. So every folder
on the way is opened relative to the one before it, and none of them may be a link.
"""

import os
import secrets
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from midfold.files import BelongsToStore, is_held, is_store_name, write_atomically

# A folder that may be passed through need not be one that may be listed.
_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
"""Flags to open a file with: a link is refused, and a pipe does not block."""


@contextmanager
def open_folder(base: str, names: Sequence[str], *, make: bool = False) -> Iterator[int]:
    """Open the folder that `names` lead to from `base`, step by step; `make` those that are missing."""
    folder = os.open(base, _FOLDER)
    try:
        for name in names:
            if make:
                with suppress(FileExistsError):
                    os.mkdir(name, dir_fd=folder)
            below = os.open(name, _FOLDER, dir_fd=folder)
            os.close(folder)
            folder = below
        yield folder
    finally:
        os.close(folder)


def replace_in(folder: int, name: str, data: bytes) -> bool:
    """Write a file of a folder durably and in one step; true where there was one, whose mode is kept.

    Raises `OSError`, and so for whatever is there and no file, or a file that nobody may write; that is
    `BelongsToStore` for a file of an open store, or a name that SQLite would take for one.
    """
    mode = check_replaceable(folder, name)
    temporary = f".midfold-{secrets.token_hex(8)}"
    write_atomically(name, [data], temporary=temporary, folder=folder, mode=mode)
    return mode is not None


def remove_in(folder: int, name: str) -> None:
    """Remove a file of a folder; raises `OSError` as `replace_in` does, and where there is none."""
    check_replaceable(folder, name)
    os.unlink(name, dir_fd=folder)


def check_replaceable(folder: int, name: str) -> int | None:
    """Return the mode of a file that may be replaced, `None` where there is none; raises as `replace_in`."""
    if is_store_name(os.fstat(folder), name):
        raise BelongsToStore(name)
    try:
        facts = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
    if is_held(facts):
        raise BelongsToStore(name)
    if not stat.S_ISREG(facts.st_mode):
        raise IsADirectoryError(0, "is not a file", name)
    if not facts.st_mode & 0o222:  # a name can be replaced all the same, but its owner meant it to stay
        raise PermissionError(0, "is read-only", name)
    return stat.S_IMODE(facts.st_mode)
