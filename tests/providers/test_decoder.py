"""Copies of packed answers are unpacked piece by piece, and no bomb bursts."""

import gzip
import random
import sys
import zlib

import pytest
import zstandard

from midfold.providers.decoder import PIECE_BYTES, Decoder, Undecodable, decode_start

TEXT = ("Grüße, 世界 " * 20_000).encode()
NOISE = random.Random(7).randbytes(300_000)


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


PACKERS = {
    "identity": ("identity", bytes),
    "none named": ("", bytes),
    "gzip": ("gzip", gzip.compress),
    "gzip in capitals": (" GZIP ", gzip.compress),
    "gzip, twice in a row": ("gzip", lambda data: gzip.compress(data[:1000]) + gzip.compress(data[1000:])),
    "deflate": ("deflate", zlib.compress),
    "deflate without its header": ("deflate", raw_deflate),
    "zstd": ("zstd", zstandard.compress),
    "zstd, twice in a row": (
        "zstd",
        lambda data: zstandard.compress(data[:9]) + zstandard.compress(data[9:]),
    ),
}


def unpack(decoder: Decoder, data: bytes, step: int) -> bytes:
    pieces = (data[start : start + step] for start in range(0, len(data), step))
    return b"".join(part for piece in pieces for part in decoder.decode(piece))


@pytest.mark.parametrize("data", [TEXT, NOISE, b"x", b""], ids=["text", "noise", "one byte", "nothing"])
@pytest.mark.parametrize("step", [1_000_000, 777, 64])
@pytest.mark.parametrize(("encoding", "pack"), PACKERS.values(), ids=PACKERS)
def test_body_is_unpacked_wherever_it_is_split(encoding, pack, step, data):
    assert unpack(Decoder(encoding), pack(data), step) == data


def test_every_byte_may_come_alone():
    for encoding, pack in PACKERS.values():
        assert unpack(Decoder(encoding), pack(b"hello " * 100), 1) == b"hello " * 100


@pytest.mark.parametrize("step", [1_000_000, 777, 1])
def test_brotli_is_unpacked_where_it_is_installed(step):
    brotli = pytest.importorskip("brotli")
    assert unpack(Decoder("br"), brotli.compress(TEXT, quality=5), step) == TEXT


def test_bomb_of_brotli_is_given_up_early():
    brotli = pytest.importorskip("brotli")
    bomb = brotli.compress(bytes(100_000_000), quality=2)
    with pytest.raises(Undecodable, match="grows more than 200 times"):
        assert max(map(len, Decoder("br").decode(bomb))) <= 2 * PIECE_BYTES


def test_brotli_is_not_read_where_it_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "brotli", None)
    with pytest.raises(Undecodable, match="'br' is read with brotli"):
        Decoder("br")


def test_zstd_is_not_read_where_it_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(Undecodable, match="the extra midfold\\[zstd\\]"):
        Decoder("zstd")


BOMBS = {
    "gzip": gzip.compress(bytes(200_000_000), compresslevel=1),
    "deflate": zlib.compress(bytes(200_000_000), 1),
    "zstd": zstandard.compress(bytes(200_000_000)),
}


@pytest.mark.parametrize(("encoding", "bomb"), BOMBS.items(), ids=BOMBS)
def test_bomb_is_given_up_early_and_never_unpacked_at_once(encoding, bomb):
    sizes: list[int] = []

    def burst() -> None:
        for piece in Decoder(encoding).decode(bomb):
            sizes.append(len(piece))  # noqa: PERF401 - also those before the error count

    with pytest.raises(Undecodable, match="grows more than 200 times"):
        burst()
    assert max(sizes, default=0) <= 32 * PIECE_BYTES
    assert sum(sizes) <= max(1024 * 1024, 200 * len(bomb))


@pytest.mark.parametrize("encoding", ["compress", "gzip, br", "aws-chunked", "x" * 500])
def test_unknown_encoding_is_not_read(encoding):
    with pytest.raises(Undecodable, match="is not read") as caught:
        Decoder(encoding)
    assert len(str(caught.value)) < 120


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "zstd"])
def test_garbage_is_not_read(encoding):
    with pytest.raises(Undecodable, match="cannot be unpacked"):
        unpack(Decoder(encoding), NOISE, 5_000)


def test_start_of_a_body_is_had_from_half_of_it():
    packed = gzip.compress(NOISE)
    start = decode_start(packed[: len(packed) // 2], "gzip", 1_000)
    assert start == NOISE[:1_000]
    assert decode_start(packed, "unknown", 1_000) == b""
