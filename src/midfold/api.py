"""One call for scripts: compress a list of messages, in any dialect."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, TypedDict, Unpack

from midfold.errors import ConfigError, SummaryUnavailable
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
from midfold.pipeline import compress_request
from midfold.tokens import TokenCounter, resolve_window
from midfold.wire import DEFAULT_DIALECT, Request, read_request

if TYPE_CHECKING:
    from midfold.providers.summarizers import ModelSummarizer


class CompressOptions(TypedDict, total=False):
    """The options for compressing one list; give `max_tokens` or `context_length`."""

    max_tokens: int | None
    """a hard ceiling for system, tools and messages together"""
    context_length: int | None
    """instead of a ceiling: fold as `/compress` would with this window"""
    system: object
    """the system prompt, where it is kept beside the messages"""
    tools: Sequence[object] | None
    """the tools offered with the request: their schemas take room, too"""
    tokenizer: str | None
    """the model whose vocabulary counts"""
    strategy: str
    """how much is folded, as in the setting `compression.strategy`"""
    style: str
    """what stays of an old result, as in `compression.style`"""
    template: str
    """the headings of the summary, as in `compression.template`"""
    focus: str | None
    """a topic that gets most of the summary"""
    pin: Sequence[str]
    """sentences to keep word for word, whatever else is folded"""
    pins: bool
    """whether sentences in which the user sets a rule are kept that way, too, as in `compression.pins`"""
    model: str | None
    """`provider/model` that writes the summary; it needs the extra `models`"""
    base_url: str | None
    """where that model is, if not at its provider's own address"""
    summarizer_window: int | None
    """how many tokens the summariser can take at once; by default what is known of `model`"""


def compress(
    messages: Sequence[object],
    *,
    summarizer: Callable[[SummaryRequest], str] | None = None,
    **options: Unpack[CompressOptions],
) -> Compression[object]:
    """Compress messages in any dialect; the input is never changed.

    Without a `summarizer` or a `model` the built-in digest needs no model and no network. For the other
    options see `CompressOptions`.
    """
    request = _request(messages, options)
    flow = plan_compression(request, use_model=_uses_model(summarizer, options), **options)
    with _opened(summarizer, options) as summarize:
        return run(flow, summarize)


async def acompress(
    messages: Sequence[object],
    *,
    summarizer: Callable[[SummaryRequest], Awaitable[str]] | None = None,
    **options: Unpack[CompressOptions],
) -> Compression[object]:
    """Compress as `compress` does, with a summariser that is awaited."""
    request = _request(messages, options)
    flow = plan_compression(request, use_model=_uses_model(summarizer, options), **options)
    async with _aopened(summarizer, options) as summarize:
        return await arun(flow, summarize)


def plan_compression(
    request: Request, *, use_model: bool, **options: Unpack[CompressOptions]
) -> Flow[object]:
    """Return the flow that compresses a request; nothing is done yet."""
    return compress_request(
        request,
        policy=_policy(options),
        count=TokenCounter(options.get("tokenizer") or request.model),
        state=CompressionState(pins=tuple(options.get("pin", ()))),
        focus=options.get("focus"),
        use_model=use_model,
        is_manual=options.get("context_length") is not None,
    )


def _request(messages: Sequence[object], options: CompressOptions) -> Request:
    unknown = sorted(set(options) - set(CompressOptions.__annotations__))
    if unknown:
        raise ConfigError(
            unknown[0], options.get(unknown[0]), hint=f"one of {', '.join(CompressOptions.__annotations__)}"
        )
    request = read_request(list(messages)) if messages else Request(DEFAULT_DIALECT, [])
    tools = options.get("tools")
    return replace(request, system=options.get("system"), tools=None if tools is None else list(tools))


def _policy(options: CompressOptions) -> CompressionPolicy:
    ceiling, window = options.get("max_tokens"), options.get("context_length")
    if (ceiling is None) == (window is None):
        raise ConfigError("max_tokens", ceiling, hint="either max_tokens or context_length")
    summarizer_window = options.get("summarizer_window")
    numbers = (("max_tokens", ceiling), ("context_length", window), ("summarizer_window", summarizer_window))
    for key, value in numbers:
        if value is not None and (not isinstance(value, int) or value < 1):
            raise ConfigError(key, value, hint="a number of tokens above 0")
    policy = CompressionPolicy(
        context_length=window or ceiling or 0,
        max_tokens=ceiling,
        summarizer_window=summarizer_window or _known_window(options.get("model")),
    )
    given: dict[str, object] = {key: value for key, value in options.items() if key in FOLD_SETTINGS}
    if "pins" in given:  # anything that is true or false will do
        given["pins"] = bool(given["pins"])
    chosen = {key: FOLD_SETTINGS[key].read(value) for key, value in given.items()}
    change: Callable[..., CompressionPolicy] = replace
    return change(policy, **chosen)


def _known_window(model: str | None) -> int | None:
    """Return the window of a model that the table knows; a guess would be worse than the default."""
    window = resolve_window(model) if model else None
    return window.tokens if window and window.source == "table" else None


def _uses_model(summarizer: object, options: CompressOptions) -> bool:
    """Say whether somebody writes the summary, and refuse what contradicts itself."""
    model = options.get("model")
    if model is not None and summarizer is not None:
        raise ConfigError("model", model, hint="either a model or a summarizer")
    if model is None and options.get("base_url") is not None:
        raise ConfigError("base_url", options.get("base_url"), hint="a model beside it")
    return model is not None or summarizer is not None


@contextmanager
def _opened(
    summarizer: Callable[[SummaryRequest], str] | None, options: CompressOptions
) -> Iterator[Callable[[SummaryRequest], str]]:
    """Give the summariser, and close what was opened for it."""
    if options.get("model") is None:
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
    if options.get("model") is None:
        yield summarizer or _no_awaited_summary
        return
    from midfold.engines import SummarizerCaller

    async with _open_model(options) as summarize:
        yield SummarizerCaller().for_fold_async(summarize)


def _open_model(options: CompressOptions) -> "ModelSummarizer":
    """Open the model; raises if it cannot be asked, since a caller that names a model wants that one."""
    from midfold.providers.summarizers import ModelRef, ModelSummarizer

    summarizer = ModelSummarizer(ModelRef(options.get("model") or "", options.get("base_url")))
    summarizer.check()
    return summarizer


def _no_summary(_request: SummaryRequest) -> str:
    raise SummaryUnavailable("no summariser was given")


async def _no_awaited_summary(request: SummaryRequest) -> str:
    return _no_summary(request)
