"""Waits end when they should, and say truly what was waited for."""

import asyncio
import socket
import time

import pytest
from aiohttp.abc import AbstractResolver

from midfold.errors import ContextOverflow, ProviderError, ProviderUnavailable
from midfold.providers import Model, Timeouts
from midfold.providers.http import Transport
from midfold.testing.upstream import NEVER, DeliveryFault, HttpStatus, Reply, Upstream


class SilentResolver(AbstractResolver):
    """Looks for an address and never finds it."""

    async def resolve(self, host, port=0, family=socket.AF_INET):
        await asyncio.Event().wait()

    async def close(self) -> None:
        pass


async def ask(url: str, transport: Transport, waits, **options) -> None:
    try:
        options = {"base_url": url, "transport": transport, "retries": waits.retries, **options}
        async with Model.open("scripted", **options) as model:
            await model.complete("hello")
    finally:
        await transport.aclose()


def test_name_that_is_never_found_is_no_connection_and_is_tried_again(waits):
    transport = Transport(resolver=SilentResolver(), timeouts=Timeouts(connect=0.05, headers=20))
    with pytest.raises(ProviderUnavailable, match=r"no connection within 0\.05 s"):
        asyncio.run(ask("http://models.example", transport, waits))
    assert len(waits.seconds) == 3


def test_place_in_the_pool_that_never_comes_free_is_no_connection_and_is_tried_again(waits):
    async def crowd(up: Upstream) -> None:
        transport = Transport(max_connections=1, timeouts=Timeouts(connect=0.05, headers=20))
        async with Model.open("scripted", base_url=up.url, transport=transport) as model:
            first = asyncio.create_task(model.complete("hello"))
            await asyncio.to_thread(up.wait_until, lambda: len(up.requests) == 1)
            with pytest.raises(ProviderUnavailable, match=r"no connection within 0\.05 s"):
                await ask(up.url, transport, waits)
            with pytest.raises(ProviderUnavailable):
                await first

    with Upstream(NEVER) as up:
        asyncio.run(crowd(up))
        assert len(up.requests) == 1
    assert len(waits.seconds) == 3


def test_refused_connection_is_told_in_the_words_of_the_system(waits):
    with Upstream() as up:
        pass
    with pytest.raises(ProviderUnavailable) as caught:
        asyncio.run(ask(up.url, Transport(), waits))
    address = up.url.removeprefix("http://")
    assert str(caught.value) == f"local/scripted: cannot connect to {address}: Connection refused"


DRIPPING = DeliveryFault(pieces=(1,), chunk_seconds=0.01)
TOO_LONG = {"error": {"message": "prompt is too long: 9000 tokens > 8192 maximum"}}


def test_error_that_drips_is_given_up_and_its_status_counts(api, waits):
    transport = Transport(timeouts=Timeouts(error_body=0.1, idle=20))
    started = time.monotonic()
    with Upstream(HttpStatus(404, "x" * 2_000, fault=DRIPPING)) as up:
        with pytest.raises(ProviderError, match="answered 404") as caught:
            asyncio.run(ask(up.url, transport, waits, api=api))
        up.wait_until(lambda: up.open_connections == 0)
    assert time.monotonic() - started < 15  # all of it would drip for twenty seconds
    assert set(caught.value.body) == set(b"x")
    assert len(caught.value.body) < 2_000


def test_error_that_comes_slowly_but_whole_is_read(api, waits):
    slow = DeliveryFault(pieces=(20,), chunk_seconds=0.005)
    with Upstream(HttpStatus(400, TOO_LONG, fault=slow)) as up, pytest.raises(ContextOverflow) as caught:
        asyncio.run(ask(up.url, Transport(), waits, api=api))
    assert caught.value.limit == 8192


def test_answer_that_drips_is_waited_for(api, waits):
    transport = Transport(timeouts=Timeouts(error_body=0.05, idle=20))
    with Upstream(Reply("x", fault=DeliveryFault(pieces=(40,), chunk_seconds=0.02))) as up:
        asyncio.run(ask(up.url, transport, waits, api=api))
        assert len(up.requests) == 1
