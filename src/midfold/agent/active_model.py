"""The model that is talked to now: where it is, how large its window is, and what its calls cost."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from midfold.engines import learn_limit
from midfold.late_dataclasses import dataclass, replace
from midfold.providers import UNSTATED_WINDOW, Endpoint, Model, Provider, Retries, ask_window
from midfold.providers.summarizers import ModelRef
from midfold.store import Call
from midfold.tokens import LearnedLimits, Lesson, Prices, Window, find_model, resolve_window
from midfold.usage import make_call
from midfold.wire import caching_applies
from midfold.wire.apis import Completion
from midfold.wire.failures import Failure

if TYPE_CHECKING:
    from midfold.providers import Transport

OFF = "off"
_OUTPUT_TOKENS = 16_000
"""Enough for a file of a thousand lines."""


@dataclass(frozen=True, slots=True)
class ActiveModel:
    """A model, opened. `explicit_window` is what a setting says of its window, if one does.

    `server_window` is what a server of one's own says of it, where that was to be asked.
    """

    ref: ModelRef
    client: Model
    providers: Mapping[str, Provider]
    limits: LearnedLimits
    explicit_window: int | None = None
    cache_ttl: str = "5m"
    asks_server: bool = False
    server_window: int | None = None

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
        asks_server: bool = False,
    ) -> "ActiveModel":
        """Open a model; with `asks_server`, a server of one's own says its window. Raises `ConfigError`."""
        client = Model.open(
            ref.name,
            base_url=ref.base_url,
            key=ref.key,
            api=ref.api,
            providers=providers,
            transport=transport,
            retries=retries,
        )
        model = cls(ref, client, providers, limits, explicit_window, cache_ttl, asks_server)
        is_unknown = asks_server and explicit_window is None and not model._is_billed
        return replace(model, server_window=ask_window(client.endpoint)) if is_unknown else model

    def open_other(
        self, ref: ModelRef, *, transport: "Transport", retries: Retries, explicit_window: int | None
    ) -> "ActiveModel":
        """Open another model on the same terms; raises `ConfigError`."""
        return ActiveModel.open(
            ref,
            providers=self.providers,
            limits=self.limits,
            transport=transport,
            retries=retries,
            explicit_window=explicit_window,
            cache_ttl=self.cache_ttl,
            asks_server=self.asks_server,
        )

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
        asked = self.asks_server and self.explicit_window is None and not self._is_billed
        stated = (self.server_window or UNSTATED_WINDOW) if asked else None
        found = resolve_window(
            self.ref.name,
            endpoint=self.endpoint.base_url,
            explicit=self.explicit_window or stated,
            limits=self.limits,
        )
        if asked and found.source == "explicit":
            return replace(found, source="server" if self.server_window else "assumed")
        return found

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
    def writes_calls_as_text(self) -> bool:
        """Whether a call may come as text: servers of one's own often have no template for calls.

        A provider that has a key parses the calls of its models; text that looks like one is text there.
        """
        return not self._is_billed

    @property
    def _is_billed(self) -> bool:
        provider = self.ref.provider(self.providers)
        return bool(provider.key_env or provider.key_file or self.ref.key)

    @property
    def caching(self) -> str:
        """Say in a few words how the prompt is cached."""
        return f"on ({self.name}, {self.route}, {self.cache_ttl})" if self.is_cached else OFF

    def learn(self, failure: Failure, window_tokens: int) -> bool:
        """Remember the window that a failure states; true where it is believed."""
        lesson = learn_limit(
            failure,
            self.limits,
            endpoint=self.endpoint.base_url,
            model=self.ref.name,
            configured_tokens=window_tokens,
            is_guess=self.window.source == "probe",
        )
        return lesson in (Lesson.LEARNED, Lesson.LEARNED_UNSAVED)

    def note_success(self, prompt_tokens: int) -> bool:
        """Forget a learnt window that this prompt did not fit into; true where there was one."""
        return self.limits.note_success(self.endpoint.base_url, self.ref.name, prompt_tokens)

    def make_call(self, completion: Completion, facts: Mapping[str, object]) -> Call:
        """Read a reply as a call to be recorded; what a server of one's own takes has no price."""
        return make_call(
            {} if completion.raw_usage is None else completion.raw_usage,
            self.ref.name,
            dialect=completion.dialect,
            cache_ttl=self.cache_ttl if self.is_cached else None,
            prices=None if self._is_billed else Prices(),
            facts=facts,
        )
