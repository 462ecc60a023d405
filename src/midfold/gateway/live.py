"""Live events: facts about requests and changes, never their text."""

import asyncio
import itertools
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Mapping

from midfold.late_dataclasses import dataclass

_KEPT = 100
_MOST_WAITING = 256
_MOST_WATCHERS = 64


@dataclass(frozen=True, slots=True)
class LiveEvent:
    """Something that happened. Numbers only ever rise while a gateway runs."""

    number: int
    kind: str
    at: float
    facts: Mapping[str, object]


class LiveFeed:
    """Hands events to everybody who watches; one who is slow misses some, and nobody waits."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)
        self._kept: deque[LiveEvent] = deque(maxlen=_KEPT)
        self._watchers: dict[asyncio.Queue[LiveEvent], asyncio.AbstractEventLoop] = {}

    @property
    def watchers(self) -> int:
        return len(self._watchers)

    @property
    def is_full(self) -> bool:
        """Whether nobody else may watch."""
        return len(self._watchers) >= _MOST_WATCHERS

    def publish(self, kind: str, facts: Mapping[str, object]) -> None:
        """Tell what happened, from any thread."""
        with self._lock:
            event = LiveEvent(next(self._numbers), kind, time.time(), dict(facts))
            self._kept.append(event)
            for queue, loop in self._watchers.items():
                if not loop.is_closed():
                    loop.call_soon_threadsafe(_put, queue, event)

    async def watch(self, after: int = 0) -> AsyncIterator[LiveEvent]:
        """Yield events after a number: those that are still known, then each as it happens."""
        queue: asyncio.Queue[LiveEvent] = asyncio.Queue(_MOST_WAITING)
        with self._lock:
            known = [event for event in self._kept if event.number > after]
            self._watchers[queue] = asyncio.get_running_loop()
        try:
            for event in known:
                yield event
            while True:
                yield await queue.get()
        finally:
            with self._lock:
                del self._watchers[queue]


def _put(queue: "asyncio.Queue[LiveEvent]", event: LiveEvent) -> None:
    if queue.full():
        queue.get_nowait()
    queue.put_nowait(event)
