"""A base URL that somebody else chose leads to the public internet or nowhere."""

import asyncio
import socket

import pytest
from aiohttp.abc import AbstractResolver

from midfold.errors import ConfigError
from midfold.providers import check_address, check_base_url
from midfold.providers.http import ConnectionBroken, Transport

PUBLIC = [
    "https://api.openai.com/v1",
    "https://api.openai.com./v1",
    "https://API.OpenAI.com/v1",
    "https://models.example.org:8443/api/v2",
    "https://8.8.8.8/v1",
    "https://[2606:4700:4700::1111]/v1",
    "https://xn--bcher-kva.example/v1",
]

REFUSED = [
    # not by https
    "http://api.openai.com/v1",
    "HTTP://api.openai.com/v1",
    "ftp://api.openai.com/v1",
    "file:///etc/passwd",
    "gopher://api.openai.com/",
    "//api.openai.com/v1",
    "api.openai.com/v1",
    "https:api.openai.com",
    "",
    # this machine
    "https://localhost/v1",
    "https://LOCALHOST/v1",
    "https://localhost./v1",
    "https://a.localhost/v1",
    "https://127.0.0.1/v1",
    "https://127.1/v1",
    "https://127.0.1/v1",
    "https://2130706433/v1",
    "https://0x7f000001/v1",
    "https://0x7f.0.0.1/v1",
    "https://0177.0.0.1/v1",
    "https://017700000001/v1",
    "https://127.0.0.1./v1",
    "https://0.0.0.0/v1",
    "https://0/v1",
    "https://[::]/v1",
    "https://[::1]/v1",
    "https://[0:0:0:0:0:0:0:1]/v1",
    # inside IPv6
    "https://[::ffff:127.0.0.1]/v1",
    "https://[::ffff:7f00:1]/v1",
    "https://[::ffff:8.8.8.8]/v1",
    "https://[::127.0.0.1]/v1",
    "https://[64:ff9b::7f00:1]/v1",
    "https://[64:ff9b::a9fe:a9fe]/v1",
    "https://[2002:7f00:1::]/v1",
    "https://[2001:0:7f00:1::]/v1",
    "https://[fe80::1]/v1",
    "https://[fe80::1%25eth0]/v1",
    "https://[2606:4700::1%25eth0]/v1",
    "https://[fc00::1]/v1",
    "https://[fd00:ec2::254]/v1",
    "https://[ff02::1]/v1",
    "https://[2001:db8::1]/v1",
    # private networks and metadata
    "https://10.0.0.1/v1",
    "https://172.16.0.1/v1",
    "https://192.168.1.1/v1",
    "https://100.64.0.1/v1",
    "https://100.100.100.200/v1",
    "https://169.254.169.254/latest/meta-data",
    "https://168.63.129.16/v1",
    "https://192.0.0.192/v1",
    "https://198.18.0.1/v1",
    "https://224.0.0.1/v1",
    "https://240.0.0.1/v1",
    "https://255.255.255.255/v1",
    "https://metadata.google.internal/v1",
    "https://printer.local/v1",
    "https://router.lan/v1",
    "https://intranet/v1",
    # one host for one reader, another for the next
    "https://api.openai.com@127.0.0.1/v1",
    "https://user:pw@api.openai.com/v1",
    "https://127.0.0.1\\@api.openai.com/v1",
    "https://api.openai.com\\.evil.example/v1",
    "https://api.openai.com%00.evil.example/v1",
    "https://127.0.0.1%2f@api.openai.com/v1",
    "https://%31%32%37.0.0.1/v1",
    "https://１２７.0.0.1/v1",
    "https://ⓛocalhost/v1",
    "https://api.openai.com /v1",
    "https://api.openai.com\t/v1",
    "https://api.openai.com\r\nHost: evil/v1",
    "https://api.openai.com/v1?x=1",
    "https://api.openai.com/v1#x",
    "https://api.openai.com:0/v1",
    "https://api.openai.com:99999/v1",
    "https://api.openai.com:port/v1",
    "https://[::1/v1",
    "https://-bad-.example/v1",
    f"https://{'a' * 64}.example/v1",
]


@pytest.mark.parametrize("url", PUBLIC)
def test_public_address_passes(url):
    assert check_base_url(url).startswith("https://")


def test_list_is_long_enough():
    assert len(set(REFUSED)) >= 60


@pytest.mark.parametrize("url", REFUSED)
def test_other_address_is_refused(url):
    with pytest.raises(ConfigError, match="base_url"):
        check_base_url(url)


@pytest.mark.parametrize(
    "url",
    ["http://127.0.0.1:8080", "http://localhost:11434/v1", "http://[::1]:8000/v1", "https://127.0.0.1/v1"],
)
def test_loopback_passes_where_it_is_allowed(url):
    assert check_base_url(url, allow_loopback=True)
    with pytest.raises(ConfigError):
        check_base_url(url)


@pytest.mark.parametrize(
    "url", ["http://10.0.0.1/v1", "http://2130706433/v1", "https://169.254.169.254/v1", "http://x.lan"]
)
def test_allowing_loopback_allows_nothing_else(url):
    with pytest.raises(ConfigError):
        check_base_url(url, allow_loopback=True)


@pytest.mark.parametrize("address", ["8.8.8.8", "2606:4700:4700::1111"])
def test_public_addresses_are_known(address):
    assert check_address(address)


@pytest.mark.parametrize("address", ["127.0.0.1", "::ffff:8.8.8.8", "not an address", "", "fe80::1%eth0"])
def test_other_addresses_are_not_public(address):
    assert not check_address(address)


class Rebinding(AbstractResolver):
    """Says something public the first time it is asked, and this machine ever after."""

    def __init__(self) -> None:
        self.answers = ["93.184.216.34"]
        self.asked = 0

    async def resolve(self, host, port=0, family=socket.AF_INET):
        self.asked += 1
        address = self.answers.pop() if self.answers else "127.0.0.1"
        return [{"hostname": host, "host": address, "port": port, "family": family, "proto": 0, "flags": 0}]

    async def close(self) -> None:
        pass


def test_name_that_turns_to_this_machine_is_not_followed():
    resolver = Rebinding()
    resolver.answers.clear()  # what was checked before is over; this is the moment of connecting

    async def connect() -> None:
        transport = Transport(public_only=True, resolver=resolver)
        try:
            async with transport.post("http://rebinding.example/v1", {}, b"{}"):
                raise AssertionError("a connection was made")
        finally:
            await transport.aclose()

    with pytest.raises(ConnectionBroken, match=r"cannot connect to rebinding\.example"):
        asyncio.run(connect())
    assert resolver.asked == 1


def test_every_address_of_a_name_must_be_public():
    class Mixed(Rebinding):
        async def resolve(self, host, port=0, family=socket.AF_INET):
            return [*await super().resolve(host, port), *await super().resolve(host, port)]

    async def connect() -> None:
        transport = Transport(public_only=True, resolver=Mixed())
        try:
            async with transport.post("http://mixed.example/v1", {}, b"{}"):
                raise AssertionError("a connection was made")
        finally:
            await transport.aclose()

    with pytest.raises(ConnectionBroken, match=r"cannot connect to mixed\.example"):
        asyncio.run(connect())
