"""The two drivers of a flow: one for ordinary callers, one for async ones. There is no third."""

from collections.abc import Awaitable, Callable, Generator
from typing import TypeVar

from midfold.errors import SummaryUnavailable

Q = TypeVar("Q")
R = TypeVar("R")


def as_unavailable(error: Exception) -> SummaryUnavailable:
    """Report any error of a summariser as an unavailable summary."""
    if isinstance(error, SummaryUnavailable):
        return error
    unavailable = SummaryUnavailable(f"{type(error).__name__}: {error}")
    unavailable.__cause__ = error
    return unavailable


def run(
    flow: Generator[Q, str, R],
    summarize: Callable[[Q], str],
    *,
    translate_error: Callable[[Exception], Exception] = as_unavailable,
) -> R:
    """Drive a flow; a failure to answer is thrown into it, and the flow decides what follows."""
    try:
        question = next(flow)
        while True:
            try:
                answer = summarize(question)
            except Exception as error:  # noqa: BLE001 - whatever a summariser raises, history must not be lost
                question = flow.throw(translate_error(error))
            else:
                question = flow.send(answer)
    except StopIteration as done:
        result: R = done.value
        return result


async def arun(
    flow: Generator[Q, str, R],
    summarize: Callable[[Q], Awaitable[str]],
    *,
    translate_error: Callable[[Exception], Exception] = as_unavailable,
) -> R:
    """Drive a flow whose answers must be awaited."""
    try:
        question = next(flow)
        while True:
            try:
                answer = await summarize(question)
            except Exception as error:  # noqa: BLE001 - whatever a summariser raises, history must not be lost
                question = flow.throw(translate_error(error))
            else:
                question = flow.send(answer)
    except StopIteration as done:
        result: R = done.value
        return result
