"""Drives a trajectory's flow within a time limit: waits between questions, and gives up when it is over."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from midfold.errors import SummaryUnavailable
from midfold.folding import SummaryRequest
from midfold.folding import arun as drive_async
from midfold.folding import run as drive
from midfold.redact import redact
from midfold.summaries.tool_calls import one_line
from midfold.trajectories.asking import AnswerFailed, Question
from midfold.trajectories.flow import Flow, Outcome

Summarize: TypeAlias = Callable[[SummaryRequest], str]
SummarizeAsync: TypeAlias = Callable[[SummaryRequest], Awaitable[str]]
_REASON_CHARS = 300


def run(flow: Flow, summarize: Summarize, *, timeout_seconds: float) -> Outcome:
    """Drive a flow. A question that is under way cannot be broken off; after the time is up none is asked."""
    until: float | None = None

    def ask(question: Question) -> str:
        nonlocal until
        # The time runs from the first question on: laying out a long trajectory takes some, too.
        until = time.monotonic() + timeout_seconds if until is None else until
        _wait(question.wait_seconds, until, timeout_seconds)
        return summarize(question.request)

    return drive(flow, ask, translate_error=_failure)


async def arun(
    flow: Flow, summarize: SummarizeAsync, *, slots: asyncio.Semaphore, timeout_seconds: float
) -> Outcome:
    """Drive a flow whose summariser is awaited, when a slot is free; what takes too long is broken off."""
    patience = _Patience(timeout_seconds)
    return await drive_async(
        flow, lambda question: patience.ask(question, summarize, slots), translate_error=_failure
    )


class _Patience:
    """The time that the questions about one trajectory may take; waiting for a slot does not count."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._left_seconds = seconds

    async def ask(self, question: Question, summarize: SummarizeAsync, slots: asyncio.Semaphore) -> str:
        self._left_seconds -= question.wait_seconds
        if self._left_seconds <= 0:
            raise _late(self._seconds)
        if question.wait_seconds:
            await asyncio.sleep(question.wait_seconds)
        async with slots:
            started = time.monotonic()
            try:
                async with asyncio.timeout(self._left_seconds) as limit:
                    return await summarize(question.request)
            except TimeoutError:
                if limit.expired():
                    raise _late(self._seconds) from None
                raise
            finally:
                self._left_seconds -= time.monotonic() - started


def _wait(seconds: float, until: float, timeout_seconds: float) -> None:
    """Wait before a question is asked again, unless it would come too late."""
    if time.monotonic() + seconds >= until:
        raise _late(timeout_seconds)
    if seconds:
        time.sleep(seconds)


def _late(seconds: float) -> SummaryUnavailable:
    return SummaryUnavailable(f"not within {seconds:g} s")


def _failure(error: Exception) -> SummaryUnavailable | AnswerFailed:
    """Say what a failure means for the flow, in words without secrets."""
    if isinstance(error, SummaryUnavailable | AnswerFailed):
        return error
    return AnswerFailed(one_line(redact(f"{type(error).__name__}: {error}"), _REASON_CHARS))
