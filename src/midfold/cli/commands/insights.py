"""`midfold insights`: what the last days used, cost and saved."""

import time
from pathlib import Path

import click

from midfold.cli.conversations import own_store, print_json
from midfold.cli.options import whole_number
from midfold.cli.render.console import make_console
from midfold.cli.render.usage import print_insights
from midfold.files import replace_file
from midfold.redact import redact
from midfold.usage import MOST_DAYS, draw_insights, insights_as_dict, read_insights

_EPILOG = """\b
Examples:
  midfold insights
  midfold insights --days 7 --by model
  midfold insights --svg usage.svg
"""


@click.command(epilog=_EPILOG)
@click.option(
    "--days",
    type=whole_number(1, MOST_DAYS),
    metavar="N",
    default=30,
    help="Number of days, including today; default: 30.",
)
@click.option(
    "--by",
    type=click.Choice(["day", "model", "source"]),
    metavar="WHAT",
    default="day",
    help="Group by day, model or source; default: day.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of tables.")
@click.option("--svg", type=click.Path(path_type=Path), metavar="FILE", help="Also write a chart.")
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
