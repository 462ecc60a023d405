"""A period as one SVG that needs nothing else: figures, a bar for each day, hit rate, models and tools."""

from collections.abc import Iterator, Sequence
from math import ceil, floor, log10

from midfold.charts import circle, line, picture, polyline, rect, shorten_number, text
from midfold.late_dataclasses import dataclass
from midfold.usage.insights import Insights
from midfold.usage.totals import Group, Totals, by_bucket

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
_MOST_NAME_CHARS = 22
_NAME_WIDTH = 182
_MOST_DAY_LABELS = 8
_COLUMN_WIDTH = (_WIDTH - 2 * _MARGIN - 40) / 2


@dataclass(frozen=True, slots=True)
class _ListedBar:
    """One bar of a list."""

    name: str
    value: int


def draw_insights(insights: Insights) -> str:
    """Draw a period."""
    models = [_ListedBar(group.name, group.totals.usage.total_tokens) for group in insights.models]
    tools = [_ListedBar(tool.name, tool.tokens) for tool in insights.tools]
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
    return picture(_WIDTH, height, drawn, "usage")


def _heading(insights: Insights) -> str:
    first, last = insights.days[0].name, insights.days[-1].name
    talks = "1 conversation" if insights.conversations == 1 else f"{insights.conversations:,} conversations"
    period = first if first == last else f"{first} to {last}"
    return text(_MARGIN, 44, "Usage", "title") + text(_MARGIN, 64, f"{period} · {talks}", "soft")


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
        (shorten_number(totals.usage.total_tokens), "tokens"),
        (dollars, cost if bill.dollars is not None else "cost"),
        (f"{totals.usage.cache_hit_rate:.0%}", "input from the cache"),
        (shorten_number(abs(net)), f"tokens {'saved' if net >= 0 else 'more'}, net, by {folds}"),
    )
    step = (_WIDTH - 2 * _MARGIN) / len(shown)
    for index, (value, name) in enumerate(shown):
        yield text(_MARGIN + index * step, _FIGURES_TOP + 14, value, "figure")
        yield text(_MARGIN + index * step, _FIGURES_TOP + 34, name, "soft small")


def _day_bars(days: Sequence[Group]) -> Iterator[str]:
    most = max([day.totals.usage.total_tokens for day in days], default=0)
    top, step = _scale(most)
    yield text(_MARGIN, _DAYS_TOP - 14, "tokens by day", "name")
    yield from _legend(days)
    for number in range(round(top / step) + 1):
        y = _DAYS_BOTTOM - number * step / top * (_DAYS_BOTTOM - _DAYS_TOP)
        yield _rule(y) + text(_LEFT - 8, y + 4, shorten_number(number * step), "soft small", "end")
    for x, width, day in _columns(days):
        y = float(_DAYS_BOTTOM)
        for index, (name, tokens) in enumerate(by_bucket(day.totals.usage).items()):
            part = tokens / top * (_DAYS_BOTTOM - _DAYS_TOP)
            y -= part
            if part:
                yield rect(x, y, width, part, f"s{index}", f"{day.name}: {tokens:,} {name}")
    yield from _day_labels(days, _DAYS_BOTTOM)


def _hit_rates(days: Sequence[Group]) -> Iterator[str]:
    yield text(_MARGIN, _RATE_TOP - 14, "cache hit rate", "name")
    for part in (0, 0.5, 1):
        y = _rate_height(part)
        yield _rule(y) + text(_LEFT - 8, y + 4, f"{part:.0%}", "soft small", "end")
    points = [
        (x + width / 2, _rate_height(day.totals.usage.cache_hit_rate), day)
        for x, width, day in _columns(days)
        if day.totals.usage.prompt_tokens
    ]
    yield polyline([(x, y) for x, y, _ in points], "line s0")
    for x, y, day in points:
        yield circle(x, y, 3, "dot s0", f"{day.name}: {day.totals.usage.cache_hit_rate:.0%}")
    yield from _day_labels(days, _RATE_BOTTOM)


def _list(heading: str, bars: Sequence[_ListedBar], left: float) -> Iterator[str]:
    yield text(left, _LISTS_TOP - 14, heading, "name")
    most = max([bar.value for bar in bars], default=0)
    for index, bar in enumerate(bars[:_MOST_LINES]):
        y = _LISTS_TOP + index * _LINE_HEIGHT
        width = max(2.0, bar.value / max(most, 1) * (_COLUMN_WIDTH - _NAME_WIDTH - 60))
        shown = bar.name if len(bar.name) <= _MOST_NAME_CHARS else bar.name[: _MOST_NAME_CHARS - 1] + "…"
        yield text(left, y + 13, shown)
        yield rect(left + _NAME_WIDTH, y + 2, width, 14, "s0", f"{bar.name}: {bar.value:,}")
        yield text(left + _NAME_WIDTH + 6 + width, y + 13, shorten_number(bar.value), "soft small")
    if not bars:
        yield text(left, _LISTS_TOP + 13, "none", "soft")


def _legend(days: Sequence[Group]) -> Iterator[str]:
    x = float(_LEFT + 90)
    for index, name in enumerate(by_bucket(days[0].totals.usage)):
        yield rect(x, _DAYS_TOP - 23, 10, 10, f"s{index}")
        yield text(x + 15, _DAYS_TOP - 14, name, "soft small")
        x += 32 + len(name) * 6.4


def _columns(days: Sequence[Group]) -> Iterator[tuple[float, float, Group]]:
    """Yield where the bar of each day stands, and how wide it is."""
    step = (_RIGHT - _LEFT) / len(days)
    width = min(40.0, step * 0.72)
    for index, day in enumerate(days):
        yield _LEFT + index * step + (step - width) / 2, width, day


def _day_labels(days: Sequence[Group], below: float) -> Iterator[str]:
    every = ceil(len(days) / _MOST_DAY_LABELS)
    for index, (x, width, day) in enumerate(_columns(days)):
        if (len(days) - 1 - index) % every == 0:
            yield text(x + width / 2, below + 18, day.name[5:], "soft small", "middle")


def _scale(most: int) -> tuple[float, float]:
    """Return the end of a scale and its step: round figures, about four of them."""
    if most <= 0:
        return 4.0, 1.0
    power = 10 ** floor(log10(most))
    step = next(power * part for part in (0.25, 0.5, 1, 2.5) if most / (power * part) <= 5)
    return ceil(most / step) * step, step


def _rate_height(part: float) -> float:
    return _RATE_BOTTOM - part * (_RATE_BOTTOM - _RATE_TOP)


def _rule(y: float) -> str:
    return line(_LEFT, y, _RIGHT, y)
