"""The models that may write a summary: the one chosen for it, then the model of the conversation."""

from collections.abc import Callable, Mapping
from typing import TypeAlias

from midfold.late_dataclasses import dataclass, field
from midfold.providers.catalog import Provider, parse_name
from midfold.providers.endpoint import Endpoint, find_endpoint
from midfold.providers.keys import ApiKey


@dataclass(frozen=True, slots=True)
class ModelRef:
    """A model by its name, with what the name does not say."""

    name: str
    base_url: str | None = None
    key: ApiKey | None = field(default=None, repr=False)
    api: str | None = None

    def provider(self, providers: Mapping[str, Provider]) -> Provider:
        """Return the provider that serves it; raises `ConfigError` for a name that nobody can call."""
        return parse_name(self.name, providers, has_base_url=bool(self.base_url)).provider

    def endpoint(self, providers: Mapping[str, Provider]) -> Endpoint:
        """Find out where it is called; raises `ConfigError`, also where its key is missing."""
        return find_endpoint(
            self.name, base_url=self.base_url, key=self.key, api=self.api, providers=providers
        )


MainModel: TypeAlias = ModelRef | str | Callable[[], ModelRef | str | None] | None
"""The model of the conversation; a function where the user may switch it, asked before each summary."""


def as_ref(model: ModelRef | str | None) -> ModelRef | None:
    """Return a model that was given by its name alone as a reference; an empty name is none."""
    return ModelRef(model) if isinstance(model, str) and model else model or None


def find_models(chosen: ModelRef | None, main: MainModel) -> tuple[ModelRef, ...]:
    """List the models to ask, in this order, each once."""
    live = as_ref(main() if callable(main) else main)
    return tuple(dict.fromkeys(model for model in (chosen, live) if model is not None))
