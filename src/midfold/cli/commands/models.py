"""`midfold models`: context windows learnt from providers."""

import json
from dataclasses import asdict
from datetime import UTC, datetime

import click
from rich.table import Table

from midfold.cli.render.console import make_console
from midfold.cli.terminal import printable
from midfold.config import find_home
from midfold.tokens import LIMITS_FILE, LearnedLimits


@click.group(invoke_without_command=True)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON list instead of a table.")
@click.pass_context
def command(context: click.Context, as_json: bool) -> None:
    """List the context windows learnt from provider errors.

    A learnt window is used in place of a larger known one. It gives way after a month, to
    `model.context_length` when that is set anew, and to a larger prompt that succeeds.
    """
    if context.invoked_subcommand is not None:
        return
    limits = _open_limits().list_all()
    if as_json:
        click.echo(json.dumps([asdict(limit) for limit in limits], indent=2))
        return
    if not limits:
        click.echo("No windows were learnt.")
        return
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 3, 0, 0))
    table.add_column("model")
    table.add_column("window", justify="right")
    table.add_column("since")
    table.add_column("at")
    for limit in limits:
        since = datetime.fromtimestamp(limit.at_seconds, UTC).date().isoformat()
        table.add_row(
            printable(limit.model), f"{limit.limit_tokens:,}", since, printable(limit.endpoint, 100)
        )
    make_console().print(table)


@command.command()
@click.argument("model", required=False)
def forget(model: str | None) -> int:
    """Forget the learnt window of MODEL, or all of them."""
    gone = _open_limits().forget(model)
    for limit in gone:
        click.echo(f"Forgot the window of {printable(limit.model)}: {limit.limit_tokens:,} tokens.")
    if model and not gone:
        click.echo(f"midfold: no window of {printable(model)} was learnt; see midfold models", err=True)
        return 2
    if not gone:
        click.echo("No windows were learnt.")
    return 0


def _open_limits() -> LearnedLimits:
    return LearnedLimits(find_home() / LIMITS_FILE)
