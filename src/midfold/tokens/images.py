"""The tokens of images, sounds and documents, by their size.

Providers bill an image by its pixels. Width and height stand in the first bytes of the file, so only those
are decoded, however large the image. The formulas are the providers' published ones.
"""

import re
from base64 import b64decode
from collections.abc import Iterator
from math import ceil

from midfold.late_dataclasses import dataclass
from midfold.messages import Media
from midfold.tokens.tokenizers import find_family


@dataclass(frozen=True, slots=True)
class Size:
    """Width and height in pixels."""

    width: int
    height: int


# A 1,024 x 1,024 image, which is what most screenshots are scaled to, where the size cannot be read.
_TYPICAL = Size(1024, 1024)

# Providers bill 10 to 32 tokens a second of sound, which takes 16 to 32 kilobytes.
_AUDIO_BYTES_PER_TOKEN = 1_000
# A page is billed as its text and its picture; what a page takes in a file varies more than anything here.
_PAGE_BYTES = 50_000
_PAGE_TOKENS = 2_000


def count_media(media: Media, model: str = "") -> int:
    """Estimate the tokens of an image, sound, video or document for `model`."""
    if media.kind == "image":
        return _count_image(read_size(media.source) or _TYPICAL, model.lower(), media.detail)
    if not media.mime or media.source.startswith(("http://", "https://")):
        return _PAGE_TOKENS  # a reference: nothing is known of what it refers to
    size_bytes = len(media.source) * 3 // 4
    if media.kind in ("audio", "video"):
        return 1 + size_bytes // _AUDIO_BYTES_PER_TOKEN
    return (1 + size_bytes // _PAGE_BYTES) * _PAGE_TOKENS


def read_size(source: str) -> Size | None:
    """Read the size of a base64 PNG, JPEG, GIF or WebP image; `None` for anything else, such as a URL."""
    if source.startswith("data:"):
        source = source.partition(",")[2]
    try:
        size = _read_size(_Base64(source))
    except (ValueError, IndexError):  # not base64, or cut short
        return None
    return size if size and size.width > 0 and size.height > 0 else None


def _count_image(size: Size, model: str, detail: str) -> int:
    match find_family(model).name:
        case "openai" | "gpt-4":
            return _openai_tiles(size, model, detail)
        case "gemini":
            return _gemini_tiles(size)
        case _:
            return _by_area(size)


def _by_area(size: Size) -> int:
    """Claude: 750 pixels a token after scaling the long edge to 1,568; also the rule for unknown models."""
    scale = min(1.0, 1568 / max(size.width, size.height))
    return min(1_600, ceil(size.width * scale * size.height * scale / 750))


def _gemini_tiles(size: Size) -> int:
    """Gemini: 258 tokens a tile; small images are one tile, others are cut into squares of up to 768."""
    if max(size.width, size.height) <= 384:
        return 258
    edge = min(768.0, max(256.0, min(size.width, size.height) / 1.5))
    return 258 * ceil(size.width / edge) * ceil(size.height / edge)


_OPENAI_PATCH_FACTORS = (
    (r"gpt-4\.1-nano|gpt-5-nano", 2.46),
    (r"gpt-4\.1-mini|gpt-5-mini", 1.62),
    (r"o4-mini", 1.72),
)
_OPENAI_TILE_COSTS = (
    (r"gpt-4o-mini", 2833, 5667),
    (r"gpt-5", 70, 140),
    (r"(^|[/.:])o[13](-|$)", 75, 150),
    (r"", 85, 170),
)


def _openai_tiles(size: Size, model: str, detail: str) -> int:
    """OpenAI: a base price and one a tile of 512; the small models count patches of 32 instead."""
    for pattern, factor in _OPENAI_PATCH_FACTORS:
        if re.search(pattern, model):
            patches = ceil(size.width / 32) * ceil(size.height / 32)
            return ceil(min(1536, patches) * factor)
    base, tile = next((base, tile) for pattern, base, tile in _OPENAI_TILE_COSTS if re.search(pattern, model))
    if detail == "low":
        return base
    scale = min(1.0, 2048 / max(size.width, size.height))
    scale *= min(1.0, 768 / (min(size.width, size.height) * scale))
    return base + tile * ceil(size.width * scale / 512) * ceil(size.height * scale / 512)


class _Base64:
    """Bytes of a base64 text, decoded where they are asked for."""

    def __init__(self, text: str) -> None:
        # Line breaks, where there are any, come in the first hundred characters and would shift every offset.
        self._text = "".join(text[:400_000].split()) if any(map(str.isspace, text[:100])) else text

    def read(self, start: int, count: int) -> bytes:
        """Return `count` bytes from `start` on, or raise `IndexError` past the end."""
        first = start // 3
        quads = self._text[first * 4 : ((start + count + 2) // 3) * 4]
        found = b64decode(quads + "=" * (-len(quads) % 4))[start - first * 3 :][:count]
        if len(found) < count:
            raise IndexError(start)
        return found

    def number(self, start: int, count: int = 2) -> int:
        return int.from_bytes(self.read(start, count), "big")

    def little(self, start: int, count: int = 2) -> int:
        return int.from_bytes(self.read(start, count), "little")


def _read_size(image: _Base64) -> Size | None:
    magic = image.read(0, 12)
    if magic.startswith(b"\x89PNG"):
        return Size(image.number(16, 4), image.number(20, 4))
    if magic.startswith(b"GIF8"):
        return Size(image.little(6), image.little(8))
    if magic.startswith(b"RIFF") and magic.endswith(b"WEBP"):
        return _read_webp(image)
    if magic.startswith(b"\xff\xd8"):
        return next((Size(image.number(at + 5), image.number(at + 3)) for at in _jpeg_frames(image)), None)
    return None


def _read_webp(image: _Base64) -> Size | None:
    match image.read(12, 4):
        case b"VP8X":
            return Size(1 + image.little(24, 3), 1 + image.little(27, 3))
        case b"VP8L":
            bits = image.little(21, 4)
            return Size(1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF))
        case b"VP8 ":
            return Size(image.little(26) & 0x3FFF, image.little(28) & 0x3FFF)
        case _:
            return None


# Real files have a few dozen segments before the frame; a hostile one could have millions.
_MAX_JPEG_SEGMENTS = 256
_NOT_FRAMES = {0xC4, 0xC8, 0xCC}  # Huffman tables, extensions, arithmetic coding


def _jpeg_frames(image: _Base64) -> Iterator[int]:
    """Yield where the frame header stands, past thumbnails and colour profiles."""
    at = 2
    for _ in range(_MAX_JPEG_SEGMENTS):
        mark, marker = image.read(at, 2)
        if mark != 0xFF:
            return
        if marker == 0xFF:  # padding
            at += 1
        elif marker in range(0xC0, 0xD0) and marker not in _NOT_FRAMES:
            yield at + 2
            return
        else:
            at += 2 + image.number(at + 2)
