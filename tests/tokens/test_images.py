"""Images, sounds and documents by their size."""

import base64
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from midfold.messages import Media
from midfold.tokens.images import Size, count_media, read_size

PNG = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", 1920, 1080) + bytes(40)
GIF = b"GIF89a" + struct.pack("<HH", 1920, 1080) + bytes(40)
# A thumbnail, padding and a Huffman table stand before the frame, as cameras and editors write them.
JPEG = (
    b"\xff\xd8"
    + (b"\xff\xe1" + struct.pack(">H", 60_002) + bytes(60_000))
    + b"\xff"
    + (b"\xff\xc4" + struct.pack(">H", 4) + bytes(2))
    + (b"\xff\xc2" + struct.pack(">HBHH", 17, 8, 1080, 1920) + bytes(10))
)
WEBP_EXTENDED = (
    b"RIFF\0\0\0\0WEBPVP8X\0\0\0\0\0\0\0\0" + (1919).to_bytes(3, "little") + (1079).to_bytes(3, "little")
)
WEBP_LOSSLESS = b"RIFF\0\0\0\0WEBPVP8L\0\0\0\0\x2f" + (1919 | 1079 << 14).to_bytes(4, "little")
WEBP_LOSSY = b"RIFF\0\0\0\0WEBPVP8 \0\0\0\0\0\0\0\x9d\x01\x2a" + struct.pack("<HH", 1920, 1080)
FILES = {
    "png": PNG,
    "gif": GIF,
    "jpeg": JPEG,
    "webp extended": WEBP_EXTENDED,
    "webp lossless": WEBP_LOSSLESS,
    "webp lossy": WEBP_LOSSY,
}


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def png(width: int, height: int) -> Media:
    data = PNG[:16] + struct.pack(">II", width, height) + PNG[24:]
    return Media("image", "image/png", encoded(data))


@pytest.mark.parametrize("kind", FILES)
def test_the_size_is_read_from_the_head_of_the_file(kind):
    assert read_size(encoded(FILES[kind])) == Size(1920, 1080)


def test_line_breaks_in_base64_do_not_matter():
    assert read_size(base64.encodebytes(JPEG).decode()) == Size(1920, 1080)


def test_a_data_url_is_read_as_its_data():
    assert read_size("data:image/png;base64," + encoded(PNG)) == Size(1920, 1080)


@pytest.mark.parametrize(
    "source", ["", "https://example.com/meter.png", "file-42", "é" * 50, encoded(JPEG[:500])]
)
def test_what_is_no_readable_image_has_no_size(source):
    assert read_size(source) is None


@given(st.text(), st.binary())
def test_hostile_data_never_raises(text, data):
    read_size(text)
    for head in (PNG[:12], GIF[:6], JPEG[:2], WEBP_LOSSY[:12]):
        size = read_size(encoded(head + data))
        assert size is None or min(size.width, size.height) > 0


def test_a_chain_of_empty_segments_ends():
    assert read_size(encoded(b"\xff\xd8" + b"\xff\xe0\x00\x00" * 100_000)) is None


@pytest.mark.parametrize(
    ("model", "width", "height", "tokens"),
    [
        ("claude-opus-4-5", 1000, 1000, 1334),
        ("claude-opus-4-5", 4000, 3000, 1600),
        ("gpt-4o", 1024, 1024, 765),
        ("gpt-4o", 2048, 4096, 1105),
        ("gpt-5", 1024, 1024, 630),
        ("o3", 512, 512, 225),
        ("gpt-4.1-mini", 1024, 1024, 1659),
        ("gemini-2.5-pro", 300, 300, 258),
        ("gemini-2.5-pro", 960, 540, 1548),
        ("some-other-model", 1000, 1000, 1334),
    ],
)
def test_each_provider_has_its_own_price_for_pixels(model, width, height, tokens):
    assert count_media(png(width, height), model) == tokens


def test_low_detail_is_the_base_price():
    image = png(2000, 2000)
    assert count_media(Media(image.kind, image.mime, image.source, "low"), "gpt-4o") == 85


@pytest.mark.parametrize("model", ["claude-opus-4-5", "gpt-4o", "gemini-2.5-pro", ""])
def test_an_image_behind_a_url_counts_as_a_typical_one(model):
    by_url = Media("image", "", "https://example.com/meter.png")
    assert count_media(by_url, model) == count_media(png(1024, 1024), model)


def test_sounds_and_documents_grow_with_their_data():
    for kind, mime in (("audio", "audio/wav"), ("document", "application/pdf")):
        small, large = (count_media(Media(kind, mime, "A" * size)) for size in (4_000, 4_000_000))
        assert 0 < small < large


def test_a_document_by_reference_counts_as_one_page():
    assert count_media(Media("document", "", "file-42")) == count_media(
        Media("document", "application/pdf", "A")
    )
