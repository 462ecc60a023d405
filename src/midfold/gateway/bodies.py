"""The body of a request: read within limits of size and time, and unpacked within limits of size and ratio.

Long conversations are what a gateway is for, so the limits are far above them; what they stop are bodies that
are made to take memory or time.
"""

import asyncio
import io
import zlib
from collections.abc import Awaitable, Callable, Iterator, Mapping, MutableMapping
from typing import Any, TypeAlias

Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]

_PIECE_SECONDS = 30.0
"""Between two pieces of a body."""
_LEAST_RATE = 32 * 1024
"""Bytes in a second, on average, once a body took its first minute."""
_GRACE_SECONDS = 60.0
_CHUNK = 64 * 1024
_FREE_BYTES = 8 * 1024 * 1024
"""A body that unpacks to less is never taken for a bomb."""
_MOST_RATIO = 200
MOST_VALUES = 500_000
"""Of JSON in one body: a long conversation has some thousands, and each takes memory beyond its bytes."""
_STARTS = b",[{"
_NOT_STRUCTURE = bytes(byte for byte in range(256) if byte not in b'",[{')
_GZIP_OR_ZLIB = zlib.MAX_WBITS | 32
_PLAIN = ("", "identity")


class BodyRefused(Exception):
    """A body is not taken; `str()` says why."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


class ClientLeft(Exception):
    """The client left before it had sent everything."""


async def read_body(receive: Receive, headers: Mapping[str, str], most: int, setting: str = "") -> bytes:
    """Return the body of a request; raises `BodyRefused` where it is too large or late, and `ClientLeft`.

    `setting` names the limit for people.
    """
    too_large = f"the request is larger than the {most:,} bytes of {setting or 'this path'}"
    stated = headers.get("content-length", "")
    if stated.isdecimal() and int(stated[:20]) > most:
        raise BodyRefused(413, too_large)
    clock = asyncio.get_running_loop().time
    started, taken, size = clock(), io.BytesIO(), 0
    while True:
        left = started + _GRACE_SECONDS + size / _LEAST_RATE - clock()
        try:
            async with asyncio.timeout(min(_PIECE_SECONDS, max(left, 0.0))):
                message = await receive()
        except TimeoutError:
            raise BodyRefused(408, "the request did not come in time") from None
        if message["type"] == "http.disconnect":
            raise ClientLeft
        size += taken.write(message.get("body", b""))
        if size > most:
            raise BodyRefused(413, too_large)
        if not message.get("more_body"):
            return taken.getvalue()  # not copied, as a join of pieces would be


def unpack_body(body: bytes, encoding: str, most: int) -> bytes | None:
    """Return a body without its content encoding; `None` where it is known and cannot be unpacked here.

    Bytes are counted as they come out. Raises `BodyRefused` for bombs, for damaged bodies and for encodings
    that nobody knows.
    """
    encoding = encoding.strip().lower()
    if encoding in _PLAIN:
        return body
    if encoding in ("gzip", "x-gzip", "deflate"):
        chunks = _inflate(body)
    elif encoding == "zstd":
        found = _unpack_zstd(body)
        if found is None:
            return None
        chunks = found
    else:
        raise BodyRefused(415, "the content encoding of the request is not known here; gzip and zstd are")
    pieces, size = list[bytes](), 0
    for taken, chunk in chunks:
        size += len(chunk)
        if size > most or (size > _FREE_BYTES and size > taken * _MOST_RATIO):
            raise BodyRefused(413, "the request unpacks to more than is taken")
        pieces.append(chunk)
    return b"".join(pieces)


def check_values(body: bytes) -> None:
    """Raise `BodyRefused` for a body of more JSON values than a conversation has, before it is read."""
    if len(body) <= MOST_VALUES or sum(body.count(byte) for byte in _STARTS) <= MOST_VALUES:
        return
    # What looks like values may be text; what is left of it has nothing but quotes and starts of values.
    found, is_text, held = 0, False, b""
    for start in range(0, len(body), _CHUNK):
        chunk = held + body[start : start + _CHUNK]
        # Of an odd number of backslashes at the end, the last escapes the next byte.
        whole = len(chunk) - (len(chunk) - len(chunk.rstrip(b"\\"))) % 2
        held = chunk[whole:]
        plain = chunk[:whole].replace(b"\\\\", b"").replace(b'\\"', b"")
        texts = plain.translate(None, _NOT_STRUCTURE).split(b'"')
        found += sum(map(len, texts[is_text::2]))
        is_text ^= len(texts) % 2 == 0
        if found > MOST_VALUES:
            raise BodyRefused(413, f"the request has more than {MOST_VALUES:,} JSON values")


def _inflate(body: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield what comes out, each piece with how much went in until then."""
    unpacker = zlib.decompressobj(_GZIP_OR_ZLIB)
    try:
        for start in range(0, len(body), _CHUNK):
            rest = body[start : start + _CHUNK]
            while rest and not unpacker.eof:
                chunk = unpacker.decompress(rest, _CHUNK)
                rest = unpacker.unconsumed_tail
                yield start + _CHUNK - len(rest), chunk
    except zlib.error:
        raise BodyRefused(400, "the request is not packed as it says") from None
    if not unpacker.eof:
        raise BodyRefused(400, "the packed request breaks off")


def _unpack_zstd(body: bytes) -> Iterator[tuple[int, bytes]] | None:
    try:
        import zstandard
    except ModuleNotFoundError:  # the extra zstd
        return None

    def chunks() -> Iterator[tuple[int, bytes]]:
        try:
            with zstandard.ZstdDecompressor(max_window_size=_FREE_BYTES).stream_reader(body) as reader:
                while chunk := reader.read(_CHUNK):
                    yield len(body), chunk
        except zstandard.ZstdError:
            raise BodyRefused(400, "the request is not packed as it says") from None

    return chunks()
