"""The three APIs by name."""

from collections.abc import Mapping
from types import MappingProxyType

from midfold.errors import ConfigError
from midfold.wire.calls import anthropic, openai_chat, openai_responses
from midfold.wire.calls.api import Api

APIS: Mapping[str, Api] = MappingProxyType(
    {module.API.name: module.API for module in (openai_chat, openai_responses, anthropic)}
)


def get_api(name: str) -> Api:
    """Return the API of that name; raise `ConfigError` with the names there are."""
    if name not in APIS:
        raise ConfigError("api", name, hint=f"one of {', '.join(APIS)}")
    return APIS[name]
