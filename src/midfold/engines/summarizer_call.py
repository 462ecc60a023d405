"""Calls of a summariser, and the end of waiting for one that takes too long.

Anything callable may summarise, and a callable cannot be stopped. So it is asked in a daemon thread: past its
deadline nobody waits for it, neither the turn, nor an event loop, nor the end of the program.
"""

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from threading import Lock
from typing import Protocol, TypeAlias, TypeVar, runtime_checkable

from midfold.concurrency import start_on_loop, start_thread
from midfold.errors import SummaryUnavailable
from midfold.folding import SummaryRequest
from midfold.late_dataclasses import dataclass

_T = TypeVar("_T")
MOST_HANGING = 3
"""Threads that never answer cannot be stopped, only counted: with so many of them nobody is asked."""
_GRACE = 1.01
"""A summariser with the same deadline has a better word for what went wrong, and may say it."""

Answer: TypeAlias = str | Awaitable[str]
Ask: TypeAlias = Callable[[SummaryRequest], str]
AskAsync: TypeAlias = Callable[[SummaryRequest], Awaitable[str]]


@dataclass(frozen=True, slots=True)
class Patience:
    """The time that a summariser may take."""

    answer_seconds: float = 60.0
    fold_seconds: float = 180.0
    """for all answers together, where the middle is shown in pieces; then the digest is due"""


@runtime_checkable
class DeadlineSummarizer(Protocol):
    """A summariser that gives up by itself, and lets go of its model when its caller is interrupted."""

    @property
    def deadline_seconds(self) -> float: ...

    def __call__(self, request: SummaryRequest, /) -> Answer: ...


Summarizer: TypeAlias = Callable[[SummaryRequest], Answer] | DeadlineSummarizer


class SummarizerCaller:
    """Calls the summariser of an engine; threads may share it."""

    def __init__(
        self, patience: Patience | None = None, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.patience = patience or Patience()
        self._clock = clock
        self._lock = Lock()
        self._hanging = 0

    def for_fold(self, summarize: Summarizer, loop: asyncio.AbstractEventLoop | None = None) -> Ask:
        """Return a summariser for the requests of one fold, whose time begins now.

        An answer that has to be awaited is awaited on `loop`, which is not the caller's own; without a loop
        there is none.
        """
        until = self._clock() + self.patience.fold_seconds

        def ask(request: SummaryRequest) -> str:
            seconds = self._seconds_left(until)
            if isinstance(summarize, DeadlineSummarizer):
                answer = summarize(request)
            else:
                answer = self._wait(self._start(summarize, request), seconds, until)
            if isinstance(answer, Awaitable):
                return self._wait(_await_on(loop, answer), seconds, until)
            return answer

        return ask

    def for_fold_async(self, summarize: Summarizer) -> AskAsync:
        """Do the same for callers on an event loop, which never waits."""
        until = self._clock() + self.patience.fold_seconds

        async def ask(request: SummaryRequest) -> str:
            try:
                async with asyncio.timeout(self._seconds_left(until)) as limit:
                    answer = await asyncio.wrap_future(self._start(summarize, request))
                    return await answer if isinstance(answer, Awaitable) else answer
            except TimeoutError:
                if limit.expired():
                    raise self._timeout_error(until) from None
                raise

        return ask

    def _seconds_left(self, until: float) -> float:
        """Return the seconds that the next answer may take; raises where the fold used up its time."""
        left = until - self._clock()
        if left <= 0:
            raise self._timeout_error(until)
        return min(self.patience.answer_seconds, left) * _GRACE

    def _timeout_error(self, until: float) -> SummaryUnavailable:
        if self._clock() >= until:
            return SummaryUnavailable(f"not all was read within {self.patience.fold_seconds:g} s")
        return SummaryUnavailable(f"no answer within {self.patience.answer_seconds:g} s")

    def _wait(self, future: Future[_T], seconds: float, until: float) -> _T:
        try:
            return future.result(seconds)
        except TimeoutError:
            if future.done():  # the summariser's own
                raise
            future.cancel()
            raise self._timeout_error(until) from None

    def _start(self, summarize: Summarizer, request: SummaryRequest) -> Future[Answer]:
        """Ask in a thread, unless too many were asked that never answered."""
        with self._lock:
            if self._hanging >= MOST_HANGING:
                raise SummaryUnavailable(f"it still owes {self._hanging} answers")
            self._hanging += 1
        return start_thread(lambda: self._answer(summarize, request), "midfold-ask")

    def _answer(self, summarize: Summarizer, request: SummaryRequest) -> Answer:
        try:
            return summarize(request)
        finally:
            with self._lock:
                self._hanging -= 1


def no_summary(_request: SummaryRequest) -> str:
    """Stand in for a summariser where there is none."""
    raise SummaryUnavailable("no summariser is configured")


def _await_on(loop: asyncio.AbstractEventLoop | None, answer: Awaitable[str]) -> Future[str]:
    """Have an answer awaited where its summariser lives."""
    if loop is None or loop.is_closed():
        if inspect.iscoroutine(answer):
            answer.close()
        raise SummaryUnavailable(
            "this summariser has to be awaited: use acompress, or give it as a BlockingSummarizer"
        )
    return start_on_loop(loop, answer)
