"""`midfold keys`: the keys of a gateway that several people use, with what each may do and spend."""

import json
import time
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation

import click
from rich.table import Table

from midfold.cli.options import whole_number
from midfold.cli.render.console import make_console
from midfold.cli.terminal import printable
from midfold.config import find_home
from midfold.keys import AUDIT_FILE, AuditLog, BudgetBook, BudgetPeriod, KeyRing, VirtualKey

_DAY_SECONDS = 86_400.0
_EPILOG = """\b
Examples:
  midfold keys create ci --budget 20 --rate 60
  midfold keys create anna --tenant red --upstream openai-eu --days 90
  midfold keys create ops --admin
  midfold keys list
  midfold keys revoke ci

\b
From the first key on, the gateway serves nobody without one.
Clients send it as x-midfold-key, or in the place of their own key
where the gateway has one for the provider.
"""


def _read_dollars(text: str) -> Decimal:
    try:
        dollars = Decimal(text)
    except InvalidOperation:
        raise click.BadParameter(
            f"{text!r} is no amount; write a number of dollars such as 20 or 0.50"
        ) from None
    if not dollars.is_finite() or not 0 <= dollars <= 1_000_000:
        raise click.BadParameter(f"{text!r} is out of bounds; write from 0 to 1,000,000 dollars")
    return dollars


@click.group(epilog=_EPILOG)
def command() -> None:
    """Create, list and revoke gateway keys.

    A key belongs to a tenant, who sees only its own conversations. It may have a budget, a rate and upstreams
    of its own. midfold shows a key once and stores a keyed hash.
    """


@command.command()
@click.argument("name")
@click.option("--tenant", metavar="NAME", default="", help="Tenant: sees only its own conversations.")
@click.option("--admin", "is_admin", is_flag=True, help="Open the dashboard of the tenant, too.")
@click.option(
    "--upstream",
    "upstreams",
    metavar="NAME",
    multiple=True,
    help="Allowed entry of gateway.upstreams; may be repeated.",
)
@click.option("--budget", metavar="DOLLARS", type=_read_dollars, help="Spending limit for each period.")
@click.option(
    "--period",
    type=click.Choice([each.value for each in BudgetPeriod]),
    default=BudgetPeriod.MONTH.value,
    show_default=True,
    help="Period of the budget.",
)
@click.option("--rate", metavar="N", type=whole_number(1, 1_000_000), help="Limit of requests a minute.")
@click.option(
    "--parallel", metavar="N", type=whole_number(1, 10_000), help="Limit of requests at the same time."
)
@click.option("--days", metavar="N", type=whole_number(1, 36_500), help="Days until it expires.")
def create(
    name: str,
    tenant: str,
    is_admin: bool,
    upstreams: tuple[str, ...],
    budget: Decimal | None,
    period: str,
    rate: int | None,
    parallel: int | None,
    days: int | None,
) -> None:
    """Create a key and print it. It is shown only once."""
    made = _open_ring().create(
        name,
        tenant=tenant,
        is_admin=is_admin,
        upstreams=upstreams,
        budget_dollars=budget,
        period=BudgetPeriod(period),
        per_minute=rate,
        parallel=parallel,
        expires_at=None if days is None else time.time() + days * _DAY_SECONDS,
    )
    AuditLog(find_home() / AUDIT_FILE).write("key-create", key=made.key.name, tenant=tenant)
    click.echo(made.secret.reveal())
    click.echo(f"This is the key {name}; it is not shown again.", err=True)


@command.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON list instead of a table.")
def list_keys(as_json: bool) -> None:
    """List the keys with their limits, revoked ones included."""
    keys = _open_ring().list_all()
    book = BudgetBook(find_home())
    if as_json:
        shown = [{**key.to_json(), "spent_dollars": str(book.spent(key))} for key in keys]
        for each in shown:
            del each["digest"]
        click.echo(json.dumps(shown, indent=2))
        return
    if not keys:
        click.echo("No keys were given out; the gateway on loopback serves everybody on this machine.")
        return
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 3, 0, 0))
    for heading in ("key", "tenant", "may", "spent", "state"):
        table.add_column(heading, justify="right" if heading == "spent" else "left")
    for key in keys:
        table.add_row(printable(key.name), key.tenant or "–", _rights(key), _spent(key, book), _state(key))
    make_console().print(table)


@command.command()
@click.argument("name")
def revoke(name: str) -> None:
    """Revoke the key NAME. Running gateways refuse it at once."""
    key = _open_ring().revoke(name)
    AuditLog(find_home() / AUDIT_FILE).write("key-revoke", key=key.name, tenant=key.tenant)
    click.echo(f"Revoked {key.name}.")


def _open_ring() -> KeyRing:
    return KeyRing(find_home())


def _rights(key: VirtualKey) -> str:
    parts = [
        "dashboard" if key.is_admin else "",
        ", ".join(key.upstreams),
        f"{key.per_minute} a minute" if key.per_minute is not None else "",
        f"{key.parallel} at once" if key.parallel is not None else "",
    ]
    return "; ".join(filter(None, parts)) or "models"


def _spent(key: VirtualKey, book: BudgetBook) -> str:
    if key.budget_dollars is None:
        return "–"
    per = "in all" if key.period is BudgetPeriod.EVER else f"a {key.period.value}"
    return f"${book.spent(key):.2f} of ${key.budget_dollars} {per}"


def _state(key: VirtualKey) -> str:
    if key.revoked_at is not None:
        return f"revoked {_day(key.revoked_at)}"
    if key.expires_at is None:
        return "valid"
    return f"{'valid until' if key.is_valid(time.time()) else 'expired'} {_day(key.expires_at)}"


def _day(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).date().isoformat()
