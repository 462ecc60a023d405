"""Unpacks a copy of an answer's body in small pieces, so that a bomb is noticed before it bursts."""

import zlib
from collections.abc import Callable, Iterator
from typing import Protocol

PIECE_BYTES = 64 * 1024
# What models say shrinks to a tenth, and a stream's envelopes to a fiftieth; a bomb shrinks to a thousandth.
_MOST_RATIO = 200
_UNSUSPICIOUS_BYTES = 1024 * 1024
# A few bytes of zstd may stand for 128 KB of output, so they are given to it a few at a time.
_ZSTD_BYTES = 16
# The largest window that the web allows.
_ZSTD_WINDOW_BYTES = 8 * 1024 * 1024


class Undecodable(Exception):
    """A body cannot be unpacked, or should not be; `str()` says why."""


class _Codec(Protocol):
    def __call__(self, data: bytes) -> Iterator[bytes]:
        """Unpack the next bytes, in pieces that are small; raises whatever the library does."""
        ...


class Decoder:
    """Unpacks a body as it arrives. Raises `Undecodable` for an encoding that is not known or not at hand."""

    def __init__(self, encoding: str) -> None:
        name = encoding.strip().lower()
        if name not in _CODECS:
            raise Undecodable(f"the content encoding {name[:40]!r} is not read")
        self._decode = _CODECS[name]()
        self._encoded = 0
        self._decoded = 0

    def decode(self, data: bytes) -> Iterator[bytes]:
        """Take the next bytes and yield what they stand for; raises `Undecodable`."""
        self._encoded += len(data)
        pieces = self._decode(data)
        while True:
            try:
                piece = next(pieces, None)
            except Exception as error:  # noqa: BLE001 - each library has errors of its own
                raise Undecodable(f"the body cannot be unpacked ({type(error).__name__})") from None
            if piece is None:
                return
            self._decoded += len(piece)
            if self._decoded > max(_UNSUSPICIOUS_BYTES, self._encoded * _MOST_RATIO):
                raise Undecodable(f"the body grows more than {_MOST_RATIO} times when it is unpacked")
            yield piece


def decode_start(body: bytes, encoding: str, max_bytes: int) -> bytes:
    """Return the start of a body, unpacked as far as it can be."""
    found = bytearray()
    try:
        for piece in Decoder(encoding).decode(body):
            found += piece
            if len(found) >= max_bytes:
                break
    except Undecodable:
        pass
    return bytes(found[:max_bytes])


def _identity() -> _Codec:
    return lambda data: iter((data,))


class _Zlib:
    """gzip, of which a body may have several in a row, and deflate with or without its header."""

    def __init__(self, window_bits: int) -> None:
        self._window_bits = window_bits
        self._inflate = None if window_bits < 0 else zlib.decompressobj(window_bits)

    def __call__(self, data: bytes) -> Iterator[bytes]:
        if self._inflate is None and data:
            has_header = data[0] & 0x0F == zlib.DEFLATED
            self._inflate = zlib.decompressobj(zlib.MAX_WBITS if has_header else -zlib.MAX_WBITS)
        while data and self._inflate is not None:
            piece = self._inflate.decompress(data, PIECE_BYTES)
            if piece:
                yield piece
            data = self._inflate.unconsumed_tail
            if self._inflate.eof:
                data = self._inflate.unused_data if self._window_bits > 0 else b""
                self._inflate = zlib.decompressobj(self._window_bits) if data else self._inflate
            elif not data and len(piece) == PIECE_BYTES:
                yield from self._held_back()

    def _held_back(self) -> Iterator[bytes]:
        """Yield what there was no room for in a piece whose input was used up."""
        while self._inflate is not None and (piece := self._inflate.decompress(b"", PIECE_BYTES)):
            yield piece


def _gzip() -> _Codec:
    return _Zlib(16 + zlib.MAX_WBITS)


def _deflate() -> _Codec:
    return _Zlib(-1)


def _zstd() -> _Codec:
    try:
        from zstandard import ZstdDecompressor
    except ModuleNotFoundError:
        raise Undecodable("the content encoding 'zstd' is read with the extra midfold[zstd]") from None
    unpack = ZstdDecompressor(max_window_size=_ZSTD_WINDOW_BYTES).decompressobj(read_across_frames=True)

    def decode(data: bytes) -> Iterator[bytes]:
        for start in range(0, len(data), _ZSTD_BYTES):
            if piece := unpack.decompress(data[start : start + _ZSTD_BYTES]):
                yield piece

    return decode


def _brotli() -> _Codec:
    try:
        import brotli

        unpack = brotli.Decompressor()
        # Older ones unpack all that they are given at once, and nobody knows how much that is.
        unpack.process(b"", output_buffer_limit=PIECE_BYTES)
    except (ModuleNotFoundError, TypeError):
        raise Undecodable("the content encoding 'br' is read with brotli 1.2 or later installed") from None

    def decode(data: bytes) -> Iterator[bytes]:
        # It may have used up its input and still hold output that there was no room for.
        while (
            piece := unpack.process(data, output_buffer_limit=PIECE_BYTES)
        ) or not unpack.can_accept_more_data():
            data = b""
            yield piece

    return decode


_CODECS: dict[str, Callable[[], _Codec]] = {
    "": _identity,
    "identity": _identity,
    "gzip": _gzip,
    "x-gzip": _gzip,
    "deflate": _deflate,
    "br": _brotli,
    "zstd": _zstd,
}
