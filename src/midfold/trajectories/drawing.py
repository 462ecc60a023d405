"""A chart as an SVG file that stands by itself, with colours for day and night."""

from collections.abc import Sequence
from html import escape
from typing import assert_never

from midfold.trajectories.charts import HEIGHT, WIDTH, Box, Label, Shape

_STYLE = """
text { font: 12px system-ui, sans-serif }
.large { font-size: 16px; font-weight: 600 }
.page { fill: #ffffff } .text { fill: #1f2328 } .faint { fill: #59636e } .grid { fill: #d8dee4 }
.before { fill: #b6c2cf } .after { fill: #1f7a8c } .mark { fill: #d1442f }
@media (prefers-color-scheme: dark) {
.page { fill: #0d1117 } .text { fill: #e6edf3 } .faint { fill: #9198a1 } .grid { fill: #2a313a }
.before { fill: #47535f } .after { fill: #4db6c6 } .mark { fill: #ff7b6b }
}
"""


def draw_svg(shapes: Sequence[Shape], title: str) -> bytes:
    """Draw shapes on a page of their own."""
    drawn = "\n".join(map(_draw, shapes))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" '
        f'height="{HEIGHT}" role="img" aria-label="{escape(title)}">\n<style>{_STYLE}</style>\n'
        f'<rect class="page" width="{WIDTH}" height="{HEIGHT}"/>\n{drawn}\n</svg>\n'
    ).encode()


def _draw(shape: Shape) -> str:
    match shape:
        case Box(x, y, width, height, ink, title):
            told = f"<title>{escape(title)}</title>" if title else ""
            return (
                f'<rect class="{ink.value}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" '
                f'height="{height:.1f}">{told}</rect>'
            )
        case Label(x, y, words, anchor, ink, is_large):
            size = " large" if is_large else ""
            return (
                f'<text class="{ink.value}{size}" x="{x:.1f}" y="{y:.1f}" '
                f'text-anchor="{anchor.value}">{escape(words)}</text>'
            )
        case _:
            assert_never(shape)
