"""The model that is talked to now: where it is, how large its window is, and what its calls cost."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from midfold.engines import learn_limit
from midfold.providers import Endpoint, Model, Provider, Retries
from midfold.providers.summarizers import ModelRef
from midfold.store import Call
from midfold.tokens import LearnedLimits, Lesson, Prices, Window, find_model, resolve_window
from midfold.usage import make_call
from midfold.wire import caching_applies
from midfold.wire.apis import Completion
from midfold.wire.failures import Failure

if TYPE_CHECKING:
    from midfold.providers import Transport

_OUTPUT_TOKENS = 16_000
"""Enough for a file of a thousand lines."""


@dataclass(frozen=True, slots=True)
class ActiveModel:
    """A model, opened. `explicit_window` is what a setting says of its window, if one does."""

    ref: ModelRef
    client: Model
    providers: Mapping[str, Provider]
    limits: LearnedLimits
    explicit_window: int | None = None
    cache_ttl: str = "5m"

    @classmethod
    def open(
        cls,
        ref: ModelRef,
        *,
        providers: Mapping[str, Provider],
        limits: LearnedLimits,
        transport: "Transport",
        retries: Retries,
        explicit_window: int | None = None,
        cache_ttl: str = "5m",
    ) -> "ActiveModel":
        """Open a model; raises `ConfigError`."""
        client = Model.open(
            ref.name,
            base_url=ref.base_url,
            key=ref.key,
            api=ref.api,
            providers=providers,
            transport=transport,
            retries=retries,
        )
        return cls(ref, client, providers, limits, explicit_window, cache_ttl)

    @property
    def endpoint(self) -> Endpoint:
        """Where it is."""
        return self.client.endpoint

    @property
    def name(self) -> str:
        """The model as its provider calls it."""
        return self.endpoint.model

    @property
    def dialect(self) -> str:
        """The dialect that it speaks."""
        return self.endpoint.api.name

    @property
    def route(self) -> str:
        """The server of the model, as far as prompt caches are concerned."""
        return self.endpoint.api.cache_route or self.endpoint.provider

    @property
    def window(self) -> Window:
        """The most tokens that a request may have, as far as that is known by now."""
        return resolve_window(
            self.ref.name,
            endpoint=self.endpoint.base_url,
            explicit=self.explicit_window,
            limits=self.limits,
        )

    @property
    def default_output(self) -> int | None:
        """The output cap where none is set: only Anthropic demands one, and its own would cut files short."""
        facts = find_model(self.ref.name) if self.endpoint.api.demands_output_cap else None
        return min(facts.max_output_tokens, _OUTPUT_TOKENS) if facts and facts.max_output_tokens else None

    @property
    def is_cached(self) -> bool:
        """Whether breakpoints are set for the provider's prompt cache."""
        return caching_applies(self.name, self.route)

    @property
    def caching(self) -> str:
        """Say in a few words how the prompt is cached."""
        return f"on ({self.name}, {self.route}, {self.cache_ttl})" if self.is_cached else "off"

    def learn(self, failure: Failure, window_tokens: int) -> bool:
        """Remember the window that a failure states; true where it is believed."""
        lesson = learn_limit(
            failure,
            self.limits,
            endpoint=self.endpoint.base_url,
            model=self.ref.name,
            configured_tokens=window_tokens,
        )
        return lesson in (Lesson.LEARNED, Lesson.LEARNED_UNSAVED)

    def make_call(self, completion: Completion, facts: Mapping[str, object]) -> Call:
        """Read a reply as a call to be recorded; what a server of one's own takes has no price."""
        provider = self.ref.provider(self.providers)
        is_billed = bool(provider.key_env or provider.key_file or self.ref.key)
        return make_call(
            {} if completion.raw_usage is None else completion.raw_usage,
            self.ref.name,
            dialect=completion.dialect,
            cache_ttl=self.cache_ttl if self.is_cached else None,
            prices=None if is_billed else Prices(),
            facts=facts,
        )
