"""One call for scripts: compress a list of messages, or a whole request, in any dialect."""

import warnings
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, TypedDict, TypeVar, Unpack, cast

from midfold.errors import ConfigError, MidfoldError, SummaryUnavailable, UnknownDialect
from midfold.folding import (
    FOLD_SETTINGS,
    Compression,
    CompressionPolicy,
    CompressionState,
    Flow,
    SummaryRequest,
    arun,
    run,
)
from midfold.late_dataclasses import replace
from midfold.pipeline import compress_request as plan_request
from midfold.stub_writers import load_stub_writers
from midfold.tokens import TokenCounter
from midfold.wire import DEFAULT_DIALECT, Request, describe, plain, read_request
from midfold.wire.validate import continues_stored_history

if TYPE_CHECKING:
    from midfold.providers.summarizers import ModelSummarizer

M = TypeVar("M")
B = TypeVar("B", bound=Mapping[str, object])
_TEXTS = ("model", "focus", "summary_model", "base_url", "tokenizer")

_OLD_MEANING = (
    "model= names the model that the messages are for, and counts as it does; it no longer writes the "
    "summary. summary_model={0!r} asks it for one, summary_model=None says that the digest is meant"
)


class CompressOptions(TypedDict, total=False):
    """The options for compressing one list; give `max_tokens` or `context_length`."""

    max_tokens: int | None
    """a hard ceiling for system, tools and messages together"""
    context_length: int | None
    """instead of a ceiling: fold as `/compress` does for this window"""
    model: str | None
    """the model that reads the messages; it decides how tokens are counted. Default: by dialect"""
    system: object
    """the system prompt, if it is not among the messages"""
    tools: Sequence[object] | None
    """the tools of the request: their schemas take room, too"""
    strategy: str
    """how much is folded, as in the setting `compression.strategy`"""
    style: str
    """form of an old tool result, as in `compression.style`"""
    template: str
    """the headings of the summary, as in `compression.template`"""
    focus: str | None
    """a topic that gets most of the summary"""
    pin: Sequence[str]
    """sentences to keep word for word"""
    pins: bool
    """whether the user's rules are kept word for word, too, as in `compression.pins`"""
    summary_model: str | None
    """`provider/model` that writes the summary; it needs the extra `models`"""
    base_url: str | None
    """address of the summary model; default: its provider's"""
    summarizer_window: int | None
    """context window of the summariser; default: that of `summary_model`"""
    tokenizer: str | None
    """the older name of `model`"""


def compress(
    messages: Sequence[M],
    *,
    summarizer: Callable[[SummaryRequest], str] | None = None,
    **options: Unpack[CompressOptions],
) -> Compression[M]:
    """Compress messages in any dialect; the input is never changed.

    Give one of these:
        max_tokens: a hard ceiling for system, tools and messages together
        context_length: fold as `/compress` would with this window

    The request:
        model: the model that reads the messages; it decides how tokens are counted. Default: by dialect
        system: the system prompt, if it is not among the messages
        tools: the tools of the request: their schemas take room, too

    The result:
        strategy: staged, fold or prune
        style: form of an old tool result: stub, excerpt or placeholder
        template: the headings of the summary: handoff, progress or brief
        focus: a topic that gets most of the summary
        pin: sentences to keep word for word
        pins: false to stop keeping the user's rules word for word

    The writer of the summary; the default is the built-in digest, without a model:
        summary_model: provider/model; it needs the extra `models`
        base_url: the address of that model; default: its provider's
        summarizer: a function of a `SummaryRequest` that returns text
        summarizer_window: the context window of the summariser

    Raises `ConfigError` for a wrong option, `DialectError` if `messages` is not a list of messages.
    """
    request = _read_list(messages, options)
    return cast("Compression[M]", _compress(request, summarizer, options))


async def acompress(
    messages: Sequence[M],
    *,
    summarizer: Callable[[SummaryRequest], Awaitable[str]] | None = None,
    **options: Unpack[CompressOptions],
) -> Compression[M]:
    """Compress as `compress` does, in async code; the summariser is awaited."""
    request = _read_list(messages, options)
    flow = plan_compression(request, use_model=_uses_model(summarizer, options), **options)
    async with _aopened(summarizer, options) as summarize:
        return cast("Compression[M]", await arun(flow, summarize))


def compress_request(
    body: B,
    *,
    summarizer: Callable[[SummaryRequest], str] | None = None,
    **options: Unpack[CompressOptions],
) -> B:
    """Compress the body of a request of any API: returns the same body with fewer messages.

    System prompt, tools and model are read from the body and stay as they are; the other options are those
    of `compress`. A body that needs no compression, or goes on from a history that the provider keeps, comes
    back with the same messages. Raises what `compress` raises.
    """
    request = _read_body(body, options)
    if continues_stored_history(request.raw):
        return cast("B", dict(body))
    options = {"model": request.model, "summary_model": None, **options}
    result = _compress(request, summarizer, options)
    return cast("B", request.with_messages(result.messages) if result.changed else dict(body))


def _compress(
    request: Request, summarizer: Callable[[SummaryRequest], str] | None, options: CompressOptions
) -> Compression[object]:
    if summarizer is not None and _is_async(summarizer):
        raise ConfigError("summarizer", summarizer, hint="a plain function; acompress awaits an async one")
    flow = plan_compression(request, use_model=_uses_model(summarizer, options), **options)
    with _opened(summarizer, options) as summarize:
        return run(flow, summarize)


def plan_compression(
    request: Request,
    *,
    use_model: bool,
    policy: CompressionPolicy | None = None,
    **options: Unpack[CompressOptions],
) -> Flow[object]:
    """Return the flow that compresses a request; nothing is done yet.

    `policy` has the settings for which there is no option.
    """
    model = options.get("model") or options.get("tokenizer") or request.counted_as
    return plan_request(
        request,
        policy=_policy(options, policy or CompressionPolicy()),
        count=TokenCounter(model),
        state=CompressionState(pins=tuple(options.get("pin", ()))),
        focus=options.get("focus"),
        use_model=use_model,
        is_manual=options.get("context_length") is not None,
        stub_writers=load_stub_writers(),
    )


def _read_list(messages: object, options: CompressOptions) -> Request:
    """Read a list of messages, with what the options say is beside it."""
    listed = plain(messages)
    if isinstance(listed, Mapping):
        raise UnknownDialect("this is a request body, no list of messages; compress_request takes it")
    if not isinstance(listed, Iterable) or isinstance(listed, str | bytes):
        raise UnknownDialect(f"expected a list of messages, found {describe(listed)}")
    items = list(listed)
    return _add_options(read_request(items) if items else Request(DEFAULT_DIALECT, []), options)


def _read_body(body: object, options: CompressOptions) -> Request:
    if not isinstance(plain(body), Mapping):
        raise UnknownDialect(f"expected the body of a request, found {describe(body)}")
    return _add_options(read_request(body), options)


def _add_options(request: Request, options: CompressOptions) -> Request:
    """Set what is beside the messages, where an option says so; raises `ConfigError` for a wrong one."""
    _check_options(options)
    system, tools = options.get("system"), options.get("tools")
    return replace(
        request,
        system=request.system if system is None else system,
        tools=request.tools if tools is None else list(tools),
    )


def _check_options(options: CompressOptions) -> None:
    """Refuse unknown options, and values of another type: Python would find out late, or never."""
    unknown = sorted(set(options) - set(CompressOptions.__annotations__))
    if unknown:
        from difflib import get_close_matches  # for a mistake only

        known = list(CompressOptions.__annotations__)
        near = get_close_matches(unknown[0], known, n=1)
        hint = f"the option {near[0]}" if near else f"one of {', '.join(known)}"
        raise ConfigError(unknown[0], options.get(unknown[0]), hint=hint)
    for key in _TEXTS:
        text = options.get(key)
        if text is not None and not isinstance(text, str):
            raise ConfigError(key, text, hint="text")
    pins = options.get("pin", ())
    if isinstance(pins, str) or not all(isinstance(pin, str) for pin in pins):
        raise ConfigError("pin", pins, hint="a list of sentences")
    tools: object = options.get("tools")
    if isinstance(tools, str | bytes | Mapping) or not isinstance(tools, Iterable | None):
        raise ConfigError("tools", tools, hint="a list of tools")
    system = plain(options.get("system"))
    if isinstance(system, int | float):
        raise ConfigError("system", system, hint="text or a list of blocks")


def _policy(options: CompressOptions, policy: CompressionPolicy) -> CompressionPolicy:
    ceiling, window = options.get("max_tokens"), options.get("context_length")
    if (ceiling is None) == (window is None):
        raise ConfigError("max_tokens", ceiling, hint="either max_tokens or context_length")
    summarizer_window = options.get("summarizer_window")
    numbers = (("max_tokens", ceiling), ("context_length", window), ("summarizer_window", summarizer_window))
    for key, value in numbers:
        if value is not None and (not isinstance(value, int) or value < 1):
            raise ConfigError(key, value, hint="a number of tokens above 0")
    known_window = policy.summarizer_window or _known_window(options.get("summary_model"))
    given: dict[str, object] = {key: value for key, value in options.items() if key in FOLD_SETTINGS}
    if "pins" in given:  # anything that is true or false will do
        given["pins"] = bool(given["pins"])
    chosen = {key: FOLD_SETTINGS[key].read(value) for key, value in given.items()}
    change: Callable[..., CompressionPolicy] = replace
    return change(
        policy,
        context_length=window or ceiling or 0,
        max_tokens=ceiling,
        summarizer_window=summarizer_window or known_window,
        **chosen,
    )


def _known_window(model: str | None) -> int | None:
    """Return the window of a model that the table knows; a guess would be worse than the default."""
    if not model:
        return None
    from midfold.tokens import resolve_window

    window = resolve_window(model)
    return window.tokens if window.source == "table" else None


def _uses_model(summarizer: object, options: CompressOptions) -> bool:
    """Say whether somebody writes the summary, and refuse what contradicts itself."""
    writer = options.get("summary_model")
    if summarizer is not None and not callable(summarizer):
        raise ConfigError("summarizer", summarizer, hint="a function; summary_model= takes a name")
    if writer is not None and summarizer is not None:
        raise ConfigError("summary_model", writer, hint="either a summary_model or a summarizer")
    if writer is None and options.get("base_url") is not None:
        raise ConfigError("base_url", options.get("base_url"), hint="a summary_model beside it")
    model = options.get("model")
    if summarizer is None and "summary_model" not in options and writes_by_old_meaning(model):
        warnings.warn(_OLD_MEANING.format(model), DeprecationWarning, stacklevel=4)
    return writer is not None or summarizer is not None


def writes_by_old_meaning(model: str | None) -> bool:
    """Whether `model` once wrote the summary: it names a provider, and could be asked."""
    if not isinstance(model, str) or "/" not in model:
        return False
    from midfold.providers import PROVIDERS
    from midfold.providers.summarizers import ModelRef

    try:
        ModelRef(model).endpoint(PROVIDERS)
    except MidfoldError:
        return False
    return True


def _is_async(summarizer: Callable[..., object]) -> bool:
    from inspect import iscoroutinefunction  # it loads a compiler, and few scripts bring a summariser

    call = getattr(summarizer, "__call__", None)  # noqa: B004 - an object may have an async one
    return iscoroutinefunction(summarizer) or iscoroutinefunction(call)


@contextmanager
def _opened(
    summarizer: Callable[[SummaryRequest], str] | None, options: CompressOptions
) -> Iterator[Callable[[SummaryRequest], str]]:
    """Give the summariser, and close what was opened for it."""
    if options.get("summary_model") is None:
        yield summarizer or _no_summary
        return
    from midfold.engines import SummarizerCaller
    from midfold.providers.summarizers import BlockingSummarizer

    with BlockingSummarizer(_open_model(options)) as summarize:
        yield SummarizerCaller().for_fold(summarize)


@asynccontextmanager
async def _aopened(
    summarizer: Callable[[SummaryRequest], Awaitable[str]] | None, options: CompressOptions
) -> AsyncIterator[Callable[[SummaryRequest], Awaitable[str]]]:
    if options.get("summary_model") is None:
        yield summarizer or _no_awaited_summary
        return
    from midfold.engines import SummarizerCaller

    async with _open_model(options) as summarize:
        yield SummarizerCaller().for_fold_async(summarize)


def _open_model(options: CompressOptions) -> "ModelSummarizer":
    """Open the model; raises if it cannot be asked, since a caller that names a model wants that one."""
    from midfold.providers.summarizers import ModelRef, ModelSummarizer

    summarizer = ModelSummarizer(ModelRef(options.get("summary_model") or "", options.get("base_url")))
    summarizer.check()
    return summarizer


def _no_summary(_request: SummaryRequest) -> str:
    raise SummaryUnavailable("no summariser was given")


async def _no_awaited_summary(request: SummaryRequest) -> str:
    return _no_summary(request)
