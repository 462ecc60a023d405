"""Timing in CPU seconds, best of several runs: machines are noisy, and the best is the least disturbed."""

import gc
import time
from collections.abc import Callable


def best_cpu(work: Callable[[], object], runs: int = 7) -> float:
    """Return the CPU seconds of the fastest of `runs` runs."""
    gc.collect()
    gc.freeze()  # what the benchmark set up is not the work's to collect
    best = float("inf")
    for _ in range(runs):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    gc.unfreeze()
    return best


def report(name: str, figure: str, goal: str) -> None:
    """Print one line of the table."""
    print(f"{name:<58} {figure:>16}   goal {goal}")
