"""The sums that messages and folds are stored with, so that damage is noticed when they are read."""

import re
from collections.abc import Sequence
from zlib import crc32

CHECKED = "m.session, m.seq, m.origin, m.role, m.tools, m.dialect, m.body, m.seal"
"""The columns that the checksum of a message covers, and the checksum."""
CHECKED_COLUMNS = CHECKED.count(",") + 1
LOST_CHECKSUM = -1
"""The sum of a row that a rescue put in the place of a damaged one: no sum is negative, so it never fits."""


_SUM = re.compile(r',"sum":([0-9]+)}\Z')


def checksum(*columns: object) -> int:
    """Return the checksum by which a damaged message is found; a disk is no adversary."""
    return crc32("\n".join(map(str, columns)).encode("utf-8", "replace"))


def is_intact(row: Sequence[object]) -> bool:
    """Whether the `CHECKED` columns of a message are what was written; a row without a sum is believed."""
    return row[-1] is None or row[-1] == checksum(*row[:-1])


def add_checksum(body: str, facts: str) -> str:
    """Return the JSON of a fold with the sum of it and of its facts as its last field."""
    return f'{body[:-1]},"sum":{checksum(body, facts)}}}' if body.endswith("}") else body


def is_fold_intact(body: str, facts: str) -> bool:
    """Whether a fold is what was written; one without a sum is believed."""
    found = _SUM.search(body)
    return found is None or int(found[1]) == checksum(f"{body[: found.start()]}}}", facts)
