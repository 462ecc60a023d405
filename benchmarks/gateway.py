"""What the gateway adds to a request and to a stream, what it holds in memory, and what it changes.

Upstream, gateway and client are three processes on loopback. `python -m benchmarks.gateway` prints all
figures; `latency`, `streams`, `slow` and `conversations` as an argument print one kind. Other gateways are
measured beside it where their commands are given: `--beside "NAME=COMMAND"`, in which `{upstream}` and
`{port}` stand for ports.
"""

import argparse
import asyncio
import http.client
import json
import os
import random
import re
import shlex
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path

from benchmarks.gateway_conversations import conversations
from benchmarks.timing import report
from midfold.testing import transcript
from midfold.tokens import TokenCounter
from midfold.wire import parse

ROUNDS = 60
_WARMING = 5


@dataclass(frozen=True, slots=True)
class Size:
    """A conversation to measure with, and what may be added to each of its requests."""

    messages: int
    tokens: int
    body_bytes: int
    goal_ms: float
    model: str = "gpt-5-mini"


SIZES = (
    Size(100, 46_000, 160_000, 5.0),
    Size(400, 180_000, 642_000, 15.0, "gpt-4.1"),
    Size(400, 180_000, 642_000, 15.0),
)
"""The last is folded: it is over the threshold of its model's window."""
STREAMS, STREAM_SECONDS, STREAM_PACE = 500, 120, 0.5
READERS, READER_BYTES, READER_RATE, READER_SECONDS = 200, 20_000_000, 2_000, 30
_PATH = "/v1/chat/completions"
_START_SECONDS = 180.0
_WORDS = ("the", "tariff", "zone", "was", "checked", "against", "src/meters", "and", "is", "2.40", "a day;")
_WORDS_PER_NUMBER = 7


@dataclass(frozen=True, slots=True)
class Places:
    """Where upstream and gateway listen, and the process of the gateway."""

    upstream: int
    gateway: int
    pid: int
    name: str = "midfold"

    @property
    def cpu_ms(self) -> float:
        """The processor time that the gateway has used."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) * 1_000 / os.sysconf("SC_CLK_TCK")

    @property
    def rss_mb(self) -> float:
        """The memory of the gateway."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        found = re.search(r"VmRSS:\s+(\d+)", status)
        return int(found[1]) / 1024 if found else 0.0


@contextmanager
def running() -> Iterator[Places]:
    """Run an upstream and a gateway before it, on a store of its own."""
    with tempfile.TemporaryDirectory() as home:
        upstream = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.gateway_upstream"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        port = int(upstream.stdout.readline()) if upstream.stdout else 0
        environ = {
            **os.environ,
            "MIDFOLD_HOME": home,
            "MIDFOLD_GATEWAY__PORT": "0",
            "MIDFOLD_GATEWAY__UPSTREAMS": json.dumps({"openai": {"base_url": f"http://127.0.0.1:{port}"}}),
        }
        gateway = subprocess.Popen(
            [sys.executable, "-m", "midfold", "serve"], env=environ, stderr=subprocess.PIPE, text=True
        )
        try:
            first = gateway.stderr.readline() if gateway.stderr else ""
            yield Places(port, int(first.rpartition(":")[2]), gateway.pid)
        finally:
            for process in (gateway, upstream):
                process.terminate()
                process.communicate()


@contextmanager
def running_beside(described: str, upstream: int) -> Iterator[Places]:
    """Run another gateway before the same upstream."""
    name, _, command = described.partition("=")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as home:
        process = subprocess.Popen(
            shlex.split(command.format(upstream=upstream, port=port)),
            env={**os.environ, "HOME": home},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=home,
        )
        try:
            _wait_for(port)
            yield Places(upstream, port, process.pid, name)
        finally:
            process.terminate()
            process.wait()


def _wait_for(port: int) -> None:
    until = time.monotonic() + _START_SECONDS
    while time.monotonic() < until:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.2)
    raise TimeoutError(f"nothing listens on port {port}")


def make_body(messages: int, size: int, number: int, model: str = "gpt-5-mini") -> bytes:
    """Return a request of about so many bytes; `number` is the conversation."""
    items = transcript("openai_chat", seed=number, turns=messages // 3, steps=1, result_chars=100)[:messages]
    chars = (size - len(json.dumps(items))) // max(sum(item["role"] == "tool" for item in items), 1)
    chance = random.Random(number)
    for item in items:
        if item["role"] == "tool":
            item["content"] = _write_result(chance, chars)
    body = {"model": model, "messages": items, "stream": False}
    return json.dumps(body, ensure_ascii=False).encode()


def _write_result(chance: random.Random, chars: int) -> str:
    """Write a tool result of which a token is 3.4 to 3.6 characters, as in agents' conversations."""
    words = [
        chance.choice(_WORDS) if index % _WORDS_PER_NUMBER else str(chance.randrange(10**6))
        for index in range(chars // 4)
    ]
    return " ".join(words)[:chars]


def measure_latency(port: int, bodies: list[bytes]) -> list[float]:
    """Return the milliseconds of each request over one connection."""
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.connect()
    # Else the second half of a request waits for the acknowledgement of the first.
    connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    taken = []
    for body in bodies:
        start = time.perf_counter()
        headers = {"content-type": "application/json", "authorization": "Bearer any"}
        connection.request("POST", _PATH, body, headers)
        answer = connection.getresponse()
        said = answer.read()
        if answer.status != HTTPStatus.OK:
            raise ConnectionError(f"{answer.status}: {said[:200]!r}")
        taken.append((time.perf_counter() - start) * 1_000)
    connection.close()
    return taken


@dataclass(frozen=True, slots=True)
class Added:
    """What a gateway adds to a request of a conversation that grows, in milliseconds."""

    p50: float
    p99: float
    first: float
    cpu: float


def grow_bodies(size: Size) -> list[bytes]:
    """Return the requests of a conversation that grows by a turn each time."""
    grown = json.loads(make_body(size.messages, size.body_bytes, size.messages, size.model))
    bodies = []
    for number in range(ROUNDS + _WARMING):
        reply = {"role": "assistant", "content": f"It is done, the {number}th time."}
        say = {"role": "user", "content": f"And turn {number}?"}
        grown["messages"] = [*grown["messages"], reply, say]
        bodies.append(json.dumps(grown).encode())
    return bodies


def measure_added(places: Places, bodies: list[bytes], direct: float) -> Added:
    """Measure what a gateway adds to requests that take `direct` without it; its first five warm it."""
    through = measure_latency(places.gateway, bodies[:_WARMING])
    before = places.cpu_ms
    through += measure_latency(places.gateway, bodies[_WARMING:])
    cpu = (places.cpu_ms - before) / ROUNDS
    added = sorted(each - direct for each in through[_WARMING:])
    return Added(statistics.median(added), added[int(len(added) * 0.99)], through[0] - direct, cpu)


def latency(places: Places, others: Sequence[Places] = ()) -> None:
    """Print what the gateway adds to a request of a conversation that grows, and others beside it."""
    for size in SIZES:
        bodies = grow_bodies(size)
        direct = statistics.median(measure_latency(places.upstream, bodies)[_WARMING:])
        ours = measure_added(places, bodies, direct)
        tokens, size_kb = _count_tokens(bodies[0]) // 1_000, len(bodies[0]) // 1_000
        report(
            f"{tokens}k tokens, {size.messages} messages, {size_kb} KB, {size.model}: p50, p99, first",
            f"{ours.p50:.1f}, {ours.p99:.1f}, {ours.first:.0f} ms",
            f"{size.goal_ms:.0f} ms",
        )
        report("processor time of each, recording included", f"{ours.cpu:.1f} ms", "-")
        for other in others:
            theirs = measure_added(other, bodies, direct)
            ratios = f"{theirs.p50 / ours.p50:.1f}, {theirs.cpu / ours.cpu:.1f} times ours"
            report(
                f"{other.name}: p50, p99, processor time",
                f"{theirs.p50:.1f}, {theirs.p99:.1f}, {theirs.cpu:.1f} ms; {ratios}",
                "10 times",
            )
    report("memory after that", f"{places.rss_mb:.0f} MB", "130 MB")
    for other in others:
        report(f"memory of {other.name}", f"{other.rss_mb:.0f} MB", "-")


def _count_tokens(body: bytes) -> int:
    decoded = json.loads(body)
    return sum(map(TokenCounter(decoded["model"]), parse(decoded["messages"], "openai_chat")))


async def read_stream(port: int, query: str, body: bytes, delays: list[float], rate: float = 0.0) -> int:
    """Read a stream and note the delay of every event; with a rate, so many bytes a second."""
    line = socket.socket()
    if rate:  # else the system of the client reads for it, and the gateway keeps what it delivered
        line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 14)
    line.setblocking(False)
    await asyncio.get_running_loop().sock_connect(line, ("127.0.0.1", port))
    reader, writer = await asyncio.open_connection(sock=line, limit=1 << 16)
    writer.write(
        f"POST {_PATH}?{query} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
        f"content-length: {len(body)}\r\n\r\n".encode()
        + body
    )
    loop, size, tail = asyncio.get_running_loop(), 0, b""
    found = re.compile(rb'"at": ([\d.]+)')
    while b"[DONE]" not in tail[-200:]:
        chunk = await reader.read(2_048 if rate else 65_536)
        if not chunk:
            raise ConnectionError("it broke off")
        size += len(chunk)
        now = loop.time()
        if rate:
            await asyncio.sleep(len(chunk) / rate)
        else:
            delays += [now - float(at) for at in found.findall(chunk)]
        tail = tail[-200:] + chunk
        if rate and size > rate * READER_SECONDS:
            break
    writer.close()
    return size


async def _many(places: Places, count: int, query: str, rate: float = 0.0) -> tuple[list[float], int, float]:
    delays: list[float] = []
    bodies = [make_body(6, 2_000, number) for number in range(count)]
    tasks = [asyncio.create_task(read_stream(places.gateway, query, body, delays, rate)) for body in bodies]
    peak = 0.0
    while not any(task.done() for task in tasks):
        peak = max(peak, places.rss_mb)
        await asyncio.wait(tasks, timeout=1.0, return_when=asyncio.FIRST_COMPLETED)
    await asyncio.wait(tasks)
    errors = sum(1 for task in tasks if task.exception() is not None)
    return sorted(delays), errors, peak


def streams(places: Places, count: int = STREAMS, seconds: float = STREAM_SECONDS) -> None:
    """Print what paced streams cost."""
    query = f"events={int(seconds / STREAM_PACE)}&pace={STREAM_PACE}&size=20"
    measure_latency(places.gateway, [make_body(6, 2_000, count)] * _WARMING)
    before = places.rss_mb
    delays, errors, peak = asyncio.run(_many(places, count, query))
    p50, p99 = delays[len(delays) // 2] * 1e3, delays[int(len(delays) * 0.99)] * 1e3
    report(
        f"{count} paced streams, {seconds:.0f} s: an event late by p50, p99",
        f"{p50:.1f}, {p99:.1f} ms",
        "20 ms",
    )
    report(
        "errors; memory; for each stream",
        f"{errors}; {peak:.0f} MB; {(peak - before) * 1024 / count:.0f} KB",
        "0; 250 MB; 100 KB",
    )


def slow(places: Places, count: int = READERS) -> None:
    """Print what clients cost that read slowly."""
    query = f"events={READER_BYTES // 10_000}&pace=0&size=10000"
    measure_latency(places.gateway, [make_body(6, 2_000, count)] * _WARMING)
    before = places.rss_mb
    _, errors, peak = asyncio.run(_many(places, count, query, READER_RATE))
    report(
        f"{count} slow readers, {READER_SECONDS} s: errors; memory for each",
        f"{errors}; {(peak - before) * 1024 / count:.0f} KB",
        "0; 512 KB",
    )


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("wanted", nargs="*", default=[])
    parser.add_argument("--beside", action="append", default=[])
    given = parser.parse_args()
    with ExitStack() as stack:
        places = stack.enter_context(running())
        others = [stack.enter_context(running_beside(each, places.upstream)) for each in given.beside]
        for name in given.wanted or ["latency", "streams", "slow", "conversations"]:
            match name:
                case "latency":
                    latency(places, others)
                case "streams":
                    streams(places)
                case "slow":
                    slow(places)
                case "conversations":
                    conversations()


if __name__ == "__main__":
    main()
