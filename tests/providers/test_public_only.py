"""T8: a transport for addresses that somebody else chose connects to public ones alone."""

import asyncio

import pytest

from midfold.errors import ProviderUnavailable
from midfold.providers import Model
from midfold.providers.http import Transport
from midfold.testing import Reply, Upstream


@pytest.mark.parametrize("host", ["127.0.0.1", "[::ffff:127.0.0.1]"])
def test_t8_an_address_that_is_written_out_is_checked_too(host):
    async def ask(url):
        transport = Transport(public_only=True)
        try:
            async with Model.open("local/m", base_url=url, transport=transport) as model:
                await model.complete("hello")
        finally:
            await transport.aclose()

    with Upstream(Reply("internal")) as up:
        with pytest.raises(ProviderUnavailable):
            asyncio.run(ask(up.url.replace("127.0.0.1", host)))
        assert up.requests == []
