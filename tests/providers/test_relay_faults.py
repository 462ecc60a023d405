"""What a relay does when its upstream, its client or the line between them fails."""

import asyncio
import gzip
import json
import socket
import struct
import time
from contextlib import suppress

import pytest

from midfold.errors import ContextOverflow, ProviderError, RateLimited
from midfold.providers import Relay, RelayBroken, RelayRequest, Timeouts
from midfold.testing.upstream import (
    HANG_UP,
    NEVER,
    RESET,
    DeliveryFault,
    HttpStatus,
    Raw,
    Reply,
    Unreachable,
    Upstream,
)
from midfold.wire.failures import FailureKind

QUESTION = {"model": "m", "messages": [{"role": "user", "content": "hello"}]}
ASKED = RelayRequest("POST", "/chat/completions", body=json.dumps(QUESTION).encode())
STREAMED = RelayRequest("POST", "/chat/completions", body=json.dumps({**QUESTION, "stream": True}).encode())
BODY = bytes(range(256)) * 40


async def take(url: str, request: RelayRequest = ASKED, *, pause: float = 0, **options):
    """Return what came of a body, the error that ended it, and what was observed."""
    received = bytearray()
    async with Relay.open("local", base_url=url, **options) as relay, relay.send(request) as answer:
        try:
            async for chunk in answer.chunks():
                received += chunk
                await asyncio.sleep(pause)
        except RelayBroken as error:
            return bytes(received), error, answer.observation()
        return bytes(received), None, answer.observation()


def framed(body: bytes, promised: int, extra: bytes = b"") -> bytes:
    return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n%b\r\n%b" % (promised, extra, body)


@pytest.mark.parametrize("cut_at", [0, 1, 5_000, len(BODY) - 1])
@pytest.mark.parametrize("pause", [0, 0.05], ids=["quick reader", "slow reader"])
def test_every_byte_before_a_cut_is_passed_on_and_then_the_error(cut_at, pause):
    with Upstream(Raw(framed(BODY[:cut_at], len(BODY)))) as up:
        received, error, seen = asyncio.run(take(up.url, pause=pause))
    assert received == BODY[:cut_at]
    assert error.may_pass
    assert error.has_begun is bool(cut_at)
    assert not seen.complete


def test_bytes_that_wait_for_a_slow_reader_outlive_the_connection(serve):
    async def send_and_leave(writer):
        writer.write(framed(b"", 500_000))
        for _ in range(4):
            writer.write(b"x" * 30_000)
            await writer.drain()
            await asyncio.sleep(0.02)
        writer.close()

    async def read_late(url: str) -> int:
        size = 0
        async with Relay.open("local", base_url=url) as relay, relay.send(ASKED) as answer:
            await asyncio.sleep(0.3)
            try:
                async for chunk in answer.chunks():
                    size += len(chunk)
            except RelayBroken:
                return size
        raise AssertionError("it did not break off")

    with serve(send_and_leave) as server:
        assert asyncio.run(read_late(server.url)) == 120_000


def test_reset_is_an_error(serve):
    async def reset(writer):
        writer.write(framed(b"some", 100))
        await writer.drain()
        await asyncio.sleep(0.05)
        line = writer.get_extra_info("socket")
        line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()

    with serve(reset) as server:
        received, error, seen = asyncio.run(take(server.url))
    assert (received, error.has_begun) == (b"some", True)
    assert "broke off" in seen.reason


def slowly(*pieces: bytes):
    async def write(writer):
        for piece in pieces:
            writer.write(piece)
            await asyncio.sleep(0.05)
        await asyncio.Event().wait()

    return write


def test_chunk_without_a_size_is_an_error(serve):
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    with serve(slowly(head + b"4\r\nsome\r\n", b"not a size\r\nmore")) as server:
        received, error, _ = asyncio.run(take(server.url))
    assert received == b"some"
    assert error.has_begun


def test_more_bytes_than_promised_are_not_part_of_the_answer(serve):
    with serve(slowly(framed(b"whole", 5), b"SURPLUS")) as server:
        received, error, _ = asyncio.run(take(server.url))
    assert (received, error) == (b"whole", None)


UNANSWERED = {
    "hang up": (HANG_UP, True),
    "reset": (RESET, True),
    "garbage": (Raw(b"\x16\x03\x01garbage\r\n\r\n"), True),
    "an answer that cannot be parsed": (Raw(framed(b"wholeHTTP/1.1 what", 5)), True),
    "nothing": (NEVER, False),
    "another protocol": (
        Raw(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n"),
        False,
    ),
}


@pytest.mark.parametrize(("fault", "may_pass"), UNANSWERED.values(), ids=UNANSWERED)
def test_no_answer_is_an_error_and_nothing_is_sent_again(fault, may_pass):
    with Upstream(fault) as up:
        with pytest.raises(RelayBroken) as caught:
            asyncio.run(take(up.url, timeouts=Timeouts(headers=0.2)))
        assert len(up.requests) == 1
    assert caught.value.may_pass is may_pass
    assert caught.value.has_begun is False


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "HEAD"])
def test_request_that_could_be_repeated_is_not(method):
    with Upstream(HANG_UP) as up:
        request = RelayRequest(method, "/chat/completions", body=b"x" if method == "PUT" else b"")
        with pytest.raises(RelayBroken):
            asyncio.run(take(up.url, request))
        assert len(up.requests) == 1


def test_nobody_there_is_an_error():
    with Unreachable() as place, pytest.raises(RelayBroken, match="no connection within"):
        asyncio.run(take(place.url, timeouts=Timeouts(connect=0.1)))


def test_idle_stream_is_an_error_and_a_slow_one_is_none():
    with Upstream(Reply("one two three", fault=DeliveryFault(chunk_seconds=0.05))) as up:
        _, error, seen = asyncio.run(take(up.url, STREAMED, timeouts=Timeouts(idle=0.5)))
        assert error is None
        assert seen.completion.text == "one two three"
    with Upstream(Reply("one two", fault=DeliveryFault(chunk_seconds=30))) as up:
        _, error, seen = asyncio.run(take(up.url, STREAMED, timeouts=Timeouts(idle=0.1)))
    assert "nothing more came for 0.1 s" in str(error)
    assert not error.may_pass
    assert "nothing more came" in seen.reason


def test_waiting_of_the_client_is_no_idling_of_the_upstream():
    with Upstream(Reply("one two three", fault=DeliveryFault(pieces=(50,)))) as up:
        _, error, seen = asyncio.run(take(up.url, STREAMED, pause=0.15, timeouts=Timeouts(idle=0.1)))
    assert error is None
    assert seen.complete


@pytest.mark.slow
def test_body_that_takes_its_time_does_not_use_up_the_wait_for_an_answer(serve):
    async def slowly():
        for _ in range(5):
            await asyncio.sleep(0.1)
            yield b"piece"

    request = RelayRequest("POST", "/x", body=slowly())
    with serve(framed(b"ok", 2)) as server:
        received, _, _ = asyncio.run(take(server.url, request, timeouts=Timeouts(headers=0.3)))
    assert received == b"ok"
    assert server.bodies == [b"piece" * 5]


def test_what_breaks_the_body_of_the_request_reaches_the_caller(serve):
    class ClientLeft(Exception):
        pass

    async def pieces():
        yield b"piece"
        raise ClientLeft

    with serve(framed(b"ok", 2)) as server, pytest.raises(ClientLeft):
        asyncio.run(take(server.url, RelayRequest("POST", "/x", body=pieces())))


def test_answer_may_come_before_the_body_is_sent(serve):
    async def endless():
        while True:
            yield b"x" * 1_000
            await asyncio.sleep(0.01)

    async def refuse_at_once(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\n\r\nbig")
        await writer.drain()
        with suppress(ConnectionError):
            await reader.read()
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()
        closed.set()

    closed = asyncio.Event()

    async def run() -> tuple[int, bytes]:
        server = await asyncio.start_server(refuse_at_once, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        request = RelayRequest("POST", "/x", body=endless())
        async with server, Relay.open("local", base_url=url) as relay:
            async with relay.send(request) as answer:
                found = answer.status, await answer.peek()
            await closed.wait()
            return found

    assert asyncio.run(run()) == (413, b"big")


def test_leaving_the_block_disconnects_the_upstream(serve):
    async def speak(writer):
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        while True:
            writer.write(b"5\r\nhello\r\n")
            await writer.drain()
            await asyncio.sleep(0.01)

    async def leave(url: str) -> float:
        async with Relay.open("local", base_url=url) as relay:
            async with relay.send(ASKED) as answer:
                await anext(answer.chunks())
                left_at = time.monotonic()
            assert await asyncio.to_thread(server.gone.wait, 2)
            return time.monotonic() - left_at

    with serve(speak) as server:
        assert asyncio.run(leave(server.url)) < 1


def test_last_chunk_that_was_taken_is_observed():
    async def leave(url: str):
        async with Relay.open("local", base_url=url) as relay, relay.send(STREAMED) as answer:
            async for chunk in answer.chunks():
                if b"hello" in chunk:
                    return answer.observation()
        raise AssertionError("it said nothing")

    with Upstream(Reply("hello world", fault=DeliveryFault(chunk_seconds=0.05))) as up:
        seen = asyncio.run(leave(up.url))
    assert seen.completion.text.startswith("hello")
    assert (seen.complete, seen.reason) == (False, "the answer was not taken to its end")


@pytest.mark.parametrize("moment", ["before the answer", "in the body"])
def test_cancelled_caller_disconnects_the_upstream_within_a_second(serve, moment):
    async def stall(writer):
        if moment == "in the body":
            writer.write(framed(b"some", 100))
        await asyncio.Event().wait()

    async def cancel(url: str) -> float:
        async with Relay.open("local", base_url=url) as relay:

            async def read() -> None:
                async with relay.send(ASKED) as answer:
                    async for _ in answer.chunks():
                        pass

            task = asyncio.create_task(read())
            await asyncio.sleep(0.2)
            task.cancel()
            cancelled_at = time.monotonic()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert await asyncio.to_thread(server.gone.wait, 2)
            return time.monotonic() - cancelled_at

    with serve(stall) as server:
        assert asyncio.run(cancel(server.url)) < 1


def test_connection_is_used_again_after_a_whole_answer():
    async def twice(url: str) -> None:
        async with Relay.open("local", base_url=url) as relay:
            for _ in range(2):
                async with relay.send(ASKED) as answer:
                    assert [chunk async for chunk in answer.chunks()]

    with Upstream(Reply("hello")) as up:
        asyncio.run(twice(up.url))
        assert (len(up.requests), up.connections) == (2, 1)


def test_closed_relay_says_so():
    async def run(url: str) -> None:
        relay = Relay.open("local", base_url=url)
        await relay.aclose()
        async with relay.send(ASKED):
            raise AssertionError("it is closed")

    with Upstream() as up, pytest.raises(RelayBroken, match="the relay is closed"):
        asyncio.run(run(up.url))


REFUSAL = {
    "error": {"message": "This model's maximum context length is 8192 tokens, however you requested 9000."}
}


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
def test_failure_is_judged_before_its_exact_bytes_are_passed_on(packed):
    async def judge(url: str):
        async with Relay.open("local", base_url=url) as relay, relay.send(ASKED) as answer:
            failed = await answer.failure()
            assert not answer.has_begun
            body = b"".join([chunk async for chunk in answer.chunks()])
            assert answer.has_begun
            return failed, body, answer.observation()

    with Upstream(HttpStatus(400, REFUSAL, fault=DeliveryFault(gzip=packed))) as up:
        failed, body, seen = asyncio.run(judge(up.url))
    assert isinstance(failed.error, ContextOverflow)
    assert failed.error.limit == 8192
    assert json.loads(gzip.decompress(body) if packed else body) == REFUSAL
    assert (seen.failure.kind, seen.failure.limit) == (FailureKind.PROMPT_TOO_LONG, 8192)
    assert seen.completion is None


def test_failure_that_cannot_be_unpacked_is_not_taken_for_an_empty_one():
    async def judge(url: str):
        async with Relay.open("local", base_url=url) as relay, relay.send(ASKED) as answer:
            return await answer.failure()

    with Upstream(HttpStatus(400, b"\x8b\x05\x80", {"Content-Encoding": "odd"})) as up:
        failed = asyncio.run(judge(up.url))
    assert not isinstance(failed.error, ContextOverflow)


def test_rate_limit_keeps_its_wait():
    async def judge(url: str):
        async with Relay.open("local", base_url=url) as relay, relay.send(ASKED) as answer:
            return await answer.failure()

    with Upstream(HttpStatus(429, headers={"Retry-After": "7"})) as up:
        failed = asyncio.run(judge(up.url))
    assert isinstance(failed.error, RateLimited)
    assert (failed.error.retry_after, failed.may_pass) == (7.0, True)


@pytest.mark.slow
def test_peek_gives_up_on_what_is_large_or_late_and_loses_nothing(serve):
    async def late(writer):
        writer.write(framed(b"early", 9))
        await asyncio.sleep(0.3)
        writer.write(b"late")

    async def look(url: str, max_bytes: int) -> tuple[bytes | None, bytes]:
        patience = Timeouts(error_body=0.1)
        async with Relay.open("local", base_url=url, timeouts=patience) as relay, relay.send(ASKED) as answer:
            seen = await answer.peek(max_bytes)
            return seen, b"".join([chunk async for chunk in answer.chunks()])

    with serve(late) as server:
        assert asyncio.run(look(server.url, 100)) == (None, b"earlylate")
    with serve(framed(BODY, len(BODY))) as server:
        assert asyncio.run(look(server.url, 10)) == (None, BODY)
        assert asyncio.run(look(server.url, len(BODY))) == (BODY, BODY)


@pytest.mark.parametrize("status", [300, 301, 302, 303, 307, 308])
def test_redirect_is_an_error_and_leads_nowhere(status):
    with (
        Upstream() as other,
        Upstream(HttpStatus(status, "", {"Location": f"{other.url}/v1/steal?key=x"})) as up,
    ):
        with pytest.raises(ProviderError, match="which is not followed") as caught:
            asyncio.run(take(up.url, key="sk-ours-123456789012"))
        assert other.requests == []
    assert caught.value.status == status
