"""Charts as inline SVG. Colours are classes, so that the page decides how they look by day and by night."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from math import log10

_WIDTH = 860
_LABEL_WIDTH = 150
_BAR_HEIGHT = 9
_GROUP_GAP = 12
_PLOT_HEIGHT = 280
_MARGIN = 44


@dataclass(frozen=True, slots=True)
class Series:
    """Values of one method, in the order of the chart's labels; `None` leaves a gap."""

    name: str
    values: Sequence[float | None]


@dataclass(frozen=True, slots=True)
class Dot:
    """One conversation under one method: what it takes and what it keeps."""

    series: int
    tokens: int
    kept: float
    label: str


def draw_bars(labels: Sequence[str], series: Sequence[Series]) -> str:
    """Draw a group of bars for each label, one bar a series; values are parts of one."""
    height = len(labels) * (len(series) * _BAR_HEIGHT + _GROUP_GAP) + 24
    return _svg(height, [*_percent_scale(height), *_bar_groups(labels, series)], "bars by kind and method")


def draw_lines(labels: Sequence[str], series: Sequence[Series]) -> str:
    """Draw one line a series over evenly spaced labels; values are parts of one."""
    step = (_WIDTH - 2 * _MARGIN) / max(1, len(labels) - 1)
    places = [_MARGIN + step * place for place in range(len(labels))]
    drawn = [*_grid()]
    drawn += [
        _text(place, _PLOT_HEIGHT - _MARGIN + 18, label, "middle")
        for place, label in zip(places, labels, strict=True)
    ]
    for number, one in enumerate(series):
        points = [(x, _height(y)) for x, y in zip(places, one.values, strict=True) if y is not None]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        drawn.append(f'<polyline class="line s{number}" points="{path}"/>')
        drawn += [_circle(x, y, number, one.name) for x, y in points]
    return _svg(_PLOT_HEIGHT, drawn, "what is left after chains of folds")


def draw_dots(dots: Sequence[Dot]) -> str:
    """Draw kept against tokens; tokens on a logarithmic scale."""
    if not dots:
        return ""
    low = log10(max(1, min(dot.tokens for dot in dots)))
    high = log10(max(2, max(dot.tokens for dot in dots)))
    span = max(high - low, 0.1)
    drawn = [*_grid()]
    for power in range(int(low), int(high) + 1):
        x = _MARGIN + (power - low) / span * (_WIDTH - 2 * _MARGIN)
        if x >= _MARGIN:
            drawn.append(_text(x, _PLOT_HEIGHT - _MARGIN + 18, f"{10**power:,}", "middle"))
    for dot in dots:
        x = _MARGIN + (log10(max(1, dot.tokens)) - low) / span * (_WIDTH - 2 * _MARGIN)
        drawn.append(_circle(x, _height(dot.kept), dot.series, dot.label))
    return _svg(_PLOT_HEIGHT, drawn, "kept against tokens, a dot for each conversation")


def _bar_groups(labels: Sequence[str], series: Sequence[Series]) -> Iterator[str]:
    room = _WIDTH - _LABEL_WIDTH - 60
    y = 4
    for place, label in enumerate(labels):
        yield _text(_LABEL_WIDTH - 8, y + len(series) * _BAR_HEIGHT / 2 + 4, label, "end")
        for number, one in enumerate(series):
            value = one.values[place] or 0.0
            width = max(1.0, value * room)
            yield (
                f'<rect class="bar s{number}" x="{_LABEL_WIDTH}" y="{y}" width="{width:.1f}"'
                f' height="{_BAR_HEIGHT - 1}"><title>{escape(one.name)}: {value:.1%}</title></rect>'
            )
            if number == 0:
                yield _text(_LABEL_WIDTH + width + 5, y + 8, f"{value * 100:.0f} %", "start")
            y += _BAR_HEIGHT
        y += _GROUP_GAP


def _percent_scale(height: int) -> Iterator[str]:
    room = _WIDTH - _LABEL_WIDTH - 60
    for tenths in (0, 2.5, 5, 7.5, 10):
        x = _LABEL_WIDTH + room * tenths / 10
        yield f'<line class="rule" x1="{x:.1f}" y1="0" x2="{x:.1f}" y2="{height - 20}"/>'
        yield _text(x, height - 6, f"{tenths * 10:.0f} %", "middle")


def _grid() -> Iterator[str]:
    for part in (0, 0.25, 0.5, 0.75, 1):
        y = _height(part)
        yield f'<line class="rule" x1="{_MARGIN}" y1="{y:.1f}" x2="{_WIDTH - _MARGIN}" y2="{y:.1f}"/>'
        yield _text(_MARGIN - 6, y + 4, f"{part * 100:.0f} %", "end")


def _height(part: float) -> float:
    return _PLOT_HEIGHT - _MARGIN - part * (_PLOT_HEIGHT - _MARGIN - 14)


def _circle(x: float, y: float, series: int, label: str) -> str:
    title = f"<title>{escape(label)}</title>"
    return f'<circle class="dot s{series}" cx="{x:.1f}" cy="{y:.1f}" r="4">{title}</circle>'


def _text(x: float, y: float, words: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(words)}</text>'


def _svg(height: int, drawn: Sequence[str], title: str) -> str:
    return (
        f'<svg viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="{escape(title)}">{"".join(drawn)}</svg>'
    )
