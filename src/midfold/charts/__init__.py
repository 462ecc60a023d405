"""Charts as SVG, for every report that draws one."""

from midfold.charts.plots import (
    Dot,
    HistogramChart,
    HistogramSeries,
    LineSeries,
    Marker,
    draw_bars,
    draw_dots,
    draw_histogram,
    draw_lines,
)
from midfold.charts.svg import circle, escape, line, picture, polyline, read_style, rect, shorten_number, text

__all__ = [
    "Dot",
    "HistogramChart",
    "HistogramSeries",
    "LineSeries",
    "Marker",
    "circle",
    "draw_bars",
    "draw_dots",
    "draw_histogram",
    "draw_lines",
    "escape",
    "line",
    "picture",
    "polyline",
    "read_style",
    "rect",
    "shorten_number",
    "text",
]
