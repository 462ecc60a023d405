"""Asks for a summary: within a deadline, with few calls, and not at all for a while after a failure."""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from midfold.concurrency import LoopThread
from midfold.errors import ConfigError, DialectError, ExtraMissing, ProviderError, SummaryUnavailable
from midfold.folding import SummaryRequest
from midfold.late_dataclasses import dataclass, replace
from midfold.providers.catalog import PROVIDERS, Provider
from midfold.providers.client import AsyncCloseable, Closeable, open_transport
from midfold.providers.connection import Timeouts
from midfold.providers.model import Model
from midfold.providers.retry import Retries
from midfold.providers.summarizers.costs import SummaryCall, record_call, system_text
from midfold.providers.summarizers.failures import (
    NO_COOLDOWN,
    FailureCause,
    ModelFailed,
    read_failure,
    why_useless,
)
from midfold.providers.summarizers.model_ref import MainModel, ModelRef, as_ref, find_models
from midfold.tokens import find_model
from midfold.wire.apis import Completion

if TYPE_CHECKING:
    from midfold.providers.http import Transport

DEADLINE_SECONDS = 60.0
OUTPUT_ROOM = 3
"""The output tokens that are allowed beyond the length of a summary.

Most providers count thinking as output, and a model's own vocabulary may need more tokens than ours. What is
not written costs nothing; an answer that is cut off costs all of it.
"""
MIN_OUTPUT_TOKENS = 8_000
"""Room enough to think about a short summary, too."""
# Two questions at most, each with one repetition: four calls. Nobody waits long for what the digest can do.
SUMMARY_RETRIES = Retries(max_calls=2, longest_wait_seconds=10.0)
MOST_RECORDS = 1_000
"""One summariser may serve a process for months."""


class ModelSummarizer(AsyncCloseable):
    """Models that write summaries: `await summarizer(request)` in one event loop.

    `model` is asked first; `main`, the model of the conversation, where there is no other, or where that one
    is missing or refuses. `main` may be set anew at any time.
    """

    def __init__(
        self,
        model: ModelRef | str | None = None,
        *,
        main: MainModel = None,
        providers: Mapping[str, Provider] = PROVIDERS,
        deadline_seconds: float = DEADLINE_SECONDS,
        retries: Retries = SUMMARY_RETRIES,
        clock: Callable[[], float] = time.monotonic,
        tell: Callable[[str], None] | None = None,
    ) -> None:
        self.main = main
        self.tell = tell
        """gets a sentence for people where another model steps in for the chosen one, once for each"""
        self._told: set[str] = set()
        self._chosen = as_ref(model)
        self._providers = providers
        self._deadline_seconds = deadline_seconds
        self._retries = retries
        self._clock = clock
        self._cooldown = NO_COOLDOWN
        self._passed_over = NO_COOLDOWN
        self._calls: deque[SummaryCall] = deque(maxlen=MOST_RECORDS)
        self._transport: Transport | None = None

    @property
    def models(self) -> tuple[ModelRef, ...]:
        """The models that the next request would go to, in this order."""
        return find_models(self._chosen, self.main)

    @property
    def calls(self) -> tuple[SummaryCall, ...]:
        """The newest calls, up to a thousand, with what they used and cost."""
        return tuple(self._calls)

    @property
    def deadline_seconds(self) -> float:
        """When a summary is given up; fallback and repetition included."""
        return self._deadline_seconds

    def check(self) -> None:
        """Raise what keeps the first model from being asked at all: `ConfigError`, `ExtraMissing`."""
        for model in self.models[:1]:
            try:
                model.endpoint(self._providers)
            except ConfigError as error:
                if error.key != "model":
                    raise
                raise ConfigError("summary_model", error.value, hint=error.hint) from None
        self._open_transport()

    async def __call__(self, request: SummaryRequest, *, is_manual: bool = False) -> str:
        """Return a summary, or raise `SummaryUnavailable` within the deadline.

        After a failure it is raised at once for a while; not where a person asks, with `is_manual`.
        """
        models, now = self.models, self._clock()
        asked = models
        if not (is_manual or request.is_manual):
            self._cooldown.check(models, now)
            if len(models) > 1 and self._passed_over.is_on(models[:1], now):
                asked = models[1:]
        try:
            words = await self._ask_in_turn(asked, request)
        except ModelFailed as failed:
            raise self._give_up(failed, models) from failed.overflow
        self._cooldown = NO_COOLDOWN
        return words

    async def aclose(self) -> None:
        """Close the connections."""
        transport, self._transport = self._transport, None
        if transport is not None:
            await transport.aclose()

    def _give_up(self, failed: ModelFailed, models: tuple[ModelRef, ...]) -> SummaryUnavailable:
        """Begin a silence, but for a model that said how much it can take: it may be shown less at once."""
        if failed.overflow is not None and failed.overflow.limit:
            return SummaryUnavailable(failed.reason)
        now = self._clock()
        self._cooldown = self._cooldown.after(failed, models, now)
        return SummaryUnavailable(failed.reason, self._cooldown.until - now)

    async def _ask_in_turn(self, models: tuple[ModelRef, ...], request: SummaryRequest) -> str:
        if not models:
            raise ModelFailed(FailureCause.MISSING, "no model is configured")
        first = _Attempt(
            models[0],
            request.prompt,
            find_output_cap(models[0].name, request.max_tokens),
            until=asyncio.get_running_loop().time() + self._deadline_seconds,
        )
        try:
            return await self._ask(first)
        except ModelFailed as failed:
            earlier = failed
        second = _second_attempt(first, earlier, models, request.max_tokens)
        if second is None:
            raise earlier
        try:
            words = await self._ask(second)
        except ModelFailed as failed:
            raise failed.following(earlier) from None
        if second.model != first.model:
            # What refused once will refuse again: for a while the next one is asked in its place.
            self._passed_over = NO_COOLDOWN.after(earlier, (first.model,), self._clock())
            self._tell_of(first.model, second.model, earlier.reason)
        return words

    def _tell_of(self, failed: ModelRef, stand_in: ModelRef, reason: str) -> None:
        if self.tell is not None and failed.name not in self._told:
            self._told.add(failed.name)
            self.tell(f"{stand_in.name} writes summaries in place of {failed.name}, which failed: {reason}")

    async def _ask(self, attempt: "_Attempt") -> str:
        """Ask one model once; whatever comes of it, the call is put down."""
        name, started = attempt.model.name, self._clock()
        completion: Completion | None = None
        try:
            model = self._open(attempt.model)
            async with asyncio.timeout_at(attempt.until):
                completion = await model.complete(
                    attempt.prompt, system=system_text(), max_output=attempt.max_output
                )
        except (ConfigError, ExtraMissing) as error:
            raise ModelFailed(FailureCause.MISSING, f"{name}: {error}") from None
        except TimeoutError:
            failed = ModelFailed(FailureCause.LATE, f"{name}: no answer within {self._deadline_seconds:g} s")
        except (ProviderError, DialectError) as error:
            failed = read_failure(error, name)
        except asyncio.CancelledError:
            self._note(attempt, started, "interrupted")
            raise
        else:
            useless = why_useless(completion)
            if useless is None:
                self._note(attempt, started, None, completion)
                return completion.text
            failed = ModelFailed(FailureCause.USELESS, f"{name}: {useless}")
        self._note(attempt, started, failed.reason, completion)
        raise failed

    def _open(self, model: ModelRef) -> Model:
        """Make a model anew for each question: its key may have come or changed since the last one."""
        return Model(model.endpoint(self._providers), self._open_transport(), retries=self._retries)

    def _open_transport(self) -> "Transport":
        if self._transport is None:
            seconds = self._deadline_seconds
            # The deadline decides, not the patience of the transport.
            self._transport = open_transport(Timeouts(headers=seconds, idle=seconds))
        return self._transport

    def _note(
        self, attempt: "_Attempt", started: float, failure: str | None, completion: Completion | None = None
    ) -> None:
        self._calls.append(
            record_call(
                attempt.model,
                self._providers,
                seconds=self._clock() - started,
                failure=failure,
                completion=completion,
            )
        )


class BlockingSummarizer(Closeable):
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


@dataclass(frozen=True, slots=True)
class _Attempt:
    """One question to one model."""

    model: ModelRef
    prompt: str
    max_output: int
    until: float
    """when it is given up, in the time of the event loop"""


def _second_attempt(
    first: _Attempt, failed: ModelFailed, models: tuple[ModelRef, ...], summary_tokens: int
) -> _Attempt | None:
    """Return what may be tried after a failure: a lower output cap, or the model of the conversation."""
    if failed.output_tokens is not None and summary_tokens <= failed.output_tokens < first.max_output:
        return replace(first, max_output=failed.output_tokens)
    if failed.cause not in (FailureCause.MISSING, FailureCause.REFUSED) or len(models) == 1:
        return None
    return replace(first, model=models[1], max_output=find_output_cap(models[1].name, summary_tokens))


def find_output_cap(model: str, summary_tokens: int) -> int:
    """Return how much a model may write for a summary of so many tokens, as far as it can."""
    facts = find_model(model)
    most = facts.max_output_tokens if facts else None
    wanted = max(summary_tokens * OUTPUT_ROOM, MIN_OUTPUT_TOKENS)
    return min(wanted, most) if most else wanted
