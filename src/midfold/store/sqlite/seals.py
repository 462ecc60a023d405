"""The sums that messages and folds are stored with, so that damage is noticed when they are read."""

import re
from collections.abc import Sequence
from zlib import crc32

SEALED = "m.session, m.seq, m.origin, m.role, m.tools, m.dialect, m.body, m.seal"
"""The columns that the checksum of a message covers, and the checksum."""
SEALED_COLUMNS = SEALED.count(",") + 1
LOST_SEAL = -1
"""The sum of a row that a rescue put in the place of a damaged one: no sum is negative, so it never fits."""


_SUM = re.compile(r',"sum":([0-9]+)}\Z')


def sum_of(*columns: object) -> int:
    """Return what tells a damaged message from a sound one; a disk is no adversary."""
    return crc32("\n".join(map(str, columns)).encode("utf-8", "replace"))


def is_sealed(row: Sequence[object]) -> bool:
    """Whether the `SEALED` columns of a message are what was written; a row without a sum is believed."""
    return row[-1] is None or row[-1] == sum_of(*row[:-1])


def seal_fold(body: str, facts: str) -> str:
    """Return the JSON of a fold with the sum of it and of its facts as its last field."""
    return f'{body[:-1]},"sum":{sum_of(body, facts)}}}' if body.endswith("}") else body


def is_fold_sealed(body: str, facts: str) -> bool:
    """Whether a fold is what was written; one without a sum is believed."""
    found = _SUM.search(body)
    return found is None or int(found[1]) == sum_of(f"{body[: found.start()]}}}", facts)
