"""A period as one SVG that needs nothing else: figures, a bar for each day, hit rate, models and tools."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from math import ceil, floor, log10

from midfold.usage.reading import Insights
from midfold.usage.reports import Group, Totals, by_bucket

_WIDTH = 860
_MARGIN = 28
_LEFT = 76
"""Where the charts begin, right of their scale."""
_RIGHT = _WIDTH - _MARGIN
_FIGURES_TOP = 96
_DAYS_TOP, _DAYS_BOTTOM = 188, 388
_RATE_TOP, _RATE_BOTTOM = 456, 526
_LISTS_TOP = 604
_LINE_HEIGHT = 26
_MOST_LINES = 6
_MOST_NAME_CHARS = 24
_MOST_DAY_LABELS = 8
_COLUMN_WIDTH = (_WIDTH - 2 * _MARGIN - 40) / 2


@dataclass(frozen=True, slots=True)
class _Line:
    """One bar of a list."""

    name: str
    value: int


def draw_insights(insights: Insights) -> str:
    """Draw a period."""
    models = [_Line(group.name, group.totals.usage.total_tokens) for group in insights.models]
    tools = [_Line(tool.name, tool.tokens) for tool in insights.tools]
    longest = min(_MOST_LINES, max(len(models), len(tools), 1))
    height = _LISTS_TOP + longest * _LINE_HEIGHT + _MARGIN
    drawn = [
        _heading(insights),
        *_figures(insights.totals),
        *_day_bars(insights.days),
        *_hit_rates(insights.days),
        *_list("tokens by model", models, _MARGIN),
        *_list(_tools_heading(insights), tools, _MARGIN + _COLUMN_WIDTH + 40),
    ]
    style = files("midfold.usage").joinpath("chart.css").read_text("utf-8")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}"'
        f' height="{height}" role="img" aria-label="usage"><style>{style}</style>'
        f'<rect class="page" width="{_WIDTH}" height="{height}" rx="12"/>{"".join(drawn)}</svg>\n'
    )


def _heading(insights: Insights) -> str:
    first, last = insights.days[0].name, insights.days[-1].name
    talks = "1 conversation" if insights.conversations == 1 else f"{insights.conversations:,} conversations"
    period = first if first == last else f"{first} to {last}"
    return _text(_MARGIN, 44, "Usage", "title") + _text(_MARGIN, 64, f"{period} · {talks}", "soft")


def _tools_heading(insights: Insights) -> str:
    if insights.tools_of >= insights.conversations:
        return "tokens by tool, about"
    return f"tokens by tool, newest {insights.tools_of:,} conversations"


def _figures(totals: Totals) -> Iterator[str]:
    bill = totals.bill
    dollars = "unknown" if bill.dollars is None else f"${bill.dollars:,.2f}"
    cost = "cost" if bill.is_complete else "cost, at least"
    net = totals.savings.net.tokens
    folds = "1 fold" if totals.compressions == 1 else f"{totals.compressions:,} folds"
    shown = (
        (f"{totals.calls:,}", "calls"),
        (_short(totals.usage.total_tokens), "tokens"),
        (dollars, cost if bill.dollars is not None else "cost"),
        (f"{totals.usage.cache_hit_rate:.0%}", "input from the cache"),
        (_short(abs(net)), f"tokens {'saved' if net >= 0 else 'more'}, net, by {folds}"),
    )
    step = (_WIDTH - 2 * _MARGIN) / len(shown)
    for place, (value, name) in enumerate(shown):
        yield _text(_MARGIN + place * step, _FIGURES_TOP + 14, value, "figure")
        yield _text(_MARGIN + place * step, _FIGURES_TOP + 34, name, "soft small")


def _day_bars(days: Sequence[Group]) -> Iterator[str]:
    most = max([day.totals.usage.total_tokens for day in days], default=0)
    top, step = _scale(most)
    yield _text(_MARGIN, _DAYS_TOP - 14, "tokens by day", "name")
    yield from _legend(days)
    for number in range(round(top / step) + 1):
        y = _DAYS_BOTTOM - number * step / top * (_DAYS_BOTTOM - _DAYS_TOP)
        yield _rule(y) + _text(_LEFT - 8, y + 4, _short(number * step), "soft small", "end")
    for x, width, day in _columns(days):
        y = float(_DAYS_BOTTOM)
        for place, (name, tokens) in enumerate(by_bucket(day.totals.usage).items()):
            part = tokens / top * (_DAYS_BOTTOM - _DAYS_TOP)
            y -= part
            if part:
                yield _bar(x, y, width, part, f"s{place}", f"{day.name}: {tokens:,} {name}")
    yield from _day_labels(days, _DAYS_BOTTOM)


def _hit_rates(days: Sequence[Group]) -> Iterator[str]:
    yield _text(_MARGIN, _RATE_TOP - 14, "cache hit rate", "name")
    for part in (0, 0.5, 1):
        y = _rate_height(part)
        yield _rule(y) + _text(_LEFT - 8, y + 4, f"{part:.0%}", "soft small", "end")
    points = [
        (x + width / 2, _rate_height(day.totals.usage.cache_hit_rate), day)
        for x, width, day in _columns(days)
        if day.totals.usage.prompt_tokens
    ]
    yield f'<polyline class="line" points="{" ".join(f"{x:.1f},{y:.1f}" for x, y, _ in points)}"/>'
    for x, y, day in points:
        title = f"{day.name}: {day.totals.usage.cache_hit_rate:.0%}"
        yield f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="3"><title>{_clean(title)}</title></circle>'
    yield from _day_labels(days, _RATE_BOTTOM)


def _list(heading: str, lines: Sequence[_Line], left: float) -> Iterator[str]:
    yield _text(left, _LISTS_TOP - 14, heading, "name")
    most = max([line.value for line in lines], default=0)
    for place, line in enumerate(lines[:_MOST_LINES]):
        y = _LISTS_TOP + place * _LINE_HEIGHT
        width = max(2.0, line.value / max(most, 1) * (_COLUMN_WIDTH - 230))
        shown = line.name if len(line.name) <= _MOST_NAME_CHARS else line.name[: _MOST_NAME_CHARS - 1] + "…"
        yield _text(left, y + 13, shown, "")
        yield _bar(left + 172, y + 2, width, 14, "s0", f"{line.name}: {line.value:,}")
        yield _text(left + 178 + width, y + 13, _short(line.value), "soft small")
    if not lines:
        yield _text(left, _LISTS_TOP + 13, "none", "soft")


def _legend(days: Sequence[Group]) -> Iterator[str]:
    x = float(_LEFT + 90)
    for place, name in enumerate(by_bucket(days[0].totals.usage)):
        yield f'<rect class="s{place}" x="{x:.1f}" y="{_DAYS_TOP - 23}" width="10" height="10" rx="2"/>'
        yield _text(x + 15, _DAYS_TOP - 14, name, "soft small")
        x += 32 + len(name) * 6.4


def _columns(days: Sequence[Group]) -> Iterator[tuple[float, float, Group]]:
    """Yield where the bar of each day stands, and how wide it is."""
    step = (_RIGHT - _LEFT) / len(days)
    width = min(40.0, step * 0.72)
    for place, day in enumerate(days):
        yield _LEFT + place * step + (step - width) / 2, width, day


def _day_labels(days: Sequence[Group], below: float) -> Iterator[str]:
    every = ceil(len(days) / _MOST_DAY_LABELS)
    for place, (x, width, day) in enumerate(_columns(days)):
        if (len(days) - 1 - place) % every == 0:
            yield _text(x + width / 2, below + 18, day.name[5:], "soft small", "middle")


def _scale(most: int) -> tuple[float, float]:
    """Return the end of a scale and its step: round figures, about four of them."""
    if most <= 0:
        return 4.0, 1.0
    power = 10 ** floor(log10(most))
    step = next(power * part for part in (0.25, 0.5, 1, 2.5) if most / (power * part) <= 5)
    return ceil(most / step) * step, step


def _rate_height(part: float) -> float:
    return _RATE_BOTTOM - part * (_RATE_BOTTOM - _RATE_TOP)


def _short(tokens: float) -> str:
    """Spell a number in few characters."""
    sign, count = ("-" if tokens < 0 else ""), abs(tokens)
    for unit, name in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if count >= unit:
            scaled = count / unit
            return f"{sign}{scaled:.0f}{name}" if scaled >= 100 else f"{sign}{scaled:.3g}{name}"
    return f"{sign}{count:.0f}"


def _rule(y: float) -> str:
    return f'<line class="rule" x1="{_LEFT}" y1="{y:.1f}" x2="{_RIGHT}" y2="{y:.1f}"/>'


def _bar(x: float, y: float, width: float, height: float, series: str, title: str) -> str:
    return (
        f'<rect class="{series}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}">'
        f"<title>{_clean(title)}</title></rect>"
    )


def _text(x: float, y: float, words: str, style: str, anchor: str = "start") -> str:
    return f'<text class="{style}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{_clean(words)}</text>'


def _clean(words: str) -> str:
    """Spell text for XML, which has no place for control characters."""
    return escape("".join(character for character in words if character.isprintable()))
