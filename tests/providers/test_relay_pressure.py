"""A relay holds a bounded part of an answer, however long that is and however slowly it is taken."""

import asyncio
import sys
from pathlib import Path

import pytest

from midfold.providers import Relay, RelayRequest

PIECE = b"data: " + b"x" * 65_500 + b"\n\n"
MB = 1024 * 1024


def most_under_way() -> int:
    """Return what the kernel may hold for the two ends of a connection, and a little for us."""
    tables = (Path(f"/proc/sys/net/ipv4/tcp_{way}mem").read_text() for way in "rw")
    return sum(int(table.split()[-1]) for table in tables) + 8 * MB


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


class Fountain:
    """Sends so many bytes as fast as they are taken, and counts them."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.sent = 0

    async def __call__(self, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % self.size)
        while self.sent < self.size:
            piece = PIECE[: self.size - self.sent]
            writer.write(piece)
            await writer.drain()
            self.sent += len(piece)


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the memory of a process is read from /proc")
def test_slow_reader_of_a_long_stream_stalls_the_upstream(serve):
    fountain = Fountain(128 * MB)

    async def read(url: str) -> tuple[int, int, int]:
        taken = furthest = most = 0
        async with (
            Relay.open("local", base_url=url) as relay,
            relay.send(RelayRequest("POST", "/chat/completions", body=b"{}")) as answer,
        ):
            before = resident_bytes()
            await asyncio.sleep(0.3)  # enough to send all of it, if anybody took it
            pause_every, paused = 16 * MB, 0
            async for chunk in answer.chunks():
                furthest = max(furthest, fountain.sent - taken)
                taken += len(chunk)
                if taken // pause_every > paused:
                    paused += 1
                    await asyncio.sleep(0.1)
                    furthest = max(furthest, fountain.sent - taken)
                    most = max(most, resident_bytes() - before)
        return taken, furthest, most

    with serve(fountain) as server:
        taken, furthest, most = asyncio.run(read(server.url))
    assert taken == 128 * MB
    assert furthest < min(most_under_way(), 100 * MB)
    assert most < 48 * MB


def test_chunks_come_one_by_one_as_they_are_sent(serve):
    async def speak(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        for word in (b"one", b"two", b"three"):
            writer.write(b"%x\r\n%b\r\n" % (len(word), word))
            await taken.wait()
            taken.clear()
        writer.write(b"0\r\n\r\n")

    taken = asyncio.Event()

    async def read(url: str) -> list[bytes]:
        chunks = []
        async with (
            Relay.open("local", base_url=url) as relay,
            relay.send(RelayRequest("GET", "/x")) as answer,
        ):
            async for chunk in answer.chunks():
                chunks.append(chunk)
                server._loop.call_soon_threadsafe(taken.set)
        return chunks

    with serve(speak) as server:
        assert asyncio.run(read(server.url)) == [b"one", b"two", b"three"]


@pytest.mark.slow
def test_large_body_goes_up_as_it_is(serve):
    body = bytes(range(256)) * 4 * 1024 * 32  # 32 MB

    async def pieces():
        for start in range(0, len(body), 100_000):
            yield body[start : start + 100_000]

    async def send(url: str) -> None:
        async with Relay.open("local", base_url=url) as relay:
            for content, length in ((body, None), (pieces(), len(body))):
                request = RelayRequest("POST", "/x", body=content, length=length)
                async with relay.send(request) as answer:
                    assert answer.status == 200

    with serve(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n") as server:
        asyncio.run(send(server.url))
    assert server.bodies == [body, body]
