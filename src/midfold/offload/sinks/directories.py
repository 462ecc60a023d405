"""Directories that are their owner's alone, entered one by one so that nobody can lead us elsewhere.

Each is opened relative to the one before it and never through a link. What another user could have put there,
or could exchange, is refused.
"""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from midfold.files import refuse_foreign_folder

_PRIVATE = 0o700
_HERE = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0)
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)


@contextmanager
def private_directory(root: Path, *names: str, create: bool = False) -> Iterator[int]:
    """Open `root/names…` for the block; with `create`, what is missing of it is made first.

    The root and all below it are made private, whatever the umask is. Raises `PermissionError` where a
    directory is another user's, or where others may write above the root.
    """
    if os.open not in os.supports_dir_fd:
        raise OSError(errno.ENOTSUP, "this system cannot open files relative to a directory")
    with _enter_parents(root, create=create) as parent:
        descriptors = [os.dup(parent)]
        try:
            for name in (root.name, *names):
                descriptors.append(_enter(descriptors[-1], name, create=create))
            yield descriptors[-1]
        finally:
            for descriptor in descriptors:
                os.close(descriptor)


@contextmanager
def _enter_parents(root: Path, *, create: bool) -> Iterator[int]:
    """Open the directory that holds the root; its own path may lead through links, as that of a home may."""
    parent = Path(os.path.realpath(root.parent))
    if create:
        _make_missing(parent)
    for directory in (parent, *parent.parents):
        refuse_foreign_folder(directory)
    descriptor = os.open(parent, _HERE)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _make_missing(directory: Path) -> None:
    if not directory.exists():
        _make_missing(directory.parent)
        directory.mkdir(_PRIVATE, exist_ok=True)


def _enter(parent: int, name: str, *, create: bool) -> int:
    if create:
        _make(parent, name)
    descriptor = os.open(name, _HERE | _NO_LINK, dir_fd=parent)
    try:
        status = os.fstat(descriptor)
        if status.st_uid != os.geteuid():
            raise PermissionError(errno.EPERM, "the directory belongs to another user", name)
        if stat.S_IMODE(status.st_mode) != _PRIVATE:
            os.fchmod(descriptor, _PRIVATE)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _make(parent: int, name: str) -> None:
    try:
        os.mkdir(name, _PRIVATE, dir_fd=parent)
    except FileExistsError:
        return
    os.fsync(parent)
