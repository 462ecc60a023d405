"""The one loop that repeats calls.

It decides by three facts: whether the failure can pass by itself, how long the provider asks to wait, and how
many calls there were. Nothing below or above it repeats anything.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import TypeVar

from midfold.errors import ProviderError
from midfold.late_dataclasses import dataclass

_T = TypeVar("_T")


class CallFailed(Exception):
    """One call failed; `error` is what the caller gets where no further call helps."""

    def __init__(self, error: ProviderError, *, may_pass: bool) -> None:
        super().__init__(str(error))
        self.error = error
        self.may_pass = may_pass


@dataclass(frozen=True, slots=True)
class Retries:
    """The number and the times of repeated calls. The clock and the dice are arguments, for tests."""

    max_calls: int = 4
    first_wait_seconds: float = 0.5
    """Doubled before each further call, unless the provider says how long to wait."""
    longest_wait_seconds: float = 60.0
    """A provider that asks for a longer wait makes the call fail at once, with the figure in the error."""
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep
    uniform: Callable[[float, float], float] = random.uniform

    async def run(self, call: Callable[[], Awaitable[_T]]) -> _T:
        """Await `call()` until it succeeds; raise the `ProviderError` of the last failure."""
        calls = 0
        while True:
            calls += 1
            try:
                return await call()
            except CallFailed as failed:
                wait_seconds, error = self._wait_after(calls, failed), failed.error
            if wait_seconds is None:
                raise error  # out here, as what led to it may quote the key
            await self.sleep(wait_seconds)

    def _wait_after(self, calls: int, failed: CallFailed) -> float | None:
        """Return how long to wait before the next call, `None` where there should be none."""
        if not failed.may_pass or calls >= self.max_calls:
            return None
        asked = failed.error.retry_after
        if asked is None:
            backoff = self.first_wait_seconds * 2.0 ** (calls - 1)
            return min(backoff, self.longest_wait_seconds) * self.uniform(0.5, 1.0)
        # Never earlier than asked, and not all callers in the same instant.
        return asked * self.uniform(1.0, 1.1) if asked <= self.longest_wait_seconds else None


DEFAULT_RETRIES = Retries()
