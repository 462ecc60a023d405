"""Writing a file so that a failure leaves the old one."""

import os
import tempfile
from contextlib import suppress
from pathlib import Path

from midfold.files.held import refuse_store_file


def replace_file(path: Path, data: bytes) -> None:
    """Write `data` durably and in one step; a new file is its owner's alone, an old one keeps its mode.

    A link is followed. What is no file, such as a device or a pipe, is written to and never replaced. Raises
    `OSError`, and so for a file of a store that is open in this process.
    """
    path = path.resolve()
    refuse_store_file(path)
    if path.exists() and not path.is_file():
        path.write_bytes(data)
        return
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileNotFoundError):
            Path(temporary).chmod(path.stat().st_mode & 0o777)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
