"""HTTP on one connection, with limits that the server does not have: on the size and time of headers.

Without them a client that never ends its headers would keep a connection, and fill the memory.
"""

import asyncio
import json
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING

from midfold.errors import ExtraMissing

if TYPE_CHECKING:
    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MOST_HEADER_BYTES = 128 * 1024
"""Some more than the application takes, which can say so in the words of its API."""
_SEND_BYTES = 16 * 1024
_HELD_BYTES = 16 * 1024
_LATE = b"408 Request Timeout"
_TOO_LARGE = b"431 Request Header Fields Too Large"


class HeaderWatch:
    """Watches the headers of the requests of one connection; `refuse` is called where they pass a limit."""

    def __init__(self, seconds: float, refuse: Callable[[bytes, str], None]) -> None:
        self._seconds = seconds
        self._refuse = refuse
        self._is_in_head = True
        self._bytes = 0
        self._deadline: asyncio.TimerHandle | None = None

    def start_clock(self) -> None:
        """Wait for headers from now on, unless a body comes first."""
        if self._is_in_head and self._deadline is None:
            late = "the headers did not come in time"
            loop = asyncio.get_running_loop()
            self._deadline = loop.call_later(self._seconds, self._refuse, _LATE, late)

    def stop_clock(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def count(self, size: int) -> None:
        """Count bytes that are about to be read, where headers are due."""
        if self._is_in_head:
            self._bytes += size

    def check(self) -> None:
        """Refuse headers that have not ended with the bytes that were read."""
        if self._is_in_head and self._bytes > MOST_HEADER_BYTES:
            self._refuse(_TOO_LARGE, "the headers are larger than the gateway takes")

    def end_headers(self) -> None:
        self._is_in_head = False
        self.stop_clock()

    def end_message(self) -> None:
        self._is_in_head, self._bytes = True, 0


def limit_protocol(*, most_connections: int, header_seconds: float) -> "type[HttpToolsProtocol]":
    """Return the protocol of the server with these limits; raises `ExtraMissing`."""
    try:
        from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
    except ModuleNotFoundError as error:
        raise ExtraMissing("the gateway", "gateway") from error

    class LimitedProtocol(HttpToolsProtocol):
        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            self.watch = HeaderWatch(header_seconds, lambda status, reason: _refuse(self, status, reason))
            super().connection_made(transport)
            _limit_sending(transport)
            self.watch.start_clock()
            if len(self.connections) > most_connections:
                transport.abort()

        def connection_lost(self, exc: Exception | None) -> None:
            self.watch.stop_clock()
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            self.watch.start_clock()
            self.watch.count(len(data))
            super().data_received(data)
            self.watch.check()

        def on_headers_complete(self) -> None:
            self.watch.end_headers()
            super().on_headers_complete()

        def on_message_complete(self) -> None:
            super().on_message_complete()
            self.watch.end_message()

    return LimitedProtocol


def _limit_sending(transport: asyncio.Transport) -> None:
    """Keep little of what a slow client has not read; the system would take megabytes."""
    transport.set_write_buffer_limits(high=_HELD_BYTES)
    line = transport.get_extra_info("socket")
    if line is not None:
        line.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BYTES)


def _refuse(protocol: "HttpToolsProtocol", status: bytes, reason: str) -> None:
    """Answer, unless another answer is under way, and close the connection."""
    transport = protocol.transport
    if transport.is_closing():
        return
    if protocol.cycle is None or protocol.cycle.response_complete:
        body = json.dumps({"error": {"message": reason, "type": "invalid_request_error"}}).encode()
        head = b"HTTP/1.1 %b\r\ncontent-type: application/json\r\ncontent-length: %d\r\n" % (
            status,
            len(body),
        )
        transport.write(head + b"connection: close\r\n\r\n" + body)
    transport.close()
