"""Folders in which others can exchange what lies below, and links that others made."""

import errno
import os
import stat
from pathlib import Path


def refuse_foreign_folder(folder: Path) -> None:
    """Raise `PermissionError` for a folder in which others may exchange what lies below it."""
    status = os.lstat(folder)
    if not _is_trusted(status):
        raise PermissionError(errno.EPERM, "a directory above belongs to another user", str(folder))
    if status.st_mode & stat.S_IWOTH and not status.st_mode & stat.S_ISVTX:
        raise PermissionError(errno.EPERM, "everybody may write to a directory above", str(folder))


def refuse_planted(path: Path) -> None:
    """Raise `PermissionError` where others decide what is found under `path`.

    No link on the way may be another user's, nor may a folder that it leads through.
    """
    if os.name != "posix":
        return
    for link in _links(path):
        if not _is_trusted(os.lstat(link)):
            raise PermissionError(errno.EPERM, "a link that somebody else made", str(link))
    real = Path(os.path.realpath(path))
    for folder in real.parents:
        if folder.exists():
            refuse_foreign_folder(folder)
    if real.exists() and not _is_trusted(os.lstat(real)):
        raise PermissionError(errno.EPERM, "it belongs to another user", str(real))


def _links(path: Path) -> set[Path]:
    """Return every link that a path leads through, those that a link leads to as well."""
    found: set[Path] = set()
    waiting = [path]
    while waiting:
        path = _absolute(waiting.pop())
        links = {part for part in (path, *path.parents) if part.is_symlink()} - found
        found |= links
        waiting += [link.parent / link.readlink() for link in links]
    return found


def _absolute(path: Path) -> Path:
    return Path(os.path.abspath(path))  # noqa: PTH100 - links are not followed


def _is_trusted(status: os.stat_result) -> bool:
    return status.st_uid in (0, os.geteuid())
