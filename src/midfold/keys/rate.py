"""How often and how many at once: a bucket for each key, in the memory of this gateway."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from midfold.keys.virtual_key import VirtualKey
from midfold.late_dataclasses import dataclass

_MINUTE = 60.0


@dataclass(slots=True)
class _Bucket:
    left: float
    at: float
    open: int = 0


class KeyGate:
    """Counts the requests of each key; used in one event loop."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._buckets: dict[str, _Bucket] = {}

    def wait_seconds(self, key: VirtualKey) -> float:
        """Take one request of a key, and return 0; or how long it has to wait, and take none."""
        bucket = self._fill(key)
        if key.parallel is not None and bucket.open >= key.parallel:
            return 1.0
        if key.per_minute is None:
            return 0.0
        if bucket.left < 1.0:
            return (1.0 - bucket.left) * _MINUTE / key.per_minute
        bucket.left -= 1.0
        return 0.0

    @contextmanager
    def count_open(self, key: VirtualKey | None) -> Iterator[None]:
        """Count a request as open for as long as the block runs."""
        if key is None:
            yield
            return
        bucket = self._fill(key)
        bucket.open += 1
        try:
            yield
        finally:
            bucket.open -= 1

    def _fill(self, key: VirtualKey) -> _Bucket:
        now, most = self._clock(), float(key.per_minute or 1)
        bucket = self._buckets.setdefault(key.id, _Bucket(most, now))
        bucket.left = min(most, bucket.left + (now - bucket.at) * most / _MINUTE)
        bucket.at = now
        return bucket
