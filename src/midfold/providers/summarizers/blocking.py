"""Summarising models for callers without an event loop: the awaited ones, run by a loop in a thread."""

from types import TracebackType
from typing import Self

from midfold.concurrency import LoopThread
from midfold.errors import SummaryUnavailable
from midfold.folding import SummaryRequest
from midfold.providers.summarizers.records import SummaryCall
from midfold.providers.summarizers.summarizer import ModelSummarizer


class BlockingSummarizer:
    """A `ModelSummarizer` without `await`: what `ContextCompressor(summarizer=...)` takes.

    Threads may share it. Close it, or use it in a `with` block: its thread ends then.
    """

    def __init__(self, summarizer: ModelSummarizer) -> None:
        self._summarizer = summarizer
        self._thread = LoopThread()
        self._thread.adopt(summarizer.aclose)

    @property
    def calls(self) -> tuple[SummaryCall, ...]:
        """The newest calls, up to a thousand, with what they used and cost."""
        return self._summarizer.calls

    @property
    def deadline_seconds(self) -> float:
        """When a summary is given up; fallback and repetition included."""
        return self._summarizer.deadline_seconds

    def __call__(self, request: SummaryRequest, *, is_manual: bool = False) -> str:
        """Return a summary, or raise `SummaryUnavailable`; see `ModelSummarizer`."""
        if self._thread.is_closed:
            raise SummaryUnavailable("the summariser is closed")
        return self._thread.run(self._summarizer(request, is_manual=is_manual))

    def close(self) -> None:
        """Close the connections and end the thread."""
        self._thread.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
