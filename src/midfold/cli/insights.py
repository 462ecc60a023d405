"""`midfold insights`: what the last days used, cost and saved."""

import time
from pathlib import Path

import click
from rich.console import Console
from rich.text import Text

from midfold.cli.console import make_console
from midfold.cli.finding import own_store
from midfold.cli.session_json import print_json
from midfold.cli.usage_tables import bar_legend, group_grid, print_grid, print_totals, tool_grid
from midfold.cli.when import tell_date
from midfold.files import replace_file
from midfold.redact import redact
from midfold.usage import Group, Insights, draw_insights, insights_as_dict, read_insights

_EPILOG = """\b
Examples:
  midfold insights
  midfold insights --days 7 --by model
  midfold insights --svg usage.svg
"""


@click.command(epilog=_EPILOG)
@click.option(
    "--days", type=click.IntRange(1, 3_650), default=30, show_default=True, help="Days, today included."
)
@click.option(
    "--by",
    type=click.Choice(["day", "model", "source"]),
    default="day",
    show_default=True,
    help="What a line of the table is.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of tables.")
@click.option("--svg", type=click.Path(path_type=Path), metavar="FILE", help="Write a chart as well.")
def command(days: int, by: str, as_json: bool, svg: Path | None) -> int:
    """Show what the last days used: tokens, cost, cache hit rate, net savings, biggest tools."""
    with own_store() as store:
        insights = read_insights(store, now=time.time(), days=days)
    if svg is not None:
        replace_file(svg, redact(draw_insights(insights)).encode())
    if as_json:
        print_json(insights_as_dict(insights))
    else:
        print_insights(insights, by, make_console())
    return 0


def print_insights(insights: Insights, by: str, console: Console) -> None:
    """Print what a period used."""
    days = len(insights.days)
    period = "today" if days == 1 else f"the last {days} days"
    if not insights.totals.calls:
        console.print(f"no call is recorded for {period}; --days looks further back", soft_wrap=True)
        return
    talks = "1 conversation" if insights.conversations == 1 else f"{insights.conversations:,} conversations"
    facts = f"{tell_date(insights.since)[:10]} to {tell_date(insights.until)[:10]} · {talks}"
    console.print(Text.assemble((period, "bold"), "  ", (facts, "dim")), soft_wrap=True)
    print_totals(insights.totals, console)
    groups = {"day": _busy_days(insights), "model": insights.models, "source": insights.sources}[by]
    print_grid(group_grid(by, groups, console.width), console)
    console.print(bar_legend(), soft_wrap=True)
    if insights.tools:
        print_grid(tool_grid(insights.tools), console)
    if insights.tools_of < insights.conversations:
        note = f"tools, and what was read again, are those of the newest {insights.tools_of:,} conversations"
        console.print(Text(note, style="dim"), soft_wrap=True)


def _busy_days(insights: Insights) -> tuple[Group, ...]:
    """Leave out the days before the first call."""
    first = next(place for place, day in enumerate(insights.days) if day.totals.calls)
    return insights.days[first:]
