"""Who may use the gateway: the right host name, no foreign web page, and the key where there is one.

It is decided by headers alone, before anything of a body is read.
"""

import hashlib
import hmac
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from midfold.gateway.routes import RoutePolicy
from midfold.gateway.settings import is_loopback
from midfold.providers import ApiKey

KEY_HEADER = "x-midfold-key"
_BEARER = "bearer "


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a request is not served."""

    status: int
    reason: str


@dataclass(frozen=True, slots=True)
class AccessRules:
    """The rules. `hosts` are names beside the loopback ones by which clients may call the gateway."""

    key: ApiKey | None = field(default=None, repr=False)
    hosts: Collection[str] = ()

    def refuse(
        self, headers: Mapping[str, str], policy: RoutePolicy, *, keys_are_ours: bool
    ) -> Refusal | None:
        """Return why a request is refused, or `None`.

        `keys_are_ours` says that no key of the client's goes to the upstream, so that the client may bring
        the gateway's in its place.
        """
        if not self._knows(headers.get("host", "")):
            return Refusal(403, "this host name is not the gateway's; gateway.allowed_hosts lists them")
        origin = headers.get("origin")
        if origin is not None and not self._knows(urlsplit(origin).netloc):
            return Refusal(403, "requests of other web pages are not served")
        match policy:
            case RoutePolicy.CLIENT | RoutePolicy.ADMIN:
                return self._check_key(headers, keys_are_ours)
            case RoutePolicy.PUBLIC:
                return None

    def _knows(self, host: str) -> bool:
        """Whether a name is one of ours: a page may point any other name at this machine."""
        name = urlsplit(f"//{host}").hostname if _is_plain(host) else None
        return name is not None and (is_loopback(name) or name in self.hosts)

    def _check_key(self, headers: Mapping[str, str], keys_are_ours: bool) -> Refusal | None:
        if self.key is None:
            return None
        brought = [headers.get(KEY_HEADER, "")]
        if keys_are_ours:
            bearer = headers.get("authorization", "")
            brought += [bearer[len(_BEARER) :] if bearer.lower().startswith(_BEARER) else ""]
            brought += [headers.get("x-api-key", "")]
        expected = _digest(self.key.reveal())
        # Every one is compared, so that the time tells nothing.
        matches = [hmac.compare_digest(_digest(each.strip()), expected) for each in brought]
        where = "authorization or x-api-key" if keys_are_ours else KEY_HEADER
        return (
            None
            if any(matches)
            else Refusal(401, f"the gateway's key is missing or wrong; send it as {where}")
        )


def _is_plain(host: str) -> bool:
    return bool(host) and host.isascii() and not any(each in host for each in "/?#@\\ \t")


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
