"""A transport for addresses that somebody else chose connects to public ones alone."""

import asyncio

import pytest

from midfold.errors import ConfigError, ProviderUnavailable
from midfold.providers import Model
from midfold.providers.http import Transport
from midfold.testing import Reply, Upstream


@pytest.mark.parametrize("host", ["127.0.0.1", "[::ffff:127.0.0.1]", "localhost", "2130706433", "0x7f.1"])
def test_this_machine_is_not_reached_however_it_is_written(host, waits):
    async def ask(url):
        transport = Transport(public_only=True)
        try:
            options = {"transport": transport, "retries": waits.retries}
            async with Model.open("local/m", base_url=url, **options) as model:
                await model.complete("hello")
        finally:
            await transport.aclose()

    with Upstream(Reply("internal")) as up:
        with pytest.raises(ProviderUnavailable):
            asyncio.run(ask(up.url.replace("127.0.0.1", host)))
        assert up.requests == []


def test_proxy_which_would_find_addresses_itself_is_refused_and_its_login_not_shown():
    with pytest.raises(ConfigError, match="proxy") as caught:
        Transport(public_only=True, proxy="http://user:pw-1234@proxy.example:3128")
    assert "pw-1234" not in str(caught.value)
