"""Sends an answer the way its fault says: late, in pieces, cut, compressed, mis-framed, or not at all."""

import asyncio
import socket
import struct
import zlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import cycle

from midfold.testing.upstream.response import Response, name_status
from midfold.testing.upstream.script import DeliveryFault, Ending, Framing, Raw

_GZIP_WINDOW_BITS = 31
_RUDE = (Ending.RESET, Ending.STALL)
_RESET_ON_CLOSE = struct.pack("ii", 1, 0)


class ClientGone(Exception):
    """The client closed the connection before its answer was complete."""


class ClientConnection:
    """One connection, as an answer is sent over it."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        # An empty buffer after every write: what is cut or reset afterwards was really sent before.
        writer.transport.set_write_buffer_limits(high=0)

    async def send(self, message: Response | Raw, fault: DeliveryFault) -> Ending:
        """Send what is to be said, and return what is to become of the connection."""
        await self._pause(fault.headers_seconds)
        if isinstance(message, Response):
            return await self._send_response(message, fault)
        await self._send_pieces((message.data,), fault, Framing.UNTIL_CLOSE)
        return fault.ending or Ending.CLOSE

    async def end(self, ending: Ending) -> None:
        """Do to the connection what the answer says; a stalled one lasts until the client goes."""
        if ending is Ending.STALL:
            await self._reader.read()
        if ending is Ending.RESET:
            connection = self._writer.get_extra_info("socket")
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
            self._writer.transport.abort()

    async def _send_response(self, response: Response, fault: DeliveryFault) -> Ending:
        pieces = _compress(response.pieces) if fault.gzip else response.pieces
        framing = _framing(response, fault)
        await self._write(_head(response, fault, framing, sum(map(len, pieces)) + fault.length_off_by))
        await self._send_pieces(pieces, fault, framing)
        if fault.cut_at is None and framing is Framing.CHUNKED and fault.ending not in _RUDE:
            await self._write(b"0\r\n\r\n")
        has_end = framing in (Framing.CHUNKED, Framing.LENGTH) and not fault.length_off_by
        return fault.ending or (Ending.KEEP if has_end and fault.cut_at is None else Ending.CLOSE)

    async def _send_pieces(self, pieces: Iterable[bytes], fault: DeliveryFault, framing: Framing) -> None:
        for index, piece in enumerate(_cut(_split(pieces, fault.pieces), fault.cut_at)):
            if index:
                await self._pause(fault.chunk_seconds)
            await self._write(_frame(piece, framing, index))

    async def _write(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()
        await asyncio.sleep(0)  # a write that the kernel takes at once would keep everyone else waiting
        if self._reader.at_eof():
            raise ClientGone

    async def _pause(self, seconds: float) -> None:
        """Wait, but not for a client that has gone. Requests sent ahead of their answers are not spoken."""
        if not seconds:
            return
        try:
            await asyncio.wait_for(self._reader.read(1), seconds)
        except TimeoutError:
            return
        raise ClientGone


def _head(response: Response, fault: DeliveryFault, framing: Framing, length: int) -> bytes:
    version = "1.0" if framing is Framing.UNTIL_CLOSE else "1.1"
    headers = dict(response.headers)
    if fault.gzip:
        headers["Content-Encoding"] = "gzip"
    match framing:
        case Framing.LENGTH:
            headers["Content-Length"] = str(length)
        case Framing.CHUNKED | Framing.BROKEN_CHUNKS:
            headers["Transfer-Encoding"] = "chunked"
        case Framing.UNTIL_CLOSE:
            headers["Connection"] = "close"
    first = f"HTTP/{version} {response.status} {name_status(response.status)}"
    lines = [first, *(f"{name}: {value}" for name, value in headers.items()), "", ""]
    return "\r\n".join(lines).encode("latin-1")


def _framing(response: Response, fault: DeliveryFault) -> Framing:
    if fault.framing:
        return fault.framing
    return Framing.CHUNKED if response.streamed and not fault.length_off_by else Framing.LENGTH


def _frame(piece: bytes, framing: Framing, index: int) -> bytes:
    match framing:
        case Framing.CHUNKED:
            return b"%x\r\n%b\r\n" % (len(piece), piece)
        case Framing.BROKEN_CHUNKS:
            size = b"%x" % len(piece) if index == 0 else b"not a size"
            return b"%b\r\n%b\r\n" % (size, piece)
        case Framing.LENGTH | Framing.UNTIL_CLOSE:
            return piece


def _compress(pieces: Iterable[bytes]) -> tuple[bytes, ...]:
    """Compress a body so that each piece can be read as soon as it is there."""
    gzip = zlib.compressobj(wbits=_GZIP_WINDOW_BITS)
    flushed = [gzip.compress(piece) + gzip.flush(zlib.Z_SYNC_FLUSH) for piece in pieces]
    return (*flushed, gzip.flush())


def _split(pieces: Iterable[bytes], sizes: Sequence[int]) -> Iterator[bytes]:
    """Join the pieces and part them again by `sizes`; without sizes they stay as they are."""
    if not sizes:
        yield from pieces
        return
    body, start, size = b"".join(pieces), 0, cycle(sizes)
    while start < len(body):
        stop = start + next(size)
        yield body[start:stop]
        start = stop


def _cut(pieces: Iterable[bytes], length: int | None) -> Iterator[bytes]:
    """Leave out what comes after `length` bytes, and pieces of no bytes: an empty chunk would end a body."""
    for piece in pieces:
        part = piece[:length]
        if part:
            yield part
        if length is not None:
            length -= len(part)
