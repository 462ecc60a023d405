"""Writes a file so that it is there whole, also after a power cut, or not at all."""

import os
import secrets
from collections.abc import Sequence
from contextlib import suppress

from midfold.faults import faultpoint

TEMPORARY = ".tmp-"
"""What the names of files begin with that are still being written."""
_OWNER_ONLY = 0o600
_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)


def write_file(directory: int, name: str, parts: Sequence[bytes]) -> None:
    """Put a file with these parts, one behind the other, under `name`, for its owner alone.

    It replaces whatever is there; a link under that name is not followed.
    """
    temporary = f"{TEMPORARY}{secrets.token_hex(8)}"
    try:
        _write_temporary(directory, temporary, parts)
        faultpoint("sink.rename.before")
        os.replace(temporary, name, src_dir_fd=directory, dst_dir_fd=directory)
        faultpoint("sink.rename.after")
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary, dir_fd=directory)
        raise
    faultpoint("sink.dir_fsync.before")
    os.fsync(directory)
    faultpoint("sink.dir_fsync.after")


def _write_temporary(directory: int, name: str, parts: Sequence[bytes]) -> None:
    faultpoint("sink.write.before")
    descriptor = os.open(name, _FLAGS, _OWNER_ONLY, dir_fd=directory)
    try:
        os.fchmod(descriptor, _OWNER_ONLY)  # a umask can take away even what the owner needs
        for part in parts:
            _write_part(descriptor, part)
        faultpoint("sink.write.after")
        faultpoint("sink.fsync.before")
        os.fsync(descriptor)
        faultpoint("sink.fsync.after")
    finally:
        os.close(descriptor)


def _write_part(descriptor: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]
