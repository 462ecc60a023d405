"""Makes finished runs fit a training window: one trajectory or one row at a time, awaited or not."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from inspect import isawaitable, iscoroutinefunction
from typing import TYPE_CHECKING, Self, TypeAlias, cast, overload

from midfold.config import Description, load_settings
from midfold.errors import ConfigError, SummaryUnavailable
from midfold.folding import SummaryRequest, arun, run
from midfold.redact import redact
from midfold.summaries.tool_calls import one_line
from midfold.tokens import resolve_window
from midfold.trajectories.config import CompressionConfig
from midfold.trajectories.flow import AnswerFailed, Question, TrajectoryFlow, TrajectoryJob, compress
from midfold.trajectories.metrics import CompressedTrajectory, TrajectoryMetrics, Turn
from midfold.trajectories.rows import RowResult, check_turns, finish_row, read_row
from midfold.trajectories.tokenizer import load_opening_counter, load_tokenizer

if TYPE_CHECKING:
    from midfold.providers.summarizers import BlockingSummarizer, ModelSummarizer, SummaryCall


Summarize: TypeAlias = Callable[[SummaryRequest], str]
SummarizeAsync: TypeAlias = Callable[[SummaryRequest], Awaitable[str]]
Summarizer: TypeAlias = Summarize | SummarizeAsync
_DEFAULT_CONFIG = CompressionConfig()
_DEFAULT_WINDOW_TOKENS = 100_000
_LONGEST_WAIT_SECONDS = 60.0
_REASON_CHARS = 300


class TrajectoryCompressor:
    """Compresses trajectories: `with TrajectoryCompressor(config) as compressor`.

    Summaries come from `summarizer`, else from the model of the configuration, which is opened on first need,
    else from the built-in digest. A summariser that must be awaited serves the async methods only. One
    compressor is used by one thread or in one event loop.
    """

    def __init__(
        self,
        config: CompressionConfig = _DEFAULT_CONFIG,
        *,
        summarizer: Summarizer | None = None,
        slots: asyncio.Semaphore | None = None,
    ) -> None:
        """Load the tokenizer; raises `ConfigError` where there is none.

        `slots` are the requests that may be under way where several compressors share them.
        """
        if summarizer is not None and config.summary_model is not None:
            raise ConfigError(
                "trajectories.summary_model",
                config.summary_model,
                hint="either a summary_model or a summarizer",
            )
        self.config = config
        self._summarizer = summarizer
        self._is_awaited = summarizer is not None and _is_awaited(summarizer)
        self._count = load_tokenizer(config.tokenizer)
        self._count_opening = load_opening_counter(config.tokenizer)
        self._window_tokens = _find_window(config.summary_model)
        self._slots = slots or asyncio.Semaphore(config.max_concurrent_requests)
        self._model: ModelSummarizer | None = None
        self._blocking: BlockingSummarizer | None = None
        self._threads: ThreadPoolExecutor | None = None

    @property
    def calls(self) -> tuple["SummaryCall", ...]:
        """Every question to the model so far, with what it used and cost."""
        return self._model.calls if self._model else ()

    def check(self) -> None:
        """Raise what keeps the model of the configuration from being asked: `ConfigError`, `ExtraMissing`."""
        if self.config.summary_model is not None:
            self._open_model().check()

    @overload
    def count_turn_tokens(self, trajectory: Turn) -> int: ...
    @overload
    def count_turn_tokens(self, trajectory: Sequence[Turn]) -> list[int]: ...
    def count_turn_tokens(self, trajectory: Turn | Sequence[Turn]) -> int | list[int]:
        """Count what each turn says; a single turn gives a single number.

        Raises `MalformedMessage` where a turn says no text.
        """
        turns = [trajectory] if isinstance(trajectory, Mapping) else trajectory
        check_turns(turns)
        counts = [self._count(str(turn["value"])) for turn in turns]
        return counts[0] if isinstance(trajectory, Mapping) else counts

    def count_trajectory_tokens(self, trajectory: Sequence[Turn]) -> int:
        """Count what all turns say."""
        return sum(self.count_turn_tokens(trajectory))

    def compress_trajectory(self, turns: Sequence[Turn]) -> tuple[list[Turn], TrajectoryMetrics]:
        """Fold as many turns as it takes to reach the target; the input is never changed.

        Raises `MalformedMessage` for a turn that is not in ShareGPT form.
        """
        check_turns(turns)
        outcome = self._run(turns)
        return outcome.turns, outcome.metrics

    async def compress_trajectory_async(self, turns: Sequence[Turn]) -> tuple[list[Turn], TrajectoryMetrics]:
        """Do what `compress_trajectory` does, awaiting the summariser."""
        check_turns(turns)
        outcome = await self._arun(turns)
        return outcome.turns, outcome.metrics

    def compress_row(self, row: object) -> RowResult:
        """Compress the trajectory of a row, and keep its other columns; nothing that a row holds raises."""
        found = read_row(row)
        return found if isinstance(found, RowResult) else finish_row(found, self._run(found.turns))

    async def compress_row_async(self, row: object) -> RowResult:
        """Do what `compress_row` does, awaiting the summariser."""
        found = read_row(row)
        return found if isinstance(found, RowResult) else finish_row(found, await self._arun(found.turns))

    def measure_row(self, row: object) -> RowResult:
        """Do what `compress_row` does without a model, whose summaries are as long as the digest."""
        found = read_row(row)
        return found if isinstance(found, RowResult) else finish_row(found, self._digest(found.turns))

    def close(self) -> None:
        """Let go of the model and of threads; for those who used the methods that are not awaited."""
        if self._blocking is not None:
            self._blocking.close()
        self._end_threads()

    async def aclose(self) -> None:
        """Let go of the model and of threads."""
        if self._model is not None:
            await self._model.aclose()
        self._end_threads()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def _run(self, turns: Sequence[Turn]) -> CompressedTrajectory:
        if self._summarizer is None and self.config.summary_model is None:
            return self._digest(turns)
        summarize, limit = self._find_summarize(), _TimeLimit(self.config.timeout_seconds)
        return run(
            self._flow(turns, use_model=True),
            lambda question: limit.ask(question, summarize),
            translate_error=_failure,
        )

    async def _arun(self, turns: Sequence[Turn]) -> CompressedTrajectory:
        if self._summarizer is None and self.config.summary_model is None:
            return self._digest(turns)
        limit = _TimeLimit(self.config.timeout_seconds)
        return await arun(
            self._flow(turns, use_model=True),
            lambda question: limit.aask(question, self._ask, self._slots),
            translate_error=_failure,
        )

    def _digest(self, turns: Sequence[Turn]) -> CompressedTrajectory:
        return run(self._flow(turns, use_model=False), _refuse)

    def _flow(self, turns: Sequence[Turn], *, use_model: bool) -> TrajectoryFlow:
        opening = [self._count_opening(str(turn["value"])) for turn in turns[:1]]
        sizes = opening + [self._count(str(turn["value"])) for turn in turns[1:]]
        given_tokens = sum(sizes)
        if self.config.redact_output:
            safe = [_redacted(turn) for turn in turns]
            sizes = [
                size if turn is was else self._count(str(turn["value"]))
                for size, turn, was in zip(sizes, safe, turns, strict=True)
            ]
            turns = safe
        return compress(
            TrajectoryJob(
                turns,
                sizes,
                self.config,
                self._count,
                self._count_opening,
                use_model=use_model,
                window_tokens=self._window_tokens,
                redacted_tokens=given_tokens - sum(sizes),
            )
        )

    def _find_summarize(self) -> Summarize:
        """Return the summariser that is not awaited."""
        if self._summarizer is None:
            from midfold.providers.summarizers import BlockingSummarizer

            self._blocking = self._blocking or BlockingSummarizer(self._open_model())
            return partial(_ask_blocking, self._blocking)
        if self._is_awaited:
            given = Description("a function that must be awaited")
            raise ConfigError("summarizer", given, hint="one that is not, or the async methods")
        return cast("Summarize", self._summarizer)  # as it is not awaited

    async def _ask(self, request: SummaryRequest) -> str:
        """Ask the summariser; one that blocks does so in a thread, so that it holds up nobody else."""
        if self._summarizer is None:
            try:
                return await self._open_model()(request)
            except SummaryUnavailable as error:
                raise _read_failure(error) from None
        if self._is_awaited:
            return await cast("SummarizeAsync", self._summarizer)(request)
        self._threads = self._threads or ThreadPoolExecutor(self.config.max_concurrent_requests)
        loop = asyncio.get_running_loop()
        answer = await loop.run_in_executor(self._threads, self._summarizer, request)
        return cast("str", await answer if isawaitable(answer) else answer)  # anything else is refused later

    def _open_model(self) -> "ModelSummarizer":
        from midfold.providers import Retries, read_providers
        from midfold.providers.summarizers import ModelRef, ModelSummarizer

        if self._model is None:
            retries = Retries(self.config.max_retries + 1, longest_wait_seconds=_LONGEST_WAIT_SECONDS)
            self._model = ModelSummarizer(
                ModelRef(self.config.summary_model or "", self.config.base_url),
                providers=read_providers(load_settings().providers),
                deadline_seconds=self.config.timeout_seconds,
                retries=retries,
            )
        return self._model

    def _end_threads(self) -> None:
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)


def _is_awaited(summarizer: Summarizer) -> bool:
    # Of an object with an async `__call__` Python says that it is none.
    return iscoroutinefunction(summarizer) or iscoroutinefunction(type(summarizer).__call__)


def _ask_blocking(summarize: "BlockingSummarizer", request: SummaryRequest) -> str:
    try:
        return summarize(request)
    except SummaryUnavailable as error:
        raise _read_failure(error) from None


def _read_failure(error: SummaryUnavailable) -> SummaryUnavailable | AnswerFailed:
    """Classify a failure: an answer that is empty, or breaks off, may be a better one the next time."""
    from midfold.providers.summarizers import FailureCause, ModelFailed

    failed = error.__context__
    is_useless = isinstance(failed, ModelFailed) and failed.cause is FailureCause.USELESS
    return AnswerFailed(error.reason) if is_useless else error


def _refuse(_question: Question) -> str:
    raise SummaryUnavailable("there is no summariser")


def _redacted(turn: Turn) -> Turn:
    value = str(turn["value"])
    safe = redact(value)
    return turn if safe is value else {**turn, "value": safe}


def _find_window(model: str | None) -> int:
    """Return how much a model can read; a guess would be worse than a low figure."""
    window = resolve_window(model) if model else None
    return window.tokens if window and window.source == "table" else _DEFAULT_WINDOW_TOKENS


class _TimeLimit:
    """The time that the questions about one trajectory may take; waiting for a slot does not count."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._left_seconds = seconds

    def ask(self, question: Question, summarize: Summarize) -> str:
        """Ask. A question that is under way cannot be broken off; after the time is up none is asked."""
        time.sleep(self._take_wait(question))
        started = time.monotonic()
        try:
            return summarize(question.request)
        finally:
            self._left_seconds -= time.monotonic() - started

    async def aask(self, question: Question, summarize: SummarizeAsync, slots: asyncio.Semaphore) -> str:
        """Ask when a slot is free; what takes too long is broken off."""
        await asyncio.sleep(self._take_wait(question))
        async with slots:
            started = time.monotonic()
            try:
                async with asyncio.timeout(self._left_seconds) as limit:
                    return await summarize(question.request)
            except TimeoutError:
                if limit.expired():
                    raise self._late() from None
                raise
            finally:
                self._left_seconds -= time.monotonic() - started

    def _take_wait(self, question: Question) -> float:
        """Return how long to wait before a question, unless it would come too late."""
        self._left_seconds -= question.wait_seconds
        if self._left_seconds <= 0:
            raise self._late()
        return question.wait_seconds

    def _late(self) -> SummaryUnavailable:
        return SummaryUnavailable(f"not within {self._seconds:g} s")


def _failure(error: Exception) -> SummaryUnavailable | AnswerFailed:
    """Say what a failure means for the flow, in words without secrets."""
    if isinstance(error, SummaryUnavailable | AnswerFailed):
        return error
    return AnswerFailed(one_line(redact(f"{type(error).__name__}: {error}"), _REASON_CHARS))
