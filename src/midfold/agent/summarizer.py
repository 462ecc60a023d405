"""The writer of summaries for an agent, and the record of what they cost.

The model may be the one of the conversation, whichever that is when a summary is due.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TypeAlias

from midfold.agent.session import commit
from midfold.engines import Summarizer
from midfold.errors import StoreError
from midfold.folding import SummaryRequest
from midfold.providers import Provider
from midfold.providers.summarizers import ModelRef, ModelSummarizer, SummaryCall
from midfold.store import Call
from midfold.usage import make_summary_call

Record: TypeAlias = Callable[[Call], None]
MAIN = "main"
"""Stands for the model of the conversation."""


class SummaryWriter:
    """Writes summaries with a model, or has anything callable write them; neither is the built-in digest."""

    def __init__(
        self, summarizer: Summarizer | str | None, *, main: ModelRef, providers: Mapping[str, Provider]
    ) -> None:
        self.main = main
        self.record: Record | None = None
        """records what each call used"""
        self.models: ModelSummarizer | None = None
        self._own: Summarizer | None = None
        if isinstance(summarizer, str):
            chosen = None if summarizer == MAIN else summarizer
            self.models = ModelSummarizer(chosen, main=lambda: self.main, providers=providers)
        else:
            self._own = summarizer
        self._last: SummaryCall | None = None

    def tell_with(self, tell: Callable[[str], None]) -> None:
        """Have a sentence told where another model steps in for the chosen one."""
        if self.models:
            self.models.tell = tell

    @property
    def summarizer(self) -> Summarizer | None:
        """The summariser that an engine asks; `None` is the digest."""
        return self if self.models else self._own

    @property
    def model(self) -> ModelRef | None:
        """The model that the next summary would come from, where it is one."""
        return next(iter(self.models.models), None) if self.models else None

    @property
    def calls(self) -> tuple[SummaryCall, ...]:
        """The calls so far."""
        return self.models.calls if self.models else ()

    @property
    def deadline_seconds(self) -> float:
        """When a summary is given up."""
        return self.models.deadline_seconds if self.models else 0.0

    async def __call__(self, request: SummaryRequest, /) -> str:
        """Ask the model, and record what its answer cost, whether it can be used or not."""
        if self.models is None:
            raise TypeError("there is no model to ask")
        try:
            return await self.models(request)
        finally:
            await self._record_new(self.models.calls)

    async def aclose(self) -> None:
        """Close the connections."""
        if self.models:
            await self.models.aclose()

    async def _record_new(self, calls: tuple[SummaryCall, ...]) -> None:
        known = next((index for index, call in enumerate(calls) if call is self._last), -1)
        self._last = calls[-1] if calls else None
        for call in calls[known + 1 :]:
            if self.record is not None:
                with suppress(StoreError):  # the summary is paid for and good, whatever the books say
                    await commit(self.record, make_summary_call(call))
