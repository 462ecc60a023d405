"""`wrap`: a client of the OpenAI or Anthropic SDK whose requests are compressed before they are sent.

The SDKs send everything through one method of the client, `request`. A wrapped client is a copy of the
caller's own, of the same class, with a `request` of ours around that: so every resource, helper and stream
of the SDK works as before. No SDK is imported here.
"""

import asyncio
import copy
import inspect
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from threading import Lock
from typing import TYPE_CHECKING, Protocol, TypedDict, TypeVar, Unpack, cast

from midfold.engines import ContextCompressor, Summarizer
from midfold.errors import ConfigError, DialectError
from midfold.folding import Compression, CompressionPolicy, CompressionState
from midfold.messages import MessageCache
from midfold.store import Store
from midfold.wire import normalize_usage, parse, read_request
from midfold.wire.apis import find_api
from midfold.wire.validate import continues_stored_history
from midfold.wrapping.exchange import (
    Acquire,
    ClientExchange,
    ClientLedger,
    ClientReport,
    Flow,
    FoldNow,
    Send,
    Step,
)
from midfold.wrapping.histories import Histories

if TYPE_CHECKING:
    from midfold.providers.summarizers import BlockingSummarizer, ModelSummarizer

C = TypeVar("C")
Call = Callable[..., object]
_OWNER = "_midfold"
_POLL_SECONDS = 0.005


class WrapOptions(TypedDict, total=False):
    """The options of `wrap`; all are optional."""

    context_length: int | None
    """context window; default: that of the model in the request"""
    policy: CompressionPolicy
    """threshold, target and the like; the window is filled in"""
    summary_model: str | None
    """`provider/model` that writes summaries, beside the conversation; it needs the extra `models`"""
    base_url: str | None
    """address of the summary model; default: its provider's"""
    summarizer: Summarizer | None
    """instead of a model: any callable; without either, the built-in digest"""
    prepare_ahead: bool
    """whether a summary is prepared in the background from 80 % of the threshold on (the default); if it is
    not ready in time, the digest stands in"""
    store: Store | None
    """store that records calls, usage and cost"""
    on_compression: Callable[[Compression[object]], None] | None
    """called with each compression, for a log"""


class _SdkClient(Protocol):
    """The methods of a client that matter here."""

    request: Call
    copy: Callable[..., "_SdkClient"]
    with_options: Callable[..., "_SdkClient"]
    close: Call


class _SdkOptions(Protocol):
    """A request as the SDKs hand it to `request`."""

    url: str
    json_data: object


def wrap(client: C, **options: Unpack[WrapOptions]) -> C:
    """Return a client of the same type whose requests fit the window of their model.

    It takes the official clients of openai and anthropic, sync and async. Before each call of chat
    completions, responses or messages, streamed or not, it recognises the history, applies its folds, and
    folds again if it is too long. A request that the provider rejects as too long is folded and sent again.
    The given client is not changed; both share their connections. Raises `ConfigError`.
    """
    unknown = sorted(set(options) - set(WrapOptions.__annotations__))
    if unknown:
        hint = f"one of {', '.join(WrapOptions.__annotations__)}"
        raise ConfigError(unknown[0], options.get(unknown[0]), hint=hint)
    if not all(callable(getattr(client, name, None)) for name in ("copy", "request", "close")):
        raise ConfigError("client", type(client).__name__, hint="a client of openai or anthropic")
    if hasattr(client, _OWNER):
        raise ConfigError("client", type(client).__name__, hint="one that is not wrapped yet")
    sdk = cast("_SdkClient", client)  # as it has the methods
    owner = _Owner(options, is_async=inspect.iscoroutinefunction(sdk.close))
    return cast("C", _install(sdk.copy(), owner))


def client_report(client: object) -> ClientReport:
    """Report the calls, usage and savings of a wrapped client; raises `ConfigError` if it is not wrapped."""
    owner = getattr(client, _OWNER, None)
    if not isinstance(owner, _Owner):
        raise ConfigError("client", type(client).__name__, hint="a client that wrap returned")
    return owner.ledger.report


class _Owner:
    """Everything that the clients of one `wrap` share."""

    def __init__(self, options: WrapOptions, *, is_async: bool) -> None:
        self.is_async = is_async
        self.ledger = ClientLedger(options.get("store"), options.get("on_compression"))
        self._context_length = options.get("context_length")
        self._policy = options.get("policy") or CompressionPolicy()
        self._models: BlockingSummarizer | ModelSummarizer | None = None
        self._summarizer = self._choose_summarizer(options)
        self._prepare_ahead = options.get("prepare_ahead", True)
        self._key = secrets.token_bytes(16)
        self._windows: dict[str, int] = {}
        self._histories = Histories(self._open_engine)
        self._open_engine(CompressionState(), MessageCache(parse))  # checks the options

    def begin(self, options: _SdkOptions) -> ClientExchange | None:
        """Begin a call; `None` where there is no history in it that can be compressed."""
        api, body = find_api(options.url), options.json_data
        if api is None or not isinstance(body, Mapping) or continues_stored_history(dict(body)):
            return None
        try:
            request = read_request(dict(body), api.name)
            return ClientExchange(
                request,
                self._histories,
                self.ledger,
                windows=self._windows,
                context_length=self._context_length,
            )
        except DialectError:  # the provider has the better word for what is wrong with it
            return None

    def close(self) -> "Awaitable[None] | None":
        """Close what was opened for summaries."""
        models, self._models = self._models, None
        if models is None:
            return None
        return models.close() if hasattr(models, "close") else models.aclose()

    def _open_engine(self, state: CompressionState, cache: MessageCache) -> ContextCompressor:
        length = self._context_length
        return ContextCompressor(
            self._policy.context_length if length is None else length,
            policy=self._policy,
            summarizer=self._summarizer,
            prepare_ahead=self._prepare_ahead,
            cache=cache,
            key=self._key,
            state=state,
        )

    def _choose_summarizer(self, options: WrapOptions) -> Summarizer | None:
        model, given = options.get("summary_model"), options.get("summarizer")
        if model is not None and given is not None:
            raise ConfigError("summary_model", model, hint="either a summary_model or a summarizer")
        if model is None and options.get("base_url") is not None:
            raise ConfigError("base_url", options.get("base_url"), hint="a summary_model beside it")
        if model is None:
            return given
        from midfold.providers.summarizers import BlockingSummarizer, ModelRef, ModelSummarizer

        asked = ModelSummarizer(ModelRef(model, options.get("base_url")))
        asked.check()
        self._models = asked if self.is_async else BlockingSummarizer(asked)
        self.ledger.summary_calls = lambda: asked.calls
        return self._models


def _install(client: _SdkClient, owner: _Owner) -> _SdkClient:
    """Put our own methods around those of a client that nobody else has."""
    copied = client.copy

    def copy_wrapped(*args: object, **changes: object) -> _SdkClient:
        return _install(copied(*args, **changes), owner)

    make_request = _make_async_request if owner.is_async else _make_request
    client.request = make_request(client.request, owner)
    client.close = _make_close(client.close, owner)
    client.copy = client.with_options = copy_wrapped
    setattr(client, _OWNER, owner)
    return client


def _make_request(request: Call, owner: _Owner) -> Call:
    def request_compressed(cast_to: object, options: _SdkOptions, **others: object) -> object:
        exchange = owner.begin(options)
        if exchange is None:
            return request(cast_to, options, **others)
        reply = _drive(exchange.flow(), lambda body: request(cast_to, _with_body(options, body), **others))
        return _watch(reply, exchange, bool(others.get("stream")), _watch_stream)

    return request_compressed


def _make_async_request(request: Call, owner: _Owner) -> Call:
    async def request_compressed(cast_to: object, options: _SdkOptions, **others: object) -> object:
        send = cast("Callable[..., Awaitable[object]]", request)
        exchange = await asyncio.to_thread(owner.begin, options)
        if exchange is None:
            return await send(cast_to, options, **others)
        reply = await _adrive(
            exchange.flow(), lambda body: send(cast_to, _with_body(options, body), **others)
        )
        return _watch(reply, exchange, bool(others.get("stream")), _watch_async_stream)

    return request_compressed


def _make_close(closing: Call, owner: _Owner) -> Call:
    def close() -> object:
        owner.close()
        return closing()

    async def aclose() -> object:
        closed = owner.close()
        if closed is not None:
            await closed
        return await cast("Callable[[], Awaitable[object]]", closing)()

    return aclose if owner.is_async else close


def _with_body(options: _SdkOptions, body: Mapping[str, object]) -> _SdkOptions:
    changed = copy.copy(options)
    changed.json_data = body
    return changed


def _drive(flow: Flow, send: Callable[[Mapping[str, object]], object]) -> object:
    """Drive a call."""

    def carry_out(step: Step) -> object:
        match step:
            case Send(body):
                return send(body)
            case FoldNow(engine, items, most):
                return engine.compress_result(items, most_tokens=most)
            case Acquire(lock):
                return lock.acquire()

    try:
        step = next(flow)
        while True:
            try:
                answer = carry_out(step)
            except Exception as error:  # noqa: BLE001 - the flow decides
                step = flow.throw(error)
            else:
                step = flow.send(answer)
    except StopIteration as done:
        return done.value


async def _adrive(flow: Flow, send: Callable[[Mapping[str, object]], Awaitable[object]]) -> object:
    """Drive a call in async code."""

    async def carry_out(step: Step) -> object:
        match step:
            case Send(body):
                return await send(body)
            case FoldNow(engine, items, most):
                return await engine.acompress_result(items, most_tokens=most)
            case Acquire(lock):
                return await _acquire(lock)

    try:
        step = next(flow)
        while True:
            try:
                answer = await carry_out(step)
            except Exception as error:  # noqa: BLE001 - the flow decides
                step = flow.throw(error)
            else:
                step = flow.send(answer)
    except StopIteration as done:
        return done.value
    finally:
        flow.close()  # a task that is cancelled lets go of the conversation


async def _acquire(lock: Lock) -> bool:
    """Take a lock that threads share; the event loop never waits for it."""
    while not lock.acquire(blocking=False):  # noqa: ASYNC110 - an event has one loop, the lock may have many
        await asyncio.sleep(_POLL_SECONDS)
    return True


def _watch(reply: object, exchange: ClientExchange, is_stream: bool, watch_stream: Call) -> object:
    """Take in what a reply reports: at once, or as its stream goes by."""
    if is_stream and hasattr(reply, "_iterator"):
        watch_stream(reply, exchange)
    else:
        exchange.observe([_read_raw(reply)])
    return reply


def _read_raw(reply: object) -> object:
    """Return the body of a raw response that was read, where the caller asked for one; else the reply."""
    answer = getattr(reply, "http_response", None)
    try:
        return reply if answer is None else answer.json()
    except Exception:  # noqa: BLE001 - not read yet, or no JSON: then nothing is reported
        return None


class _Stream(Protocol):
    """A stream of the SDKs: its class stays, the iterator inside is ours."""

    _iterator: object
    close: Call


def _watch_stream(stream: _Stream, exchange: ClientExchange) -> None:
    reports: list[object] = []
    events, closing = cast("Iterator[object]", stream._iterator), stream.close

    def tee() -> Iterator[object]:
        try:
            for event in events:
                _note(event, reports)
                yield event
        finally:
            exchange.observe(reports)

    def close() -> object:
        closed = closing()
        exchange.observe(reports)
        return closed

    stream._iterator, stream.close = tee(), close


def _watch_async_stream(stream: _Stream, exchange: ClientExchange) -> None:
    reports: list[object] = []
    events, closing = cast("AsyncIterator[object]", stream._iterator), stream.close

    async def tee() -> AsyncIterator[object]:
        try:
            async for event in events:
                _note(event, reports)
                yield event
        finally:
            exchange.observe(reports)

    async def close() -> object:
        closed = await cast("Callable[[], Awaitable[object]]", closing)()
        exchange.observe(reports)
        return closed

    stream._iterator, stream.close = tee(), close


def _note(event: object, reports: list[object]) -> None:
    if normalize_usage(event).total_tokens:
        reports.append(event)
