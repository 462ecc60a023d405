"""The settings of the gateway as code wants them: the upstreams, checked, and the key of its clients."""

import os
import re
from collections.abc import Mapping
from ipaddress import ip_address

from midfold.config import GatewaySettings
from midfold.errors import ConfigError
from midfold.late_dataclasses import dataclass, field
from midfold.providers import PROVIDERS, ApiKey, KeySource, Provider, read_key_file, tidy_base_url

OPENAI = "openai"
ANTHROPIC = "anthropic"
_UPSTREAM_NAMES = (OPENAI, ANTHROPIC)
_UPSTREAM_FIELDS = ("base_url", "key_env", "key_file", "provider", "api")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


@dataclass(frozen=True, slots=True)
class UpstreamSettings:
    """Where requests of one kind go, and whose key goes with them: with none of ours, the client's own."""

    name: str
    base_url: str
    provider: str
    """by which windows and prices are looked up"""
    key: ApiKey | None = field(default=None, repr=False)
    api: str = OPENAI
    """the requests that it takes: `openai` or `anthropic`"""

    @property
    def keys(self) -> KeySource:
        return KeySource.CLIENT if self.key is None else KeySource.OURS

    @property
    def described(self) -> str:
        """Say in a few words where it is and whose key it gets."""
        whose = "the client's key" if self.key is None else "the gateway's key"
        return f"{self.name} {self.base_url} ({whose})"


def read_upstreams(
    given: Mapping[str, object],
    providers: Mapping[str, Provider] = PROVIDERS,
    environ: Mapping[str, str] = os.environ,
) -> dict[str, UpstreamSettings]:
    """Return the upstreams by name; raises `ConfigError` with the dotted name of the setting at fault.

    A client can name none: they come from here alone. Beside the usual two there may be others, which only
    keys that were given out for them reach.
    """
    names = (*_UPSTREAM_NAMES, *(name for name in given if name not in _UPSTREAM_NAMES))
    return {name: _read_upstream(name, given.get(name), providers, environ) for name in names}


def _read_upstream(
    name: str, given: object, providers: Mapping[str, Provider], environ: Mapping[str, str]
) -> UpstreamSettings:
    setting = f"gateway.upstreams.{name}"
    if given is None:
        given = {}
    if not isinstance(given, Mapping):
        raise ConfigError(setting, "***", hint=f"a mapping with {', '.join(_UPSTREAM_FIELDS)}")
    for key, value in given.items():
        if key not in _UPSTREAM_FIELDS:
            raise ConfigError(f"{setting}.{key}", "***", hint=f"one of {', '.join(_UPSTREAM_FIELDS)}")
        if value is not None and not isinstance(value, str):
            raise ConfigError(f"{setting}.{key}", value, hint="a text")
    api = _read_api(name, given)
    provider = given.get("provider") or api
    if provider not in providers:
        raise ConfigError(f"{setting}.provider", provider, hint=f"one of {', '.join(sorted(providers))}")
    address = given.get("base_url") or providers[provider].base_url
    if not address:
        raise ConfigError(f"{setting}.base_url", None, hint="the address of the upstream")
    return UpstreamSettings(name, tidy_base_url(address), provider, _read_key(setting, given, environ), api)


def _read_api(name: str, given: Mapping[str, object]) -> str:
    """Return the API that an upstream speaks; that of the usual two is their name."""
    setting = f"gateway.upstreams.{name}"
    if name in _UPSTREAM_NAMES and given.get("api") in (None, name):
        return name
    if name in _UPSTREAM_NAMES or not _NAME.fullmatch(name):
        raise ConfigError(setting, "***", hint="a name of its own with an api, or openai or anthropic")
    api = given.get("api")
    if api not in _UPSTREAM_NAMES:
        raise ConfigError(f"{setting}.api", api, hint=f"one of {', '.join(_UPSTREAM_NAMES)}")
    return str(api)


def _read_key(setting: str, given: Mapping[str, object], environ: Mapping[str, str]) -> ApiKey | None:
    """Return the key that was set up for an upstream; one that is named and missing is an error."""
    if given.get("key_file"):
        return read_key_file(str(given["key_file"]))
    if not given.get("key_env"):
        return None
    text = environ.get(str(given["key_env"]), "").strip()
    if not text:
        raise ConfigError(f"{setting}.key_env", given["key_env"], hint="a variable that holds the key")
    return ApiKey(text)


def read_client_key(settings: GatewaySettings, environ: Mapping[str, str] = os.environ) -> ApiKey | None:
    """Return the key that clients must bring, if there is one."""
    if settings.key_file is not None:
        return read_key_file(settings.key_file)
    text = environ.get(settings.key_env, "").strip()
    return ApiKey(text) if text else None


def is_loopback(host: str) -> bool:
    """Whether an address, or the name for it, is this machine's own."""
    if host == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def check_listening(settings: GatewaySettings, key: ApiKey | None, *, has_keys: bool = False) -> None:
    """Raise `ConfigError` where the gateway would be open to a network: neither `key` nor keys given out."""
    if key is None and not has_keys and not is_loopback(settings.host):
        hint = f"127.0.0.1, or a key for clients: midfold keys create, {settings.key_env} or gateway.key_file"
        raise ConfigError("gateway.host", settings.host, hint=hint)
