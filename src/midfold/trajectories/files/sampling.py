"""Which rows of a large set are taken, decided for each from the seed, its file and its number alone.

So the choice is the same whoever asks and in whatever order, and nothing has to be remembered for it.
"""

import heapq
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b

from midfold.errors import ConfigError

_HASH_BYTES = 8
_ALL = 1 << (8 * _HASH_BYTES)
_HINT = "a part such as 10% or 0.1, or a number of rows such as 500"


@dataclass(frozen=True, slots=True)
class Share:
    """Rows to take: a part of them all, or this many."""

    part: float | None = None
    rows: int | None = None


@dataclass(frozen=True, slots=True)
class Sampler:
    """Takes the rows whose number, shuffled by the seed, is below a bound."""

    seed: int = 0
    below: int = _ALL

    def pick(self, name: str, numbers: Sequence[int]) -> list[int]:
        """Return the numbers, of these rows of the file called `name`, that are in the sample."""
        if self.below == _ALL:
            return list(numbers)
        key = _key(self.seed, name)
        return [number for number in numbers if _shuffled(key, number) < self.below]


EVERYTHING = Sampler()


def read_share(text: str) -> Share:
    """Read `10%`, `0.1` or `500`; `ConfigError` for anything else."""
    try:
        if text.endswith("%"):
            return _as_part(float(text[:-1]) / 100, text)
        if "." in text:
            return _as_part(float(text), text)
        rows = int(text)
    except ValueError:
        raise ConfigError("--sample", text, hint=_HINT) from None
    if rows < 1:
        raise ConfigError("--sample", text, hint=_HINT)
    return Share(rows=rows)


def sample_part(part: float, seed: int) -> Sampler:
    """Return what takes about this part of the rows."""
    return Sampler(seed, int(part * _ALL))


def sample_rows(rows: int, seed: int, counts: Mapping[str, int]) -> Sampler:
    """Return what takes exactly this many rows; `counts` says how many each file has, by its name."""
    lowest = heapq.nsmallest(rows + 1, _shuffle_all(seed, counts))
    return Sampler(seed, lowest[rows] if len(lowest) > rows else _ALL)


def _as_part(part: float, text: str) -> Share:
    if not 0 < part <= 1:
        raise ConfigError("--sample", text, hint=_HINT)
    return Share(part=part)


def _shuffle_all(seed: int, counts: Mapping[str, int]) -> Iterator[int]:
    for name, rows in counts.items():
        key = _key(seed, name)
        for number in range(1, rows + 1):
            yield _shuffled(key, number)


def _key(seed: int, name: str) -> bytes:
    return blake2b(f"{seed}\n{name}".encode("utf-8", "surrogateescape"), digest_size=16).digest()


def _shuffled(key: bytes, number: int) -> int:
    hashed = blake2b(number.to_bytes(8), key=key, digest_size=_HASH_BYTES).digest()
    return int.from_bytes(hashed)
