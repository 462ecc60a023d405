"""HTTP on one connection, with limits that the server does not have: on the size and time of headers.

Without them a client that never ends its headers would keep a connection, and fill the memory.
"""

import asyncio
import json
from typing import TYPE_CHECKING

from midfold.errors import ExtraMissing

if TYPE_CHECKING:
    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MOST_HEADER_BYTES = 128 * 1024
"""Some more than the application takes, which can say so in the words of its API."""
_STATUSES = {408: b"408 Request Timeout", 431: b"431 Request Header Fields Too Large"}


def limit_protocol(*, most_connections: int, header_seconds: float) -> "type[HttpToolsProtocol]":
    """Return the protocol of the server with these limits; raises `ExtraMissing`."""
    try:
        from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
    except ModuleNotFoundError as error:
        raise ExtraMissing("the gateway", "gateway") from error

    class LimitedProtocol(HttpToolsProtocol):
        _is_in_head = True
        _head_bytes = 0
        _deadline: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self._start_clock()
            if len(self.connections) > most_connections:
                transport.abort()

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop_clock()
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            if self._is_in_head:
                self._start_clock()
                self._head_bytes += len(data)
            super().data_received(data)
            if self._is_in_head and self._head_bytes > MOST_HEADER_BYTES:
                self._refuse(431, "the headers are larger than the gateway takes")

        def on_headers_complete(self) -> None:
            self._is_in_head = False
            self._stop_clock()
            super().on_headers_complete()

        def on_message_complete(self) -> None:
            super().on_message_complete()
            self._is_in_head, self._head_bytes = True, 0

        def _start_clock(self) -> None:
            if self._deadline is None:
                self._deadline = self.loop.call_later(
                    header_seconds, self._refuse, 408, "the headers did not come in time"
                )

        def _stop_clock(self) -> None:
            if self._deadline is not None:
                self._deadline.cancel()
                self._deadline = None

        def _refuse(self, status: int, reason: str) -> None:
            self._stop_clock()
            if self.transport.is_closing():
                return
            if self.cycle is None or self.cycle.response_complete:
                body = json.dumps({"error": {"message": reason, "type": "invalid_request_error"}}).encode()
                head = b"HTTP/1.1 %b\r\ncontent-type: application/json\r\ncontent-length: %d\r\n"
                ending = b"connection: close\r\n\r\n"
                self.transport.write(head % (_STATUSES[status], len(body)) + ending + body)
            self.transport.close()

    return LimitedProtocol
