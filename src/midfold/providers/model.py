"""A model to ask: one question, one answer, whole or as it is written."""

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, replace
from types import TracebackType
from typing import TYPE_CHECKING, Self

from midfold.errors import ExtraMissing
from midfold.providers.endpoint import Endpoint, find_endpoint
from midfold.providers.failing import Broken, broken, failed_answer, failed_reply
from midfold.providers.keys import Secret
from midfold.providers.names import PROVIDERS, Provider
from midfold.providers.retry import DEFAULT_RETRIES, CallFailed, Retries
from midfold.providers.timeouts import DEFAULT_TIMEOUTS, Timeouts
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

CLOSED = "the model is closed"
_MAX_ERROR_BYTES = 256 * 1024


class Model:
    """A model at an address: `async with Model.open("openai/gpt-5-mini") as model`.

    It is used in one event loop, and once closed it raises a `ProviderUnavailable` that says so. Models that
    share a transport share its connections, and whoever made the transport closes it.
    """

    def __init__(
        self, endpoint: Endpoint, transport: "Transport", *, retries: Retries, owns_transport: bool
    ) -> None:
        self.endpoint = endpoint
        self._transport = transport
        self._retries = retries
        self._owns_transport = owns_transport
        self._is_closed = False

    @classmethod
    def open(
        cls,
        name: str,
        *,
        base_url: str | None = None,
        key: Secret | str | None = None,
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
        return cls(
            endpoint,
            transport or open_transport(timeouts),
            retries=retries,
            owns_transport=transport is None,
        )

    async def complete(
        self, request: object, *, system: str | None = None, max_output: int | None = None
    ) -> Completion:
        """Ask, and return the whole answer.

        `request` is a text, a list of messages or a body in any dialect, or a `wire.Request`. Raises a
        `ProviderError`; of an answer that breaks off nothing is kept.
        """
        question = self._spell(request, system, max_output, stream=False)
        return await self._retries.run(lambda: self._ask(question))

    async def stream(
        self, request: object, *, system: str | None = None, max_output: int | None = None
    ) -> AsyncGenerator[StreamEvent, None]:
        """Ask, and yield the answer as it comes: deltas, then `StreamDone` with the whole.

        Raises a `ProviderError`. Once the first event is out nothing is asked again: where the stream breaks
        off, `StreamCut` has what came until then, and the error follows it.
        """
        question = self._spell(request, system, max_output, stream=True)
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

    async def aclose(self) -> None:
        """Close the connections, unless they are somebody else's."""
        self._is_closed = True
        if self._owns_transport:
            await self._transport.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        return f"Model({self.endpoint.provider}/{self.endpoint.model} at {self.endpoint.base_url})"

    def _spell(
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
            raise broken(endpoint, CLOSED, may_pass=False)
        try:
            async with self._transport.post(endpoint.url, endpoint.headers, body) as answer:
                if not answer.is_success:
                    error_body = await answer.read_error(_MAX_ERROR_BYTES)
                    raise failed_answer(endpoint, answer.status, answer.headers, error_body)
                try:
                    yield answer
                except ReplyError as error:
                    raise failed_reply(endpoint, error, answer.headers) from None
        except Broken as error:
            if self._transport.is_closed:
                raise broken(endpoint, CLOSED, may_pass=False) from None
            raise broken(endpoint, error.reason, may_pass=error.may_pass) from None
        except (Unreadable, StreamTooLong) as error:
            raise broken(endpoint, f"the answer cannot be read: {error}") from None


@dataclass(frozen=True, slots=True)
class _Question:
    """What is sent, and how long the answer may be."""

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


def open_transport(timeouts: Timeouts = DEFAULT_TIMEOUTS) -> "Transport":
    """Make a pool of connections, to be shared by models; raises `ExtraMissing`."""
    try:
        from midfold.providers.http import Transport
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "midfold":
            raise
        raise ExtraMissing("models over HTTP", "models") from error
    return Transport(timeouts=timeouts)
