"""Tables of usage in terminals of any width."""

from io import StringIO

import pytest
from rich.console import Console

from midfold.cli.render.usage import group_grid, print_insights
from midfold.tokens import CanonicalUsage
from midfold.tokens.breakdown import ToolShare
from midfold.usage import Group, Insights, add_up, count_calls, make_call


def totals(tokens, model="claude-sonnet-4-5"):
    return add_up(count_calls([make_call(CanonicalUsage(tokens, tokens // 9, tokens * 3), model)]))


@pytest.mark.parametrize("tokens", [900, 1_234_567, 98_765_432_100])
@pytest.mark.parametrize("name", ["2026-03-01", "a-model-with-a-very-long-name-of-its-own"])
@pytest.mark.parametrize("width", [40, 60, 72, 80, 81, 100, 200])
def test_a_bar_is_shown_whole_or_not_at_all(tokens, name, width):
    grid = group_grid("day", [Group(name, totals(tokens)), Group("b", totals(tokens // 3))], width)
    lines = [line.plain for line in grid.lines(width)]
    assert all(len(line) <= width for line in lines)
    assert not any("█" in line and line.endswith("…") for line in lines)


@pytest.mark.parametrize(("height", "times"), [(24, 2), (200, 1)])
def test_the_price_of_a_month_is_in_sight_below_a_long_table(height, times):
    days = tuple(Group(f"2026-03-{day:02}", totals(5_000)) for day in range(1, 31))
    report = Insights(0.0, 1.0, 512, totals(150_000), days, (), (), (), (), 512)
    console = Console(file=StringIO(), width=80, height=height, force_terminal=True, color_system=None)
    print_insights(report, "day", console)
    lines = console.file.getvalue().splitlines()
    told = [number for number, line in enumerate(lines) if " reported in 1 call, $" in line]
    assert len(told) == times
    assert max(told) == (len(lines) - 1 if times == 2 else 1)


def test_insights_say_of_how_many_conversations_the_tools_are():
    day = Group("2026-03-01", totals(5_000))
    tools = (ToolShare("read_file", 3, 100, 2_000, 900),)
    report = Insights(0.0, 1.0, 512, day.totals, (day,), (day,), (), (), tools, 40)
    console = Console(file=StringIO(), width=100)
    print_insights(report, "day", console)
    shown = console.file.getvalue()
    assert "tools, and what was read again, are those of the newest 40 conversations" in shown
