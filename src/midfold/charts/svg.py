"""Shapes as SVG text. Colours are classes of one style sheet, which knows day and night."""

import html
from collections.abc import Iterable, Sequence

from midfold.texts import read_text


def picture(width: int, height: float, shapes: Iterable[str], label: str) -> str:
    """Return shapes as an SVG file that stands by itself; `label` is for those who cannot see it."""
    page = f'<rect class="page" width="{width}" height="{height}" rx="12"/>'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}"'
        f' height="{height}" role="img" aria-label="{escape(label)}"><style>{read_style()}</style>'
        f"{page}{''.join(shapes)}</svg>\n"
    )


def inline(width: int, height: float, shapes: Iterable[str], label: str) -> str:
    """Return shapes as SVG inside an HTML page, which has the style sheet."""
    size = f'viewBox="0 0 {width} {height}"'
    return f'<svg {size} role="img" aria-label="{escape(label)}">{"".join(shapes)}</svg>'


def read_style() -> str:
    """Return the style sheet of all charts."""
    return read_text("midfold.charts", "chart.css")


def text(x: float, y: float, words: str, style: str = "", anchor: str = "start") -> str:
    """Return words on the line `y`."""
    return f'<text class="{style}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(words)}</text>'


def rect(x: float, y: float, width: float, height: float, style: str, title: str = "") -> str:
    """Return a filled rectangle; `title` is shown where somebody points at it."""
    size = f'x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"'
    return f'<rect class="{style}" {size}>{_title(title)}</rect>'


def circle(x: float, y: float, radius: float, style: str, title: str) -> str:
    """Return a dot."""
    return f'<circle class="{style}" cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}">{_title(title)}</circle>'


def line(x1: float, y1: float, x2: float, y2: float, style: str = "rule") -> str:
    """Return a straight line."""
    return f'<line class="{style}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def polyline(points: Sequence[tuple[float, float]], style: str) -> str:
    """Return a line through points."""
    return f'<polyline class="{style}" points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in points)}"/>'


def escape(words: str) -> str:
    """Return text for XML, which allows no control characters."""
    return html.escape("".join(character for character in words if character.isprintable()))


def shorten_number(value: float) -> str:
    """Return a number in few characters: 950, 1.5k, 20M."""
    sign, size = ("-" if value < 0 else ""), abs(value)
    for unit, name in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if size >= unit:
            scaled = size / unit
            return f"{sign}{scaled:.0f}{name}" if scaled >= 100 else f"{sign}{scaled:.3g}{name}"
    return f"{sign}{size:.0f}"


def _title(words: str) -> str:
    return f"<title>{escape(words)}</title>" if words else ""
