"""Histograms laid out as plain shapes, so that a drawing and a bitmap of one look alike."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise
from math import log10

WIDTH, HEIGHT = 760, 400
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 24, 64, 62
_PLOT_WIDTH = WIDTH - _LEFT - _RIGHT
_PLOT_HEIGHT = HEIGHT - _TOP - _BOTTOM
_FLOOR = HEIGHT - _BOTTOM
_GRID_LINES = 4
_MOST_TICKS = 12
# The first series is seen behind the second.
_BAR_PARTS = (0.92, 0.56)


class Ink(Enum):
    """What a shape is for; a theme decides on its colour."""

    TEXT = "text"
    FAINT = "faint"
    GRID = "grid"
    BEFORE = "before"
    AFTER = "after"
    MARK = "mark"


class Anchor(Enum):
    """Which end of a label is at its place."""

    START = "start"
    MIDDLE = "middle"
    END = "end"


@dataclass(frozen=True, slots=True)
class Box:
    """A filled rectangle; `title` is for whoever points at it."""

    x: float
    y: float
    width: float
    height: float
    ink: Ink
    title: str = ""


@dataclass(frozen=True, slots=True)
class Label:
    """Words; `y` is the line that they stand on."""

    x: float
    y: float
    words: str
    anchor: Anchor = Anchor.START
    ink: Ink = Ink.FAINT
    is_large: bool = False


Shape = Box | Label


@dataclass(frozen=True, slots=True)
class Series:
    """How many rows lie between each edge and the next."""

    name: str
    counts: Sequence[int]
    ink: Ink


@dataclass(frozen=True, slots=True)
class Mark:
    """A value worth a line across the plot."""

    value: float
    name: str


@dataclass(frozen=True, slots=True)
class Chart:
    """What to draw. `spell` writes a value of the axis; a tick is at every `tick_every`th edge."""

    title: str
    axis: str
    edges: Sequence[float]
    series: Sequence[Series]
    spell: Callable[[float], str]
    tick_every: int = 1
    mark: Mark | None = None


def lay_out(chart: Chart) -> list[Shape]:
    """Place everything on a canvas of `WIDTH` by `HEIGHT`, trimmed to where there are rows."""
    bins = _trim(chart)
    highest = max((max(each.counts[bins.start : bins.stop], default=0) for each in chart.series), default=0)
    top = _round_up(max(1, highest))
    return [
        Label(_LEFT, 28, chart.title, ink=Ink.TEXT, is_large=True),
        Label(_LEFT + _PLOT_WIDTH / 2, HEIGHT - 14, chart.axis, Anchor.MIDDLE),
        Label(_LEFT, _TOP - 10, "trajectories"),
        *_legend(chart.series),
        *_grid(top),
        *_bars(chart, bins, top),
        *_ticks(chart, bins),
        *_mark(chart, bins),
    ]


def _trim(chart: Chart) -> range:
    """Return the bins from the first to the last with rows, and one around them to see that they end."""
    bins = range(len(chart.edges) - 1)
    used = [place for place in bins if any(each.counts[place] for each in chart.series)]
    return range(max(0, used[0] - 1), min(len(bins), used[-1] + 2)) if used else bins


def _round_up(value: int) -> int:
    """Return a number a little above that divides well by four."""
    step: int = 10 ** max(0, int(log10(value)) - 1) * _GRID_LINES
    return -(-value // step) * step


def _legend(series: Sequence[Series]) -> Iterator[Shape]:
    x = float(WIDTH - _RIGHT)
    for each in reversed(series if len(series) > 1 else ()):
        x -= len(each.name) * 7
        yield Label(x, _TOP - 10, each.name)
        x -= 16
        yield Box(x, _TOP - 20, 11, 11, each.ink)
        x -= 16


def _grid(top: int) -> Iterator[Shape]:
    for line in range(_GRID_LINES + 1):
        y = _FLOOR - _PLOT_HEIGHT * line / _GRID_LINES
        yield Box(_LEFT, y, _PLOT_WIDTH, 1, Ink.GRID)
        yield Label(_LEFT - 8, y + 4, f"{top * line // _GRID_LINES:,}", Anchor.END)


def _bars(chart: Chart, bins: range, top: int) -> Iterator[Shape]:
    step = _PLOT_WIDTH / len(bins)
    for series, part in zip(chart.series, _BAR_PARTS, strict=False):
        for number, place in enumerate(bins):
            count = series.counts[place]
            if not count:
                continue
            height = max(1.0, _PLOT_HEIGHT * count / top)
            span = f"{chart.spell(chart.edges[place])} to {chart.spell(chart.edges[place + 1])}"
            yield Box(
                _LEFT + step * (number + (1 - part) / 2),
                _FLOOR - height,
                step * part,
                height,
                series.ink,
                f"{series.name}: {count:,} from {span}",
            )


def _ticks(chart: Chart, bins: range) -> Iterator[Shape]:
    step = _PLOT_WIDTH / len(bins)
    edges = [edge for edge in range(bins.start, bins.stop + 1) if edge % chart.tick_every == 0]
    every = -(-len(edges) // _MOST_TICKS)
    for edge in edges[::every]:
        x = _LEFT + step * (edge - bins.start)
        yield Box(x, _FLOOR, 1, 5, Ink.FAINT)
        yield Label(x, _FLOOR + 19, chart.spell(chart.edges[edge]), Anchor.MIDDLE)


def _mark(chart: Chart, bins: range) -> Iterator[Shape]:
    """Draw a line at a value, between the edges around it."""
    if chart.mark is None:
        return
    step = _PLOT_WIDTH / len(bins)
    for place, (low, high) in enumerate(pairwise(chart.edges)):
        if low <= chart.mark.value < high and place in bins:
            x = _LEFT + step * (place - bins.start + (chart.mark.value - low) / (high - low))
            is_far_right = x > WIDTH - 160
            yield Box(x, _TOP, 2, _PLOT_HEIGHT, Ink.MARK)
            anchor = Anchor.END if is_far_right else Anchor.START
            yield Label(x + (-6 if is_far_right else 8), _TOP + 14, chart.mark.name, anchor, Ink.MARK)
