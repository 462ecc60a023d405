"""The three APIs by name."""

from collections.abc import Mapping
from types import MappingProxyType

from midfold.errors import ConfigError
from midfold.wire.apis import anthropic, openai_chat, openai_responses
from midfold.wire.apis.api import Api

APIS: Mapping[str, Api] = MappingProxyType(
    {module.API.name: module.API for module in (openai_chat, openai_responses, anthropic)}
)


def get_api(name: str) -> Api:
    """Return the API of that name; raise `ConfigError` with the names there are."""
    if name not in APIS:
        raise ConfigError("api", name, hint=f"one of {', '.join(APIS)}")
    return APIS[name]


def find_api(path: str) -> Api | None:
    """Return the API that answers a path with a completion, whatever base and query; `None` for any other."""
    endpoint = path.partition("?")[0].rstrip("/")
    return next((api for api in APIS.values() if endpoint.endswith(api.path)), None)
