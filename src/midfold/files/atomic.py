"""Atomic writes: a file has its new content whole, also after a power cut, or keeps the old one."""

import errno
import os
import secrets
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

from midfold.files.store_files import refuse_store_file

_OWNER_ONLY = 0o600
_AS_UMASK_SAYS = 0o666
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL
_FLAGS = _NEW | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


def write_atomically(
    name: str,
    parts: Iterable[bytes],
    *,
    temporary: str,
    folder: int | None = None,
    mode: int | None = _OWNER_ONLY,
    syncs_folder: bool = False,
    checkpoint: Callable[[str], None] = lambda _step: None,
) -> None:
    """Write `parts` to a new file `temporary`, and rename it to `name` once it is on the disk.

    Both are relative to the open `folder` if one is given; a link under `name` is replaced, not followed. The
    file gets `mode`, whatever the umask is; `None` leaves that to the umask. The name itself is durable with
    `syncs_folder`. `checkpoint` is called with each step, before and after it: tests make steps fail there.
    """
    try:
        checkpoint("write.before")
        handle = os.open(temporary, _FLAGS, _AS_UMASK_SAYS if mode is None else _OWNER_ONLY, dir_fd=folder)
        try:
            for part in parts:
                rest = memoryview(part)
                while rest:
                    rest = rest[os.write(handle, rest) :]
            if mode is not None:
                os.chmod(handle if os.chmod in os.supports_fd else temporary, mode)  # noqa: PTH101 - an open file
            checkpoint("write.after")
            checkpoint("fsync.before")
            os.fsync(handle)
            checkpoint("fsync.after")
        finally:
            os.close(handle)
        checkpoint("rename.before")
        os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
        checkpoint("rename.after")
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary, dir_fd=folder)
        raise
    if syncs_folder and folder is not None:
        checkpoint("dir_fsync.before")
        os.fsync(folder)
        checkpoint("dir_fsync.after")


def replace_file(path: Path, data: bytes) -> None:
    """Write `data` durably and in one step; a new file is its owner's alone, an old one keeps its mode.

    A link is followed. What is no file, such as a device or a pipe, is written to and never replaced. Raises
    `OSError`, and so for a file that is read-only, or of a store that is open in this process.
    """
    path = path.resolve()
    refuse_store_file(path)
    refuse_read_only(path)
    if path.exists() and not path.is_file():
        path.write_bytes(data)
        return
    mode = _OWNER_ONLY
    with suppress(FileNotFoundError):
        mode = path.stat().st_mode & 0o777
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        write_atomically(str(path), [data], temporary=str(temporary), mode=mode)
    except OSError as error:
        if error.filename == str(temporary):
            error.filename = str(path)  # nobody knows the other name
        raise


def refuse_read_only(path: Path) -> None:
    """Raise `PermissionError` for a file that nobody may write to.

    Its name could be given to another file all the same, but its owner meant it to stay.
    """
    if path.is_file() and not path.stat().st_mode & 0o222:
        raise PermissionError(errno.EACCES, "it is read-only", str(path))
