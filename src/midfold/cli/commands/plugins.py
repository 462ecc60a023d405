"""`midfold plugins`: what can be plugged in, and where it comes from."""

import json
from dataclasses import asdict

import click
from rich.table import Table

from midfold.cli.render.console import make_console
from midfold.cli.terminal import printable
from midfold.config import find_home
from midfold.engines import GROUP, PLUGIN_FOLDER, list_engines


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON list instead of a table.")
def command(as_json: bool) -> None:
    """List the context engines that `context.engine` can name.

    Engines are built in, offered by installed packages through an entry point, or put into a folder under
    midfold's home. Nothing is loaded to list them.
    """
    offers = list_engines(find_home())
    if as_json:
        click.echo(json.dumps([asdict(offer) for offer in offers], indent=2))
        return
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 3, 0, 0))
    table.add_column("engine")
    table.add_column("from")
    for offer in offers:
        table.add_row(printable(offer.name), printable(offer.source, 100))
    console = make_console()
    console.print(table)
    folder = find_home() / PLUGIN_FOLDER
    console.print(
        f"\nMore come from the entry point group {GROUP} and from {folder}", style="dim", soft_wrap=True
    )
