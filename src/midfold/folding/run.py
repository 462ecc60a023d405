"""The two drivers of a flow: one for ordinary callers, one for async ones. There is no third."""

from collections.abc import Awaitable, Callable

from midfold.errors import SummaryUnavailable
from midfold.folding.compression import Compression
from midfold.folding.flow import Flow, SummaryRequest
from midfold.messages import Message


def run(flow: Flow, summarize: Callable[[SummaryRequest], str]) -> Compression[Message]:
    """Drive a flow; a summariser that fails in any way is reported to it as unavailable."""
    try:
        request = next(flow)
        while True:
            try:
                answer = summarize(request)
            except Exception as error:  # noqa: BLE001 - whatever a summariser raises, history must not be lost
                request = flow.throw(_unavailable(error))
            else:
                request = flow.send(answer)
    except StopIteration as done:
        result: Compression[Message] = done.value
        return result


async def arun(flow: Flow, summarize: Callable[[SummaryRequest], Awaitable[str]]) -> Compression[Message]:
    """Drive a flow whose summariser must be awaited."""
    try:
        request = next(flow)
        while True:
            try:
                answer = await summarize(request)
            except Exception as error:  # noqa: BLE001 - whatever a summariser raises, history must not be lost
                request = flow.throw(_unavailable(error))
            else:
                request = flow.send(answer)
    except StopIteration as done:
        result: Compression[Message] = done.value
        return result


def _unavailable(error: Exception) -> SummaryUnavailable:
    if isinstance(error, SummaryUnavailable):
        return error
    unavailable = SummaryUnavailable(f"{type(error).__name__}: {error}")
    unavailable.__cause__ = error
    return unavailable
