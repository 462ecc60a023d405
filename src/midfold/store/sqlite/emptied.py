"""A file that lost all it held, as after a power cut or a copy that was cut off.

SQLite takes an empty file for a new database and throws the log beside it away, which may be the only copy of
what was said.
"""

import os
from contextlib import suppress
from pathlib import Path

from midfold.errors import StoreCorrupt
from midfold.store.sqlite.marks import SUFFIX, was_used

# SQLite takes a file of one byte for an empty one, too.
EMPTY_BYTES = 1
_REASON = "the file is empty, although something was stored in it"


def refuse_emptied(path: Path) -> None:
    """Raise `StoreCorrupt` for an empty file whose log or mark says that it was in use; nothing is opened.

    A file that is missing was taken away by somebody, who wants a new one; the mark of the old one goes, too,
    so that nobody takes the new one for emptied before anything is in it.
    """
    real = Path(os.path.realpath(path))
    if not real.exists():
        with suppress(OSError):
            real.with_name(real.name + SUFFIX).unlink()
        return
    # In this order: whoever makes a store this moment writes to the file first, then to what is beside it.
    is_used = _size(Path(f"{real}-wal")) > 0 or was_used(real)
    if is_used and _size(real) <= EMPTY_BYTES:
        raise StoreCorrupt(str(path), _REASON)


def _size(path: Path) -> int:
    with suppress(OSError):
        return path.stat().st_size
    return 0
