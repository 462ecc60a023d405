"""The reading half of HTTP/1.1: one request after another off a connection."""

import asyncio
import time

from midfold.testing.upstream.received import Received, read_json

MAX_HEAD_BYTES = 1024 * 1024


async def read_request(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Received | None:
    """Read the next request; `None` where the client has gone or speaks something else."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
        method, path, headers = _read_head(head)
        if headers.get("expect", "").lower() == "100-continue":
            writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        body = await _read_body(reader, headers)
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError, ValueError):
        return None
    return Received(method, path, headers, body, read_json(body), time.monotonic())


def _read_head(head: bytes) -> tuple[str, str, dict[str, str]]:
    first, *lines = head.decode("latin-1").split("\r\n")
    method, path, _ = first.split(" ")
    headers: dict[str, str] = {}
    for line in filter(None, lines):
        name, _, value = line.partition(":")
        name, value = name.strip().lower(), value.strip()
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return method, path, headers


async def _read_body(reader: asyncio.StreamReader, headers: dict[str, str]) -> bytes:
    if headers.get("transfer-encoding", "").lower() != "chunked":
        return await reader.readexactly(int(headers.get("content-length", "0")))
    chunks: list[bytes] = []
    while size := int((await reader.readline()).split(b";")[0], 16):
        chunks.append(await reader.readexactly(size))
        await reader.readline()
    while (await reader.readline()).strip():
        pass  # trailers
    return b"".join(chunks)
