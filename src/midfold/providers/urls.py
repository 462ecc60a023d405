"""Base URLs: tidy ones from the operator, and strict ones from anybody else.

An address that a stranger may choose is a way into the network behind us and a way out for our keys. So it is
a public host by https or nothing. Names are judged twice: here by their text, and again by the addresses
they turn out to have, when a connection is made.
"""

import re
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from urllib.parse import SplitResult, urlsplit

from midfold.errors import ConfigError
from midfold.late_patterns import compile_late

_SCHEMES = ("https", "http")
_UNFIT = compile_late(r"[^!-~]|\\")
_LOGIN = compile_late(r"(?<=//)[^/?#]*@")
_QUERY = compile_late(r"[?#].*", re.DOTALL)
_NAME = compile_late(r"(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9-]{2,63}")
# Every form of an IPv4 address that some resolver takes ends in a number: 2130706433, 0x7f.1, 0177.0.0.1.
_NUMBER = compile_late(r"\d+|0x[\da-f]*")
_PRIVATE_SUFFIXES = (
    ".localhost",
    ".localdomain",
    ".local",
    ".internal",
    ".intranet",
    ".lan",
    ".home",
    ".corp",
    ".home.arpa",
    ".in-addr.arpa",
    ".ip6.arpa",
)
_DENIED_IPV4 = (
    IPv4Network("192.0.0.0/24"),
    IPv4Network("192.88.99.0/24"),
    IPv4Network("168.63.129.16/32"),  # the platform's own address on Azure
)
_GLOBAL_IPV6 = IPv6Network("2000::/3")
_SIX_TO_FOUR = IPv6Network("2002::/16")


def tidy_base_url(url: str) -> str:
    """Return an operator's base URL without a slash at its end, `/v1` added where it has no path.

    Raises `ConfigError` for what is no address of a server, or holds a login.
    """
    parts = _split(url)
    if parts.scheme not in _SCHEMES:
        raise _refusal(url, "an address that starts with https:// or http://")
    path = parts.path.rstrip("/") or "/v1"
    return f"{parts.scheme}://{parts.netloc}{path}"


def origin_of(url: str) -> str:
    """Return scheme, host and port, which together are what a key belongs to."""
    parts = urlsplit(url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    return f"{parts.scheme}://{parts.hostname}:{port}"


def check_base_url(url: str, *, allow_loopback: bool = False) -> str:
    """Return the tidy form of a base URL that a user chose; raise `ConfigError` unless it is public.

    `allow_loopback` also lets through 127.0.0.0/8, ::1 and localhost, by http too. The addresses of a name
    are not known here: connect through a transport that is for public addresses only.
    """
    parts = _split(url)
    host = (parts.hostname or "").removesuffix(".")
    address = _read_address(url, host)
    is_loopback = host == "localhost" if address is None else address.is_loopback
    if allow_loopback and is_loopback:
        return tidy_base_url(url)
    if parts.scheme != "https":
        raise _refusal(url, "an https:// URL")
    if address is None and not _is_public_name(host):
        raise _refusal(url, "a public host name")
    if address is not None and not check_address(address):
        raise _refusal(url, "a public address")
    return tidy_base_url(url)


def check_address(address: IPv4Address | IPv6Address | str) -> bool:
    """Say whether an address is somebody's on the public internet.

    Addresses of IPv6 that have one of IPv4 inside (mapped, 6to4, NAT64, Teredo) are not: what they reach
    depends on the network.
    """
    try:
        address = ip_address(address)
    except ValueError:
        return False
    if address.is_multicast or not address.is_global:
        return False
    if isinstance(address, IPv4Address):
        return not any(address in network for network in _DENIED_IPV4)
    return address in _GLOBAL_IPV6 and address not in _SIX_TO_FOUR and address.scope_id is None


def _split(url: str) -> SplitResult:
    """Split a URL, refusing what two readers could take for different hosts."""
    if _UNFIT.search(url):
        raise _refusal(url, "a URL of visible ASCII characters without a backslash")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise _refusal(url, "a URL with a readable host and port") from None
    if "@" in parts.netloc:
        raise _refusal(url, "a URL without a login; keys travel in headers")
    if parts.query or parts.fragment:
        raise _refusal(url, "a URL without ? and #")
    if not parts.hostname or port == 0 or "%" in parts.netloc:
        raise _refusal(url, "an address such as http://127.0.0.1:8080/v1")
    return parts


def _read_address(url: str, host: str) -> IPv4Address | IPv6Address | None:
    """Read a host that is an address; `None` for a name. Odd forms of addresses are refused."""
    try:
        return ip_address(host)
    except ValueError:
        if ":" in host or _NUMBER.fullmatch(host.rsplit(".", 1)[-1]):
            raise _refusal(url, "an address in its usual form") from None
        return None


def _is_public_name(host: str) -> bool:
    return len(host) <= 253 and _NAME.fullmatch(host) is not None and not host.endswith(_PRIVATE_SUFFIXES)


def _refusal(url: str, hint: str) -> ConfigError:
    """Make the error, without what may be a credential in the URL."""
    return ConfigError("base_url", _QUERY.sub("?***", _LOGIN.sub("***@", url)), hint=hint)
