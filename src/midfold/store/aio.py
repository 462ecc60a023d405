"""A store for callers in an event loop: the same verbs, each run in a thread, so that the loop never waits.

`store.append(...)` becomes `await call(store.append, ...)`; there is no second family of classes to learn.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

_MAX_THREADS = 8


class StoreThreads:
    """Runs blocking verbs of a store for the callers of one event loop.

    A call that is given up goes on to its end in its thread: what was handed to a store is written whole or
    not at all, whatever becomes of the caller.
    """

    def __init__(self, max_threads: int = _MAX_THREADS) -> None:
        self._threads = ThreadPoolExecutor(max_threads, thread_name_prefix="midfold-store")

    async def call(self, verb: Callable[P, T], /, *arguments: P.args, **options: P.kwargs) -> T:
        """Run `verb` in a thread and return what it returns."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, partial(verb, *arguments, **options))

    async def close(self, last: Callable[[], object] | None = None) -> None:
        """Wait for calls under way, then run `last`, such as the store's own `close`."""
        try:
            if last is not None:
                await self.call(last)
        finally:
            self._threads.shutdown(wait=False)
