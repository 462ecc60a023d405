"""Who may use the gateway: the right host name, no foreign web page, and a key where there are keys.

It is decided by headers alone, before anything of a body is read.
"""

import hashlib
import hmac
import logging
from collections.abc import Collection, Iterable, Mapping
from urllib.parse import unquote_to_bytes, urlsplit

from midfold.errors import ConfigError
from midfold.gateway.routes import RoutePolicy
from midfold.gateway.settings import is_loopback
from midfold.keys import KeyRing, VirtualKey
from midfold.late_dataclasses import dataclass, field
from midfold.providers import CREDENTIAL_HEADERS, ApiKey

log = logging.getLogger("midfold.gateway")

KEY_HEADER = "x-midfold-key"
_BEARER = "bearer "


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a request is not served."""

    status: int
    reason: str
    retry_seconds: int | None = None


@dataclass(frozen=True, slots=True)
class Caller:
    """Who sends a request: the owner of a key that was given out, or with `key` `None` of the gateway."""

    key: VirtualKey | None = None
    secrets: frozenset[str] = field(default=frozenset(), repr=False)
    """the texts of the gateway's keys that came with the request"""

    @property
    def tenant(self) -> str:
        return self.key.tenant if self.key is not None else ""

    @property
    def name(self) -> str:
        """The caller for logs."""
        return self.key.name if self.key is not None else "owner"

    @property
    def is_operator(self) -> bool:
        """Whether the caller may see what concerns all tenants."""
        return self.key is None or (self.key.is_admin and not self.key.tenant)


@dataclass(frozen=True, slots=True)
class AccessRules:
    """The rules. `hosts` are names beside the loopback ones by which clients may call the gateway."""

    key: ApiKey | None = field(default=None, repr=False)
    hosts: Collection[str] = ()
    ring: KeyRing | None = None

    def admit(self, headers: Mapping[str, str], policy: RoutePolicy) -> Caller | Refusal:
        """Return who sends a request, or why it is refused."""
        if not self._knows(headers.get("host", "")):
            return Refusal(403, "this host name is not the gateway's; gateway.allowed_hosts lists them")
        origin = headers.get("origin")
        if origin is not None and not self._knows(_authority(origin)):
            return Refusal(403, "requests of other web pages are not served")
        if policy is RoutePolicy.PUBLIC:
            return Caller()
        try:
            caller = self._identify(headers)
        except ConfigError as error:
            log.error("keys cannot be read, so nobody is served: %s", error)  # noqa: TRY400 - no traceback
            return Refusal(503, "the keys of the gateway cannot be read; its log says why")
        if isinstance(caller, Caller) and policy is RoutePolicy.ADMIN and caller.key is not None:
            return caller if caller.key.is_admin else Refusal(403, "this key is for models alone")
        return caller

    def _knows(self, host: str) -> bool:
        """Whether a name is one of ours: a page may point any other name at this machine."""
        name = _host_name(host) if _is_plain(host) else None
        return name is not None and (is_loopback(name) or name in self.hosts)

    def _identify(self, headers: Mapping[str, str]) -> Caller | Refusal:
        has_ring = self.ring is not None and not self.ring.is_empty
        if self.key is None and not has_ring:
            return Caller()
        brought = _brought(headers)
        expected = _digest(self.key.reveal()) if self.key is not None else b""
        # Every one is compared, so that the time tells nothing.
        own = {text for text in brought if hmac.compare_digest(_digest(text), expected)}
        found = {text: self.ring.find(text) for text in brought} if self.ring else {}
        secrets = frozenset(text for text in brought if text in own or found.get(text) is not None)
        if own:
            return Caller(None, secrets)
        for key in filter(None, found.values()):
            return Caller(key, secrets)
        return Refusal(401, f"the gateway's key is missing or wrong; send it as {KEY_HEADER}")


def refuse_leak(
    caller: Caller, headers: Iterable[tuple[bytes, bytes]], query: bytes, *, keys_are_ours: bool
) -> Refusal | None:
    """Refuse a request whose gateway key would go to the upstream, such as in the place of the client's own.

    Where the upstream's key is ours, it takes the place of all that the client brought.
    """
    replaced = CREDENTIAL_HEADERS if keys_are_ours else frozenset[str]()
    going_out = [
        value
        for name, value in headers
        if (lower := name.decode("latin-1").lower()) != KEY_HEADER and lower not in replaced
    ]
    going_out.append(unquote_to_bytes(query))
    secrets = [text.encode("latin-1") for text in caller.secrets]
    if not any(secret in text for secret in secrets for text in going_out):
        return None
    words = f"the gateway's key would go to the upstream; send it as {KEY_HEADER} and nowhere else"
    return Refusal(401, words)


def _brought(headers: Mapping[str, str]) -> set[str]:
    """Return the keys that a client may have brought; empty ones are none."""
    bearer = headers.get("authorization", "")
    found = (
        headers.get(KEY_HEADER, ""),
        bearer[len(_BEARER) :] if bearer.lower().startswith(_BEARER) else "",
        headers.get("x-api-key", ""),
    )
    return {text.strip() for text in found if text.strip()}


def _authority(origin: str) -> str:
    try:
        return urlsplit(origin).netloc
    except ValueError:  # brackets without an end
        return ""


def _host_name(host: str) -> str | None:
    try:
        return urlsplit(f"//{host}").hostname
    except ValueError:
        return None


def _is_plain(host: str) -> bool:
    return bool(host) and host.isascii() and not any(each in host for each in "/?#@\\ \t")


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
