"""A model to ask: one question, one answer, whole or as it is written; awaited or blocking."""

from collections.abc import AsyncGenerator, AsyncIterator, Coroutine, Iterator, Mapping
from contextlib import aclosing, asynccontextmanager, suppress
from typing import TYPE_CHECKING, Self, TypeVar

from midfold.concurrency import LoopClosed, LoopThread
from midfold.late_dataclasses import dataclass, replace
from midfold.providers.catalog import PROVIDERS, Provider
from midfold.providers.client import Client, Closeable
from midfold.providers.connection import DEFAULT_TIMEOUTS, ConnectionBroken, Timeouts
from midfold.providers.endpoint import Endpoint, find_endpoint
from midfold.providers.failures import describe_broken, judge_answer, judge_reply_error
from midfold.providers.keys import ApiKey
from midfold.providers.retry import DEFAULT_RETRIES, CallFailed, Retries
from midfold.wire import StreamTooLong, Unreadable
from midfold.wire.apis import (
    Completion,
    ReplyError,
    StreamCut,
    StreamDone,
    StreamEvent,
    StreamReader,
    encode_body,
    fit_request,
    read_reply,
)

if TYPE_CHECKING:
    from midfold.providers.http import Answer, Transport

_T = TypeVar("_T")

_CLOSED = "the model is closed"
_MAX_ERROR_BYTES = 256 * 1024


class Model(Client):
    """A model at an address: `async with Model.open("openai/gpt-5-mini") as model`.

    Once closed it raises a `ProviderUnavailable` that says so.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        transport: "Transport | None" = None,
        *,
        retries: Retries = DEFAULT_RETRIES,
        timeouts: Timeouts = DEFAULT_TIMEOUTS,
    ) -> None:
        super().__init__(endpoint, transport, timeouts=timeouts)
        self._retries = retries

    @classmethod
    def open(
        cls,
        name: str,
        *,
        base_url: str | None = None,
        key: ApiKey | str | None = None,
        api: str | None = None,
        headers: Mapping[str, str] | None = None,
        providers: Mapping[str, Provider] = PROVIDERS,
        retries: Retries = DEFAULT_RETRIES,
        timeouts: Timeouts = DEFAULT_TIMEOUTS,
        transport: "Transport | None" = None,
    ) -> Self:
        """Open `provider/model`; raises `ConfigError`, and `ExtraMissing` without the extra `models`.

        `timeouts` are those of a transport made here; a given one has its own.
        """
        endpoint = find_endpoint(
            name, base_url=base_url, key=key, api=api, headers=headers, providers=providers
        )
        return cls(endpoint, transport, retries=retries, timeouts=timeouts)

    async def complete(
        self, request: object, *, system: str | None = None, max_output: int | None = None
    ) -> Completion:
        """Ask, and return the whole answer.

        `request` is a text, a list of messages or a body in any dialect, or a `wire.Request`. Raises a
        `ProviderError`; of an answer that breaks off nothing is kept.
        """
        question = self._encode(request, system, max_output, stream=False)
        return await self._retries.run(lambda: self._ask(question))

    async def stream(
        self, request: object, *, system: str | None = None, max_output: int | None = None
    ) -> AsyncGenerator[StreamEvent, None]:
        """Ask, and yield the answer as it comes: deltas, then `StreamDone` with the whole.

        Raises a `ProviderError`. Once the first event is out nothing is asked again: where the stream breaks
        off, `StreamCut` has what came until then, and the error follows it.
        """
        question = self._encode(request, system, max_output, stream=True)
        begun = await self._retries.run(lambda: self._begin(question))
        async with aclosing(begun.rest) as rest:
            yield begun.first
            try:
                async for event in rest:
                    yield event
            except CallFailed as failed:
                error = failed.error
            else:
                return
            raise error  # out here, as what led to it may quote the key

    def __repr__(self) -> str:
        return f"Model({self.endpoint.provider}/{self.endpoint.model} at {self.endpoint.base_url})"

    def _encode(
        self, request: object, system: str | None, max_output: int | None, *, stream: bool
    ) -> "_Question":
        fitted = fit_request(request, self.endpoint.api.name)
        fitted = replace(
            fitted,
            model=self.endpoint.model,
            stream=stream,
            system=fitted.system if system is None else system,
            max_output=fitted.max_output if max_output is None else max_output,
        )
        body = encode_body(self.endpoint.api.build(fitted, self.endpoint.quirks))
        return _Question(body, fitted.max_output)

    async def _ask(self, question: "_Question") -> Completion:
        async with self._post(question.body) as answer:
            return read_reply(self.endpoint.api, await answer.read(), output_cap=question.output_cap)

    async def _begin(self, question: "_Question") -> "_Begun":
        """Wait for the first event: until it has come the call may be made again."""
        events = self._receive(question)
        return _Begun(await anext(events), events)

    async def _receive(self, question: "_Question") -> AsyncGenerator[StreamEvent, None]:
        async with self._post(question.body) as answer:
            reader = StreamReader(self.endpoint.api, output_cap=question.output_cap)
            has_begun = False
            try:
                async with aclosing(_read_stream(reader, answer)) as deltas:
                    async for delta in deltas:
                        has_begun = True
                        yield delta
                done = StreamDone(reader.completion())
            except Exception:
                partial = reader.partial() if has_begun else None
                if partial:
                    yield StreamCut(partial)
                raise
            yield done

    @asynccontextmanager
    async def _post(self, body: bytes) -> AsyncIterator["Answer"]:
        """Send a body and give the answer; all that goes wrong until it is read becomes a `CallFailed`."""
        endpoint = self.endpoint
        if self._is_closed:
            raise describe_broken(endpoint, _CLOSED, may_pass=False)
        try:
            async with self._transport.post(endpoint.url, endpoint.headers, body) as answer:
                if not answer.is_success:
                    error_body = await answer.read_error(_MAX_ERROR_BYTES)
                    raise judge_answer(endpoint, answer.status, answer.headers, error_body)
                try:
                    yield answer
                except ReplyError as error:
                    raise judge_reply_error(endpoint, error, answer.headers) from None
        except ConnectionBroken as error:
            if self._transport.is_closed:
                raise describe_broken(endpoint, _CLOSED, may_pass=False) from None
            raise describe_broken(endpoint, error.reason, may_pass=error.may_pass) from None
        except (Unreadable, StreamTooLong) as error:
            # An answer that is too long is so again, and is paid for each time.
            may_pass = not isinstance(error, StreamTooLong)
            reason = f"the answer cannot be read: {error}"
            raise describe_broken(endpoint, reason, may_pass=may_pass) from None


class BlockingModel(Closeable):
    """A `Model` without `await`: `with BlockingModel(Model.open("openai/gpt-5-mini")) as model`.

    Threads may share it. Models that are given a `thread` share that, and its maker closes it.
    """

    def __init__(self, model: Model, *, thread: LoopThread | None = None) -> None:
        self._model = model
        self._thread = thread or LoopThread()
        self._owns_thread = thread is None
        self._thread.adopt(model.aclose)

    def complete(
        self, request: object, *, system: str | None = None, max_output: int | None = None
    ) -> Completion:
        """Ask, and return the whole answer; see `Model.complete`."""
        return self._run(self._model.complete(request, system=system, max_output=max_output))

    def stream(
        self, request: object, *, system: str | None = None, max_output: int | None = None
    ) -> Iterator[StreamEvent]:
        """Ask, and yield the answer as it comes; see `Model.stream`."""
        events = self._model.stream(request, system=system, max_output=max_output)
        try:
            while (event := self._run(_next_or_none(events))) is not None:
                yield event
        finally:
            with suppress(LoopClosed):
                self._thread.run(_close(events))

    def close(self) -> None:
        """Close the connections, and the thread unless it is somebody else's."""
        if self._owns_thread:
            self._thread.close()
        else:
            self._thread.release(self._model.aclose)

    def __repr__(self) -> str:
        return f"Blocking{self._model!r}"

    def _run(self, coroutine: Coroutine[object, None, _T]) -> _T:
        """Run a coroutine; what a closed model says is what the async one says, in a loop or without one."""
        try:
            return self._thread.run(coroutine)
        except LoopClosed:
            raise describe_broken(self._model.endpoint, _CLOSED).error from None


@dataclass(frozen=True, slots=True)
class _Question:
    """A body to send, and how long the answer may be."""

    body: bytes
    output_cap: int | None


@dataclass(frozen=True, slots=True)
class _Begun:
    """A stream whose first event has come."""

    first: StreamEvent
    rest: AsyncGenerator[StreamEvent, None]


async def _read_stream(reader: StreamReader, answer: "Answer") -> AsyncGenerator[StreamEvent, None]:
    async with aclosing(answer.chunks()) as chunks:
        async for chunk in chunks:
            for delta in reader.feed(chunk):
                yield delta
            if reader.is_over:
                return
    for delta in reader.finish():
        yield delta


async def _next_or_none(events: AsyncGenerator[StreamEvent, None]) -> StreamEvent | None:
    return await anext(events, None)


async def _close(events: AsyncGenerator[StreamEvent, None]) -> None:
    await events.aclose()
