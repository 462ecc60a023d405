"""The prompt cache in use: breakpoints for each request, what came of them, and why a cache went cold.

A prompt cache holds tools, then the system prompt, then messages, and one changed character makes everything
after it cold. Digests of each piece say which changed first, without keeping what was sent.
"""

import json
import time
from collections.abc import Callable, Sequence
from decimal import Decimal
from enum import StrEnum
from hashlib import sha256
from typing import Any

from midfold.errors import ConfigError
from midfold.late_dataclasses import dataclass, replace
from midfold.tokens import CanonicalUsage, cache_saving, find_model
from midfold.wire import (
    System,
    apply_cache_control,
    caching_applies,
    normalize_usage,
    plain,
    strip_cache_control,
)

_MARKER = '"cache_control"'
TOOLS = "tools"
SYSTEM = "system prompt"


@dataclass(frozen=True, slots=True)
class Prefix:
    """The pieces of a request, each as a digest of its bytes; markers are no part of it."""

    tools: bytes
    system: bytes
    messages: tuple[bytes, ...]

    def first_change(self, later: "Prefix") -> str | None:
        """Name the first piece of this request that a later one changed or lacks; `None` if it holds all."""
        if later.tools != self.tools:
            return TOOLS
        if later.system != self.system:
            return SYSTEM
        if later.messages[: len(self.messages)] == self.messages:
            return None
        pairs = enumerate(zip(self.messages, later.messages, strict=False))
        changed = next((index for index, (old, new) in pairs if old != new), len(later.messages))
        return f"message {changed}"


def digest_request(
    messages: Sequence[object], system: object = None, tools: Sequence[object] | None = None
) -> Prefix:
    """Digest a request as it is sent, piece by piece."""
    return Prefix(
        _digest(list(tools or ())), _digest(system), tuple([_digest(message) for message in messages])
    )


def _digest(value: object) -> bytes:
    canonical = _canonical(value)
    if _MARKER in canonical:
        canonical = _canonical(strip_cache_control([value])[0][0])
    return sha256(canonical.encode("utf-8", "surrogatepass")).digest()


def _encode_other(value: object) -> object:
    known = plain(value)
    return known if known is not value else repr(value)


_canonical = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=_encode_other).encode


TTL_SECONDS = {"5m": 300.0, "1h": 3_600.0}
_LEAST_LOST_TOKENS = 1_024
"""Providers cache nothing shorter, and report in steps; less than this is no bust."""
_LEAST_LOST_PART = 0.1
_NO_USAGE = CanonicalUsage()


class Cause(StrEnum):
    """Why what was cached did not come from the cache."""

    MODEL = "model switch"
    FOLD = "fold"
    EXPIRED = "expired"
    CHANGED = "changed prefix"
    DROPPED = "dropped"
    """the request began like the one before it, in time: the provider let go, or did not look far enough"""


@dataclass(frozen=True, slots=True)
class Bust:
    """A cache that went cold."""

    cause: Cause
    lost_tokens: int
    """what was in the cache and had to be sent afresh"""
    what: str
    """the piece that changed first, or how long the pause was; empty where there is nothing to say"""

    def __str__(self) -> str:
        """Say it in one line."""
        detail = f" ({self.what})" if self.what else ""
        return f"{self.cause}{detail}: {self.lost_tokens:,} tokens sent afresh"


@dataclass(frozen=True, slots=True)
class SentRequest:
    """A request as far as a cache is concerned."""

    model: str
    prefix: Prefix
    at: float
    folds: int


@dataclass(frozen=True, slots=True)
class CacheHistory:
    """The effect of a cache on a conversation so far."""

    usage: CanonicalUsage = _NO_USAGE
    """of all calls"""
    saved: Decimal | None = None
    """dollars, of the calls whose prices are known"""
    busts: tuple[Bust, ...] = ()

    @property
    def hit_rate(self) -> float:
        """The part of all that was sent that came from the cache, 0 to 1."""
        return self.usage.cache_hit_rate

    def add(self, used: CanonicalUsage, model: str, bust: Bust | None) -> "CacheHistory":
        """Return this and one more call."""
        saving = cache_saving(used, model)
        saved = self.saved if saving is None else (self.saved or Decimal(0)) + saving
        busts = (*self.busts, bust) if bust else self.busts
        return replace(self, usage=self.usage + used, saved=saved, busts=busts)


def find_bust(
    before: SentRequest, used_before: CanonicalUsage, sent: SentRequest, used: CanonicalUsage, *, ttl: str
) -> Bust | None:
    """Say whether a request missed what the one before it had left in the cache, and why."""
    cached = used_before.cache_read_tokens + used_before.cache_write_tokens
    lost = cached - used.cache_read_tokens
    if lost < max(_LEAST_LOST_TOKENS, cached * _LEAST_LOST_PART):
        return None
    change = before.prefix.first_change(sent.prefix)
    pause = sent.at - before.at
    if sent.model != before.model:
        return Bust(Cause.MODEL, lost, f"{before.model} to {sent.model}")
    # Another conversation may keep the tools and the system prompt warm.
    if pause > TTL_SECONDS[ttl] and (change is None or not used.cache_read_tokens):
        return Bust(Cause.EXPIRED, lost, f"{_format_pause(pause)} after the last request, kept for {ttl}")
    if sent.folds != before.folds:
        return Bust(Cause.FOLD, lost, "")
    if change is not None:
        return Bust(Cause.CHANGED, lost, change)
    return Bust(Cause.DROPPED, lost, "")


class PromptCache:
    """Follows one conversation: marks each request, and learns from each report what the cache did.

    `route` is who serves the model: `anthropic`, `openrouter`, or any other name.
    """

    def __init__(
        self, model: str, route: str, *, ttl: str = "5m", clock: Callable[[], float] = time.time
    ) -> None:
        if ttl not in TTL_SECONDS:
            raise ConfigError("model.cache_ttl", ttl, hint="5m or 1h")
        self.model = model
        self.route = route
        self.ttl = ttl
        self.seen = CacheHistory()
        self._clock = clock
        self._sent: SentRequest | None = None
        self._reported: tuple[SentRequest, CanonicalUsage] | None = None

    @property
    def is_on(self) -> bool:
        """Whether requests get breakpoints."""
        return caching_applies(self.model, self.route)

    def use_model(self, model: str, route: str) -> None:
        """Another model takes over; its cache is its own."""
        self.model, self.route = model, route

    def mark(
        self,
        messages: Sequence[object],
        system: System = None,
        tools: Sequence[object] | None = None,
        *,
        folds: int = 0,
    ) -> tuple[list[Any], System]:
        """Return what to send: with breakpoints where they help, else the same.

        `folds` is how often the conversation was folded so far, which shows a fold apart from a mere change.
        """
        self._sent = SentRequest(self.model, digest_request(messages, system, tools), self._clock(), folds)
        if not self.is_on:
            return list(messages), system
        native = self.route.lower() != "openrouter"
        return apply_cache_control(messages, system, self.ttl, native=native, tools=tools)

    def observe(self, usage: object) -> Bust | None:
        """Take in the report on the request that was marked last; return the bust it shows, if it does."""
        used, sent = normalize_usage(usage), self._sent
        if not used.prompt_tokens:  # a stream that was cut, or a provider that reports nothing
            self.seen = self.seen.add(used, self.model, None)
            return None
        bust = None
        if sent is not None and self._reported is not None:
            bust = find_bust(*self._reported, sent, used, ttl=self.ttl)
        self.seen = self.seen.add(used, self.model, bust)
        if sent is not None:
            self._reported = (sent, used)
        return bust

    @property
    def status(self) -> str:
        """Say in one line whether caching is on, for which model and route, and what it brought."""
        if self.is_on:
            line = f"prompt caching on: Claude via {_name_route(self.route)}, kept for {self.ttl}"
        elif _caches_by_itself(self.model):
            line = f"prompt caching off: {self.model} caches unchanged beginnings by itself"
        else:
            line = f"prompt caching off: not known for {self.model or 'this model'} via {self.route}"
        return f"{line}, hit rate {self.seen.hit_rate:.0%}" if self.seen.usage.prompt_tokens else line

    @property
    def advice(self) -> str | None:
        """Say what would help, where something would."""
        expired = sum(bust.cause is Cause.EXPIRED for bust in self.seen.busts)
        if not (self.is_on and self.ttl == "5m" and expired):
            return None
        times = "once" if expired == 1 else f"{expired} times"
        return f"the prompt cache expired {times} between requests; model.cache_ttl: 1h keeps it longer"


def _caches_by_itself(model: str) -> bool:
    facts = find_model(model) if model else None
    return bool(facts and facts.supports_prompt_caching and "claude" not in model.lower())


def _name_route(route: str) -> str:
    return {"openrouter": "OpenRouter"}.get(route.lower(), "the native API")


def _format_pause(seconds: float) -> str:
    return f"{seconds / 60:,.0f} min" if seconds < 7_200 else f"{seconds / 3_600:,.1f} h"
