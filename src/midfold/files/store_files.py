"""Files that an open store holds: in this process SQLite alone may open them.

When a process closes any handle on a file, POSIX takes away all locks that it has on that file, whoever took
them. After that the next process to leave believes itself the last one and removes the log under the writer.
So whatever opens a file by its name asks here first. A file is known by device and inode: a link, a mount or
another form of its name leads to the same one.
"""

import errno
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

# What SQLite keeps beside a database while it is open, and the lock of the one process that may write.
_PARTS = ("", "-wal", "-shm", "-journal", ".writer", ".mark")

_Identity = tuple[int, int]


class BelongsToStore(PermissionError):
    """A file is part of a session store that this process has open, and was not opened."""

    def __init__(self, path: str) -> None:
        super().__init__(errno.EPERM, "belongs to midfold's own session store and is not opened", path)


class Hold:
    """Keeps the files of a store from being opened by anything else, from before SQLite opens them."""

    def __init__(self, path: Path) -> None:
        # SQLite keeps the log beside the file that a link leads to.
        self._path = Path(os.path.realpath(path))
        self._seen: set[_Identity] = set()
        self._is_settled = False
        _change_holds(lambda holds: (*holds, self))

    def release(self) -> None:
        """Let others open the files: SQLite has closed them."""
        _change_holds(lambda holds: tuple(hold for hold in holds if hold is not self))
        with _LOCK:
            handles, _KEPT[:] = list(_KEPT), []
        for handle in handles:
            close_or_keep(handle)

    def settle(self) -> None:
        """Note the files as they are: the connection that writes has them open, and none will be added."""
        self._seen = self._find_identities()
        self._is_settled = True

    def identities(self) -> set[_Identity]:
        """Return the identities of these files; before all are open, of those that exist by now."""
        if not self._is_settled:
            self._seen = self._seen | self._find_identities()
        return self._seen

    def _find_identities(self) -> set[_Identity]:
        found = set()
        for suffix in _PARTS:
            with suppress(OSError):
                found.add(identify(Path(f"{self._path}{suffix}").stat()))
        return found

    def names(self, folder: os.stat_result, name: str) -> bool:
        """Whether a file of this name in a folder would be one of the store's."""
        wanted = {f"{self._path.name}{suffix}".casefold() for suffix in _PARTS}
        if name.casefold() not in wanted:
            return False
        try:
            return identify(self._path.parent.stat()) == identify(folder)
        except OSError:
            return False


_LOCK = threading.Lock()
_KEPT: list[int] = []
_holds: tuple[Hold, ...] = ()


def all_holds() -> tuple[Hold, ...]:
    """Return the held files; the very same object as long as nothing changes."""
    return _holds


def identify(facts: os.stat_result) -> _Identity:
    """Return device and inode, which identify a file."""
    return facts.st_dev, facts.st_ino


def is_held(facts: os.stat_result) -> bool:
    """Whether this is a file of a store that is open in this process."""
    return bool(_holds) and identify(facts) in held_files()


def held_files() -> set[_Identity]:
    """Return device and inode of every file of a store that is open in this process."""
    return {found for hold in _holds for found in hold.identities()}


def is_store_name(folder: os.stat_result, name: str) -> bool:
    """Whether SQLite would take a file of this name in a folder for part of a store that is open."""
    return any(hold.names(folder, name) for hold in _holds)


def refuse_store_file(path: str | Path) -> None:
    """Raise `BelongsToStore` for a file of an open store, or a name that would become one."""
    if not _holds:
        return
    real = Path(os.path.realpath(path))
    with suppress(FileNotFoundError, NotADirectoryError):
        if is_held(real.stat()):
            raise BelongsToStore(str(path))
    with suppress(FileNotFoundError, NotADirectoryError):
        if is_store_name(real.parent.stat(), real.name):
            raise BelongsToStore(str(path))


def close_or_keep(handle: int) -> None:
    """Close a handle, unless it is on a file of an open store: then it is kept until the store is closed.

    A file can be exchanged between the look at it and its opening. Opening does no harm, closing does.
    """
    if _holds and is_held(os.fstat(handle)):
        with _LOCK:
            _KEPT.append(handle)
    else:
        os.close(handle)


def _change_holds(change: Callable[[tuple[Hold, ...]], tuple[Hold, ...]]) -> None:
    global _holds  # locks are the process's, and so is this
    with _LOCK:
        _holds = change(_holds)
