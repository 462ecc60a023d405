"""How time grows: by ratios of CPU time, tried more than once, so that a busy machine changes nothing."""

import gc
import time
from collections.abc import Callable

LONG_SECONDS = 30.0
"""What ends by itself within this time has not waited for something that never comes."""
_TIMES = 8
# Eight times the size takes eight times as long, or sixty-four times where time grows with the square.
_MOST_GROWTH = 24
_TOO_SHORT_TO_TELL = 0.05
_TRIES = 5


def cpu_seconds(work: Callable[[], object]) -> float:
    """Return the CPU time that some work takes; what collecting garbage takes depends on all other tests."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        start = time.process_time()
        work()
        return time.process_time() - start
    finally:
        if was_enabled:
            gc.enable()


def is_linear(work: Callable[[int], object], size: int) -> bool:
    """Whether work of `size` takes about eight times as long as of an eighth of it, in one of some tries."""
    return any(
        cpu_seconds(lambda: work(size))
        <= _TOO_SHORT_TO_TELL + _MOST_GROWTH * cpu_seconds(lambda: work(size // _TIMES))
        for _ in range(_TRIES)
    )
