"""`midfold plugins`: the context engines, and where they come from."""

import json
from dataclasses import asdict
from pathlib import Path

import click
from rich.text import Text

from midfold.cli.render.console import make_console
from midfold.cli.render.grid import Grid
from midfold.cli.terminal import printable, printable_path
from midfold.config import find_home
from midfold.engines import GROUP, PLUGIN_FOLDER, list_engines

_MOST_CHARS = 200


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON list instead of a table.")
def command(as_json: bool) -> None:
    """List the engines for the setting context.engine.

    An engine is built in, comes with an installed package, or lies in a folder of MIDFOLD_HOME. Listing loads
    none of them.
    """
    offers = list_engines(find_home())
    if as_json:
        click.echo(json.dumps([asdict(offer) for offer in offers], indent=2))
        return
    rows = [[Text(printable(offer.name)), Text(_describe_source(offer.source))] for offer in offers]
    console = make_console()
    for line in Grid(("engine", "from"), rows, words=(0, 1)).lines(console.width):
        console.print(line, soft_wrap=True)
    folder = printable_path(find_home() / PLUGIN_FOLDER, _MOST_CHARS)
    console.print(
        f"\nYour own: entry points of {GROUP}, and folders in\n{folder}", style="dim", soft_wrap=True
    )


def _describe_source(source: str) -> str:
    path = Path(source)
    return printable_path(path, _MOST_CHARS) if path.is_absolute() else printable(source, _MOST_CHARS)
