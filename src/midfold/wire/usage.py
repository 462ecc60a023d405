"""Every provider's report of what a call used, read into the same buckets.

The shape is known by its keys, since gateways and compatible servers mix them. Servers also send nulls,
strings and nonsense: a figure that cannot be one counts 0, and nothing here raises.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from decimal import Decimal
from math import isfinite
from typing import Any, TypeAlias

from midfold.late_dataclasses import fields
from midfold.tokens import CanonicalUsage
from midfold.wire.dialect import plain
from midfold.wire.dialects import DIALECTS

# No call and no sum of calls has this many tokens.
_ABSURD_TOKENS = 10**12

Find: TypeAlias = Callable[..., int]
"""Returns the first figure above 0 among dotted names, or 0."""


def normalize_usage(raw: object, dialect: str | None = None) -> CanonicalUsage:
    """Read a usage report, or a response body or stream event that holds one; dicts and SDK objects alike.

    `dialect` decides where `input_tokens` could be with or without what came from a cache.
    """
    if isinstance(raw, CanonicalUsage):
        return raw
    report = _unwrap(raw)

    def find(*names: str) -> int:
        return next((number for name in names if (number := _number(_get(report, name)))), 0)

    spoken = DIALECTS.get(dialect or "")
    includes_cache = spoken is not None and spoken.input_includes_cache
    return _reader_for(report, input_includes_cache=includes_cache)(find)


def merge_usage(fragments: Iterable[object], dialect: str | None = None) -> CanonicalUsage:
    """Read the reports scattered over a stream; they are cumulative, so the last figure above 0 counts."""
    merged: dict[str, int] = {}
    for fragment in fragments:
        figures = asdict(normalize_usage(fragment, dialect))
        merged |= {name: figure for name, figure in figures.items() if figure}
    return CanonicalUsage(**merged)


def reported_cost(raw: object) -> Decimal | None:
    """Return the dollars that a provider, or a gateway such as OpenRouter, says it charged."""
    report = _unwrap(raw)
    ticks = _dollars(_get(report, "cost_in_usd_ticks"))  # xAI
    if ticks is not None:
        return ticks / _TICKS_PER_DOLLAR
    charged = (_dollars(_get(report, name)) for name in _COST_NAMES)
    cost = next((dollars for dollars in charged if dollars is not None), None)
    if cost is not None and _get(report, "is_byok") is True:
        # With a key of one's own, OpenRouter charges its fee and the provider charges the rest.
        upstream = _dollars(_get(report, "cost_details.upstream_inference_cost"))
        return cost + upstream if upstream is not None else None
    return cost


def find_report(raw: object) -> object:
    """Return the usage report inside a response body or stream event as plain JSON, to be kept.

    Figures that nothing here understands are kept, too. Where the body itself is the report, its long texts
    and lists are left out. `None` where there is nothing to keep.
    """
    report = _plain_figures(_unwrap(raw), _MOST_DEPTH)
    return report if isinstance(report, dict) else None


_TICKS_PER_DOLLAR = 10**10
_COST_NAMES = ("cost", "cost.total_cost", "estimated_cost")
"""OpenRouter and many others; Perplexity; DeepInfra."""


_MOST_DEPTH = 6
_MOST_TEXT_CHARS = 200
_MOST_MEMBERS = 100


def _plain_figures(value: object, depth: int) -> object:
    node = plain(value)
    if isinstance(node, bool | int) or (isinstance(node, float) and isfinite(node)):
        return node
    if isinstance(node, str):
        return node if len(node) <= _MOST_TEXT_CHARS else None
    if depth and isinstance(node, list):
        return [_plain_figures(member, depth - 1) for member in node[:_MOST_MEMBERS]]
    fields = node if isinstance(node, dict) else getattr(node, "__dict__", {})
    known = list(fields.items())[:_MOST_MEMBERS] if depth else []
    kept = {str(name): _plain_figures(member, depth - 1) for name, member in known}
    return {name: member for name, member in kept.items() if member is not None} or None


def _dollars(value: object) -> Decimal | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < _ABSURD_TOKENS:
        return None
    return Decimal(str(value))


_WRAPPERS = (
    "usage",
    "response.usage",  # the last event of a Responses stream
    "message.usage",  # the first event of an Anthropic stream
    "choices.0.usage",  # the last events of a Moonshot stream
    "usageMetadata",
    "usage_metadata",
    "metadata.usage",  # the last event of a Bedrock stream
    "x_groq.usage",
    "amazon-bedrock-invocationMetrics",
    "timings",
)


def _unwrap(raw: object) -> object:
    """Return the report inside a response body or stream event, or `raw` itself."""
    inner = (_get(raw, wrapper) for wrapper in _WRAPPERS)
    return next((found for found in inner if found is not None and not isinstance(found, str)), raw)


def _get(value: Any, path: str) -> Any:
    """Follow a dotted path through dicts, lists and objects; `None` where it ends early.

    The members of a list are found by position, or by the TTL that they are about.
    """
    for name in path.split("."):
        try:
            value = _step(value, name)
        except Exception:  # noqa: BLE001 - a computed attribute of somebody's SDK may raise anything
            return None
        if value is None:
            return None
    return value


def _step(value: Any, name: str) -> Any:
    if isinstance(value, Mapping):
        return value.get(name)
    if isinstance(value, list) and name.isdigit():
        return value[int(name)] if int(name) < len(value) else None
    if isinstance(value, list):
        return next((member for member in value if _step(member, "ttl") == name), None)
    return getattr(value, name, None)


def _number(value: object) -> int:
    """Return a number of tokens, 0 for everything that is none."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < _ABSURD_TOKENS:
        return 0
    return int(value)


def _reader_for(report: object, *, input_includes_cache: bool) -> Callable[[Find], CanonicalUsage]:
    def has(*names: str) -> bool:
        return any(_get(report, name) is not None for name in names)

    if has("cache_write_1h_tokens"):
        return _read_canonical
    if has("prompt_tokens", "completion_tokens", "prompt_cache_hit_tokens"):
        return _read_chat
    if has("promptTokenCount", "candidatesTokenCount", "prompt_token_count", "candidates_token_count"):
        return _read_gemini
    if has("inputTokens", "outputTokens", "inputTokenCount", "outputTokenCount"):
        return _read_bedrock
    if has("prompt_eval_count", "eval_count"):
        return _read_ollama
    if has("prompt_n", "predicted_n"):
        return _read_llama_cpp
    if has("input_token_details", "output_token_details"):
        return _read_langchain
    if input_includes_cache or has("input_tokens_details"):
        return _read_responses
    return _read_anthropic


def _read_canonical(find: Find) -> CanonicalUsage:
    """Read our own figures back, as they come out of a store or a log."""
    return CanonicalUsage(**{figure.name: find(figure.name) for figure in fields(CanonicalUsage)})


def _read_anthropic(find: Find) -> CanonicalUsage:
    one_hour = find("cache_creation.ephemeral_1h_input_tokens")
    written = one_hour + find("cache_creation.ephemeral_5m_input_tokens")
    return CanonicalUsage(
        input_tokens=find("input_tokens"),
        output_tokens=find("output_tokens"),
        cache_read_tokens=find("cache_read_input_tokens"),
        cache_write_tokens=max(written, find("cache_creation_input_tokens")),
        reasoning_tokens=find(
            "output_tokens_details.thinking_tokens", "output_tokens_details.reasoning_tokens"
        ),
        cache_write_1h_tokens=one_hour,
    )


def _read_responses(find: Find) -> CanonicalUsage:
    return _cache_inside(
        prompt=find("input_tokens"),
        read=find("input_tokens_details.cached_tokens", "cache_read_input_tokens"),
        written=find(
            "input_tokens_details.cache_write_tokens",
            "input_tokens_details.cache_creation_tokens",
            "cache_creation_input_tokens",
        ),
        output=find("output_tokens"),
        reasoning=find("output_tokens_details.reasoning_tokens"),
    )


def _read_langchain(find: Find) -> CanonicalUsage:
    one_hour = find("input_token_details.ephemeral_1h_input_tokens")
    written = one_hour + find("input_token_details.ephemeral_5m_input_tokens")
    return _cache_inside(
        prompt=find("input_tokens"),
        read=find("input_token_details.cache_read"),
        written=max(written, find("input_token_details.cache_creation")),
        output=find("output_tokens"),
        reasoning=find("output_token_details.reasoning"),
        written_1h=one_hour,
    )


def _read_chat(find: Find) -> CanonicalUsage:
    hit, missed = find("prompt_cache_hit_tokens"), find("prompt_cache_miss_tokens")
    prompt = find("prompt_tokens") or hit + missed
    output = find("completion_tokens")
    reasoning = find("completion_tokens_details.reasoning_tokens", "reasoning_tokens")
    if reasoning and find("total_tokens") == prompt + output + reasoning:
        output += reasoning  # xAI reports thinking beside the output, not as part of it
    return _cache_inside(
        prompt=prompt,
        read=find("prompt_tokens_details.cached_tokens", "cache_read_input_tokens", "cached_tokens") or hit,
        written=find(
            "prompt_tokens_details.cache_write_tokens",
            "prompt_tokens_details.cache_creation_tokens",
            "cache_creation_input_tokens",
        ),
        output=output,
        reasoning=reasoning,
        written_1h=find("cache_creation.ephemeral_1h_input_tokens"),
    )


def _read_gemini(find: Find) -> CanonicalUsage:
    thoughts = find("thoughtsTokenCount", "thoughts_token_count")
    return _cache_inside(
        prompt=find("promptTokenCount", "prompt_token_count")
        + find("toolUsePromptTokenCount", "tool_use_prompt_token_count"),
        read=find("cachedContentTokenCount", "cached_content_token_count"),
        written=0,
        output=find("candidatesTokenCount", "candidates_token_count") + thoughts,
        reasoning=thoughts,
    )


def _read_bedrock(find: Find) -> CanonicalUsage:
    written = find("cacheWriteInputTokens", "cacheWriteInputTokenCount")
    return CanonicalUsage(
        input_tokens=find("inputTokens", "inputTokenCount"),
        output_tokens=find("outputTokens", "outputTokenCount"),
        cache_read_tokens=find("cacheReadInputTokens", "cacheReadInputTokenCount"),
        cache_write_tokens=written,
        cache_write_1h_tokens=min(written, find("cacheDetails.1h.inputTokens")),
    )


def _read_ollama(find: Find) -> CanonicalUsage:
    return CanonicalUsage(input_tokens=find("prompt_eval_count"), output_tokens=find("eval_count"))


def _read_llama_cpp(find: Find) -> CanonicalUsage:
    return CanonicalUsage(
        input_tokens=find("prompt_n"), output_tokens=find("predicted_n"), cache_read_tokens=find("cache_n")
    )


def _cache_inside(
    *, prompt: int, read: int, written: int, output: int, reasoning: int, written_1h: int = 0
) -> CanonicalUsage:
    """Part a prompt count that includes the cached tokens into disjoint buckets."""
    return CanonicalUsage(
        input_tokens=max(0, prompt - read - written),
        output_tokens=output,
        cache_read_tokens=read,
        cache_write_tokens=written,
        reasoning_tokens=reasoning,
        cache_write_1h_tokens=min(written, written_1h),
    )
