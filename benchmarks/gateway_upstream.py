"""A provider on loopback that does nothing but answer: fast enough to measure what stands before it.

`python -m benchmarks.gateway_upstream` prints its port. A path with `?events=N&pace=S&size=B` is answered by
a stream of N events of B bytes, one every S seconds; any other by a short reply.
"""

import asyncio
import json
import re
import sys
from urllib.parse import parse_qs, urlsplit

REPLY = json.dumps(
    {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "model": "gpt-5-mini",
        "choices": [
            {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "It is done."}}
        ],
    }
).encode()
_LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer the requests of one connection."""
    try:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            length = _LENGTH.search(head)
            await reader.readexactly(int(length[1]) if length else 0)
            query = parse_qs(urlsplit(head.split(b" ", 2)[1].decode()).query)
            if "events" in query:
                await _stream(writer, query)
            else:
                writer.write(
                    b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%s"
                    % (len(REPLY), REPLY)
                )
                await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        writer.close()


async def _stream(writer: asyncio.StreamWriter, query: dict[str, list[str]]) -> None:
    """Write events, each with the time at which it was written."""
    loop = asyncio.get_running_loop()
    events, pace, size = (float(query.get(name, ["0"])[0]) for name in ("events", "pace", "size"))
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
    due = loop.time()
    for _ in range(int(events)):
        data = json.dumps(
            {"choices": [{"index": 0, "delta": {"content": "x" * int(size)}}], "at": loop.time()}
        )
        event = f"data: {data}\n\n".encode()
        writer.write(b"%x\r\n%s\r\n" % (len(event), event))
        await writer.drain()
        due += pace
        if pace:
            await asyncio.sleep(max(0.0, due - loop.time()))
    last = b"data: [DONE]\n\n"
    writer.write(b"%x\r\n%s\r\n0\r\n\r\n" % (len(last), last))
    await writer.drain()


async def main() -> None:
    """Serve until standard input ends."""
    server = await asyncio.start_server(serve, "127.0.0.1", 0, backlog=1024, limit=1 << 20)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main())
