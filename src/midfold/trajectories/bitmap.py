"""A chart as a PNG file, for places that show no SVG: boxes, and letters of five by eight dots."""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import assert_never

from midfold.trajectories.charts import HEIGHT, WIDTH, Anchor, Box, Ink, Label, Shape

_SCALE = 2
"""dots for each unit of the layout"""
_GLYPH_WIDTH, _GLYPH_HEIGHT, _BASELINE = 5, 8, 7
_PAGE = (255, 255, 255)
_COLOURS = {
    Ink.TEXT: (31, 35, 40),
    Ink.FAINT: (89, 99, 110),
    Ink.GRID: (216, 222, 228),
    Ink.BEFORE: (182, 194, 207),
    Ink.AFTER: (31, 122, 140),
    Ink.MARK: (209, 68, 47),
}
_NUMBERS = {ink: number for number, ink in enumerate(_COLOURS, 1)}


@dataclass(slots=True)
class _Canvas:
    """One byte for each dot, which is the number of its colour."""

    width: int = WIDTH * _SCALE
    height: int = HEIGHT * _SCALE
    dots: bytearray = field(default_factory=lambda: bytearray(WIDTH * HEIGHT * _SCALE * _SCALE))

    def fill(self, x: int, y: int, width: int, height: int, ink: Ink) -> None:
        left, right = max(0, x), min(self.width, x + width)
        for row in range(max(0, y), min(self.height, y + height)):
            start = row * self.width
            self.dots[start + left : start + right] = bytes([_NUMBERS[ink]]) * max(0, right - left)


def draw_png(shapes: Sequence[Shape]) -> bytes:
    """Draw shapes by day."""
    canvas = _Canvas()
    for shape in shapes:
        match shape:
            case Box(x, y, width, height, ink):
                left, top = round(x * _SCALE), round(y * _SCALE)
                right, bottom = round((x + width) * _SCALE), round((y + height) * _SCALE)
                canvas.fill(left, top, max(1, right - left), max(1, bottom - top), ink)
            case Label():
                _write(canvas, shape)
            case _:
                assert_never(shape)
    return _encode(canvas)


def _write(canvas: _Canvas, label: Label) -> None:
    dot = 3 if label.is_large else 2
    step = (_GLYPH_WIDTH + 1) * dot
    width = len(label.words) * step - dot
    shift = {Anchor.START: 0, Anchor.MIDDLE: width // 2, Anchor.END: width}[label.anchor]
    left = round(label.x * _SCALE) - shift
    top = round(label.y * _SCALE) - _BASELINE * dot
    for place, letter in enumerate(label.words):
        for row, bits in enumerate(_glyphs().get(letter, ())):
            for column in range(_GLYPH_WIDTH):
                if bits >> (_GLYPH_WIDTH - 1 - column) & 1:
                    canvas.fill(left + place * step + column * dot, top + row * dot, dot, dot, label.ink)


@cache
def _glyphs() -> dict[str, tuple[int, ...]]:
    """Read the letters: each is followed by its rows from the top, a bit for each dot."""
    text = files(__package__).joinpath("texts", "glyphs.txt").read_text("utf-8")
    lines = [line.split() for line in text.splitlines()]
    return {letter: tuple(int(row, 16) for row in rows) for letter, *rows in lines}


def _encode(canvas: _Canvas) -> bytes:
    size = canvas.width.to_bytes(4) + canvas.height.to_bytes(4)
    palette = b"".join(map(bytes, (_PAGE, *_COLOURS.values())))
    rows = (
        b"\0" + canvas.dots[start : start + canvas.width]  # each row says that it is not filtered
        for start in range(0, len(canvas.dots), canvas.width)
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        (
            _chunk(b"IHDR", size + bytes((8, 3, 0, 0, 0))),  # eight bits a dot, by palette
            _chunk(b"PLTE", palette),
            _chunk(b"IDAT", zlib.compress(b"".join(rows), 9)),
            _chunk(b"IEND", b""),
        )
    )


def _chunk(kind: bytes, data: bytes) -> bytes:
    return len(data).to_bytes(4) + kind + data + zlib.crc32(kind + data).to_bytes(4)
