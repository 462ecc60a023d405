"""The sum that every message is stored with, so that damage is noticed when it is read."""

from collections.abc import Sequence
from zlib import crc32

SEALED = "m.session, m.seq, m.origin, m.role, m.tools, m.dialect, m.body, m.seal"
"""What the sum of a message covers, and the sum."""
SEALED_COLUMNS = SEALED.count(",") + 1
LOST_SEAL = -1
"""The sum of a row that a rescue put in the place of a damaged one: no sum is negative, so it never fits."""


def sum_of(*columns: object) -> int:
    """Return what tells a damaged message from a sound one; a disk is no adversary."""
    return crc32("\n".join(map(str, columns)).encode("utf-8", "replace"))


def is_sealed(row: Sequence[object]) -> bool:
    """Whether the `SEALED` columns of a message are what was written; a row without a sum is believed."""
    return row[-1] is None or row[-1] == sum_of(*row[:-1])
