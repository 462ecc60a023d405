"""Files that several gateways and commands change: one at a time, each change whole."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from midfold.files import read_bytes, replace_file


@contextmanager
def hold_file(path: Path) -> Iterator[None]:
    """Keep other processes from changing a file meanwhile, where the system can; raises `OSError`."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)
    handle = os.open(path.with_name(f"{path.name}.lock"), flags, 0o600)
    try:
        try:
            import fcntl  # Windows has none
        except ImportError:
            pass
        else:
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def load_object(path: Path) -> dict[str, object]:
    """Read a JSON object; empty where there is no file. Raises `OSError` and `ValueError`."""
    try:
        value = json.loads(read_bytes(path))
    except FileNotFoundError:
        return {}
    if not isinstance(value, dict):
        raise ValueError(f"{path.name} holds no object")  # noqa: TRY004 - one kind of error for a damaged file
    return value


def save_object(path: Path, value: dict[str, object]) -> None:
    """Write a JSON object whole, readable by its owner alone; raises `OSError`."""
    replace_file(path, json.dumps(value, indent=1).encode())
