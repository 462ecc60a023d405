"""Plots that more than one report could use: groups of bars, lines, dots, and histograms."""

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from math import log10

from midfold.charts.svg import circle, inline, line, picture, polyline, rect, text
from midfold.late_dataclasses import dataclass

_WIDTH = 860
_LABEL_WIDTH = 150
_BAR_HEIGHT = 9
_GROUP_GAP = 12
_PLOT_HEIGHT = 280
_MARGIN = 44

_HISTOGRAM_WIDTH, _HISTOGRAM_HEIGHT = 760, 400
_LEFT, _TOP = 70, 64
_RIGHT, _FLOOR = _HISTOGRAM_WIDTH - 24, _HISTOGRAM_HEIGHT - 62
_GRID_LINES = 4
_MOST_TICKS = 12
_MARKER_ROOM = 0.88
"""The part of the plot that bars take below the name of a marker."""
# The first series is seen behind the second.
_BAR_PARTS = (0.92, 0.56)


@dataclass(frozen=True, slots=True)
class LineSeries:
    """Values of one series, parts of one, in the order of the chart's labels; `None` leaves a gap."""

    name: str
    values: Sequence[float | None]


@dataclass(frozen=True, slots=True)
class Dot:
    """One point of a series: a size, the part that is kept, and the words for it."""

    series: int
    tokens: int
    kept: float
    label: str


@dataclass(frozen=True, slots=True)
class HistogramSeries:
    """The number of rows between each edge and the next; `style` is a class of the style sheet."""

    name: str
    counts: Sequence[int]
    style: str = "s0"


@dataclass(frozen=True, slots=True)
class Marker:
    """A value worth a line across the plot."""

    value: float
    name: str


@dataclass(frozen=True, slots=True)
class HistogramChart:
    """A histogram. `format_value` writes a value of the axis; a tick is at every `tick_every`th edge."""

    title: str
    axis: str
    unit: str
    """the unit of the counts"""
    edges: Sequence[float]
    series: Sequence[HistogramSeries]
    format_value: Callable[[float], str]
    tick_every: int = 1
    marker: Marker | None = None

    @property
    def used(self) -> range:
        """The bins from the first to the last with rows, and one around them to see that they end."""
        bins = range(len(self.edges) - 1)
        used = [index for index in bins if any(each.counts[index] for each in self.series)]
        return range(max(0, used[0] - 1), min(len(bins), used[-1] + 2)) if used else bins


def draw_bars(labels: Sequence[str], series: Sequence[LineSeries]) -> str:
    """Draw a group of bars for each label, one bar a series."""
    height = len(labels) * (len(series) * _BAR_HEIGHT + _GROUP_GAP) + 24
    shapes = [*_percent_scale(height), *_bar_groups(labels, series)]
    return inline(_WIDTH, height, shapes, "bars by kind and method")


def draw_lines(labels: Sequence[str], series: Sequence[LineSeries]) -> str:
    """Draw one line a series over evenly spaced labels."""
    step = (_WIDTH - 2 * _MARGIN) / max(1, len(labels) - 1)
    columns = [_MARGIN + step * index for index in range(len(labels))]
    shapes = [*_part_scale()]
    shapes += [_tick_label(x, label) for x, label in zip(columns, labels, strict=True)]
    for number, one in enumerate(series):
        points = [(x, _height(part)) for x, part in zip(columns, one.values, strict=True) if part is not None]
        shapes.append(polyline(points, f"line s{number}"))
        shapes += [circle(x, y, 4, f"dot s{number}", one.name) for x, y in points]
    return inline(_WIDTH, _PLOT_HEIGHT, shapes, "lines by method")


def draw_dots(dots: Sequence[Dot]) -> str:
    """Draw what is kept against tokens; tokens on a logarithmic scale."""
    if not dots:
        return ""
    low = log10(max(1, min(dot.tokens for dot in dots)))
    high = log10(max(2, max(dot.tokens for dot in dots)))
    scale = (_WIDTH - 2 * _MARGIN) / max(high - low, 0.1)
    shapes = [*_part_scale()]
    shapes += [
        _tick_label(_MARGIN + (power - low) * scale, f"{10**power:,}")
        for power in range(int(low), int(high) + 1)
        if power >= low
    ]
    for dot in dots:
        x = _MARGIN + (log10(max(1, dot.tokens)) - low) * scale
        shapes.append(circle(x, _height(dot.kept), 4, f"dot s{dot.series}", dot.label))
    return inline(_WIDTH, _PLOT_HEIGHT, shapes, "kept against tokens")


def draw_histogram(chart: HistogramChart) -> str:
    """Draw a histogram as a file of its own, trimmed to where there are rows."""
    bins = chart.used
    highest = max((max(each.counts[bins.start : bins.stop], default=0) for each in chart.series), default=0)
    top = _round_up(max(1, highest / _MARKER_ROOM if chart.marker else highest))
    shapes = [
        text(_LEFT, 28, chart.title, "name"),
        text((_LEFT + _RIGHT) / 2, _HISTOGRAM_HEIGHT - 14, chart.axis, "soft", "middle"),
        text(_LEFT, _TOP - 10, chart.unit, "soft"),
        *_legend(chart.series),
        *_count_scale(top),
        *_columns(chart, bins, top),
        *_ticks(chart, bins),
        *_marker(chart, bins),
    ]
    return picture(_HISTOGRAM_WIDTH, _HISTOGRAM_HEIGHT, shapes, chart.title)


def _bar_groups(labels: Sequence[str], series: Sequence[LineSeries]) -> Iterator[str]:
    room = _WIDTH - _LABEL_WIDTH - 60
    y = 4
    for index, label in enumerate(labels):
        yield text(_LABEL_WIDTH - 8, y + len(series) * _BAR_HEIGHT / 2 + 4, label, "soft small", "end")
        for number, one in enumerate(series):
            part = one.values[index] or 0.0
            width = max(1.0, part * room)
            yield rect(_LABEL_WIDTH, y, width, _BAR_HEIGHT - 1, f"s{number}", f"{one.name}: {part:.1%}")
            if number == 0:
                yield text(_LABEL_WIDTH + width + 5, y + 8, f"{part * 100:.0f} %", "soft small")
            y += _BAR_HEIGHT
        y += _GROUP_GAP


def _percent_scale(height: int) -> Iterator[str]:
    room = _WIDTH - _LABEL_WIDTH - 60
    for part in (0, 0.25, 0.5, 0.75, 1):
        x = _LABEL_WIDTH + room * part
        yield line(x, 0, x, height - 20)
        yield text(x, height - 6, f"{part * 100:.0f} %", "soft small", "middle")


def _part_scale() -> Iterator[str]:
    for part in (0, 0.25, 0.5, 0.75, 1):
        y = _height(part)
        yield line(_MARGIN, y, _WIDTH - _MARGIN, y)
        yield text(_MARGIN - 6, y + 4, f"{part * 100:.0f} %", "soft small", "end")


def _tick_label(x: float, label: str) -> str:
    return text(x, _PLOT_HEIGHT - _MARGIN + 18, label, "soft small", "middle")


def _height(part: float) -> float:
    return _PLOT_HEIGHT - _MARGIN - part * (_PLOT_HEIGHT - _MARGIN - 14)


def _round_up(value: float) -> int:
    """Return a number a little above that divides well by four."""
    step: int = 10 ** max(0, int(log10(value)) - 1) * _GRID_LINES
    return int(-(-value // step) * step)


def _legend(series: Sequence[HistogramSeries]) -> Iterator[str]:
    x = float(_RIGHT)
    for each in reversed(series if len(series) > 1 else ()):
        x -= len(each.name) * 7
        yield text(x, _TOP - 10, each.name, "soft")
        x -= 16
        yield rect(x, _TOP - 20, 11, 11, each.style)
        x -= 16


def _count_scale(top: int) -> Iterator[str]:
    for number in range(_GRID_LINES + 1):
        y = _FLOOR - (_FLOOR - _TOP) * number / _GRID_LINES
        yield line(_LEFT, y, _RIGHT, y)
        yield text(_LEFT - 8, y + 4, f"{top * number // _GRID_LINES:,}", "soft small", "end")


def _columns(chart: HistogramChart, bins: range, top: int) -> Iterator[str]:
    step = (_RIGHT - _LEFT) / len(bins)
    for series, part in zip(chart.series, _BAR_PARTS, strict=False):
        for number, index in enumerate(bins):
            count = series.counts[index]
            if not count:
                continue
            height = max(1.0, (_FLOOR - _TOP) * count / top)
            first, last = (chart.format_value(edge) for edge in chart.edges[index : index + 2])
            x = _LEFT + step * (number + (1 - part) / 2)
            title = f"{series.name}: {count:,} from {first} to {last}"
            yield rect(x, _FLOOR - height, step * part, height, series.style, title)


def _ticks(chart: HistogramChart, bins: range) -> Iterator[str]:
    step = (_RIGHT - _LEFT) / len(bins)
    edges = [edge for edge in range(bins.start, bins.stop + 1) if edge % chart.tick_every == 0]
    every = -(-len(edges) // _MOST_TICKS)
    for edge in edges[::every]:
        x = _LEFT + step * (edge - bins.start)
        yield line(x, _FLOOR, x, _FLOOR + 5)
        yield text(x, _FLOOR + 19, chart.format_value(chart.edges[edge]), "soft small", "middle")


def _marker(chart: HistogramChart, bins: range) -> Iterator[str]:
    """Draw a line at a value, between the edges around it, and its name above the bars."""
    if chart.marker is None:
        return
    step = (_RIGHT - _LEFT) / len(bins)
    for index, (low, high) in enumerate(pairwise(chart.edges)):
        if low <= chart.marker.value < high and index in bins:
            x = _LEFT + step * (index - bins.start + (chart.marker.value - low) / (high - low))
            is_far_right = x > _RIGHT - 136
            yield rect(x, _TOP, 2, _FLOOR - _TOP, "mark")
            anchor = "end" if is_far_right else "start"
            yield text(x + (-6 if is_far_right else 8), _TOP + 14, chart.marker.name, "mark", anchor)
