"""Where one model is called, and with what. A key belongs to its address and goes nowhere else."""

import os
from collections.abc import Mapping
from types import MappingProxyType

from midfold.errors import ConfigError
from midfold.late_dataclasses import dataclass, field
from midfold.providers.catalog import PROVIDERS, Provider, parse_name
from midfold.providers.keys import ApiKey, SecretHeaders, key_from_environment, read_key_file
from midfold.providers.urls import origin_of, tidy_base_url
from midfold.wire.apis import Api, Quirks, get_api

_ALLOWED_HEADERS = frozenset(
    {
        "anthropic-beta",
        "http-referer",
        "idempotency-key",
        "openai-beta",
        "openai-organization",
        "openai-project",
        "traceparent",
        "tracestate",
        "user-agent",
        "x-request-id",
        "x-title",
    }
)
_USER_AGENT = "midfold"


class _NotSet:
    """The value of a variable that has none, in words."""

    def __repr__(self) -> str:
        return "not set"


NOT_SET = _NotSet()


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A model at an address."""

    provider: str
    model: str
    api: Api
    base_url: str
    key: ApiKey | None = None
    quirks: Quirks = field(default_factory=Quirks)
    extra_headers: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def url(self) -> str:
        """Where requests go."""
        return self.base_url + self.api.path

    @property
    def headers(self) -> SecretHeaders:
        """All headers of a request; none is ever copied from somebody else's."""
        return SecretHeaders(
            {
                "User-Agent": _USER_AGENT,
                **self.extra_headers,
                **self.api.headers(self.key.reveal() if self.key else ""),
                "Content-Type": "application/json",
                "Accept-Encoding": "gzip, deflate",
            }
        )


def find_endpoint(
    name: str,
    *,
    base_url: str | None = None,
    key: ApiKey | str | None = None,
    api: str | None = None,
    headers: Mapping[str, str] | None = None,
    providers: Mapping[str, Provider] = PROVIDERS,
    environ: Mapping[str, str] = os.environ,
) -> Endpoint:
    """Find out where and how to call `provider/model`; raises `ConfigError`.

    A provider's own key is used at the provider's own address alone: elsewhere it must be given.
    """
    named = parse_name(name, providers, has_base_url=bool(base_url))
    provider = named.provider
    if not (base_url or provider.base_url):
        raise ConfigError(
            "base_url", base_url, hint=f"the address of {provider.name!r}, which has no default"
        )
    address = tidy_base_url(base_url or provider.base_url)
    return Endpoint(
        provider=provider.name,
        model=named.model,
        api=get_api(api or provider.api),
        base_url=address,
        key=_as_secret(key) if key is not None else _own_key(provider, address, environ),
        quirks=provider.quirks,
        extra_headers=_check_headers(headers or {}),
    )


def _as_secret(key: ApiKey | str) -> ApiKey:
    return key if isinstance(key, ApiKey) else ApiKey(key)


def has_own_key(provider: Provider, base_url: str | None) -> bool:
    """Say whether a provider's own key goes to a base URL, which is so at the provider's own address alone.

    Without a key nothing is billed to it either.
    """
    if not (provider.key_env or provider.key_file):
        return False
    address = tidy_base_url(base_url or provider.base_url)
    return origin_of(address) == origin_of(tidy_base_url(provider.base_url))


def _own_key(provider: Provider, address: str, environ: Mapping[str, str]) -> ApiKey | None:
    if not has_own_key(provider, address):
        return None
    if provider.key_file:
        return read_key_file(provider.key_file)
    found = key_from_environment(provider.key_env, environ)
    if found is None:
        raise ConfigError(
            provider.key_env, NOT_SET, hint=f"the key of {provider.name}: export {provider.key_env}=..."
        )
    return found


def _check_headers(headers: Mapping[str, str]) -> Mapping[str, str]:
    """Refuse what is not allowed, and write names in the case of our own: none is to be sent twice."""
    for name, value in headers.items():
        if name.lower() not in _ALLOWED_HEADERS:
            raise ConfigError("headers", name, hint=f"one of {', '.join(sorted(_ALLOWED_HEADERS))}")
        if not value.isprintable() or not value.isascii():
            raise ConfigError(f"headers.{name}", value, hint="one line of ASCII")
    return MappingProxyType({name.title(): value for name, value in headers.items()})
