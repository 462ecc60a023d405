"""`midfold usage`: what a session used, and what it cost."""

import click
from rich.console import Console
from rich.text import Text

from midfold.cli.console import make_console
from midfold.cli.finding import ID_CHARS, LATEST, find_session, own_store
from midfold.cli.overview import show_line
from midfold.cli.session_json import print_json
from midfold.cli.usage_tables import bucket_grid, group_grid, print_grid, print_totals, tool_grid
from midfold.cli.when import tell_time
from midfold.errors import SessionNotFound
from midfold.usage import Group, SessionUsage, read_session_usage, session_usage_as_dict

_NOTHING_YET = (
    "no session is stored yet; chat, the gateway and programs that use the store record their calls"
)
_EPILOG = """\b
Examples:
  midfold usage
  midfold usage latest --chain
  midfold usage 3f2a91c0 --json
"""


@click.command(epilog=_EPILOG)
@click.argument("session", default=LATEST)
@click.option("--chain", is_flag=True, help="Add up all sessions of the conversation, folded or not.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of tables.")
def command(session: str, chain: bool, as_json: bool) -> int:
    """Show what a session used: tokens, cost, cache, folds and tools.

    SESSION is an id, the beginning of one, or latest.
    """
    with own_store() as store:
        try:
            found = find_session(store, session)
        except SessionNotFound:
            if session != LATEST:
                raise
            click.echo("null" if as_json else _NOTHING_YET)
            return 0
        report = read_session_usage(store, found.id, whole_chain=chain)
    if as_json:
        print_json(session_usage_as_dict(report))
    else:
        print_session_usage(report, make_console())
    return 0


def print_session_usage(report: SessionUsage, console: Console) -> None:
    """Print what a session used."""
    console.print(_headline(report), soft_wrap=True)
    if not report.totals.calls:
        console.print(_without_calls(report), soft_wrap=True)
    else:
        print_totals(report.totals, console)
        print_grid(bucket_grid(report.totals.usage), console)
        for heading, groups in (("model", report.models), ("purpose", report.purposes)):
            if len(groups) > 1:
                print_grid(group_grid(heading, groups, console.width), console)
        if len(report.sessions) > 1:
            shown = [Group(group.name[:ID_CHARS], group.totals) for group in report.sessions]
            print_grid(group_grid("session", shown, console.width), console)
    if report.tools:
        print_grid(tool_grid(report.tools), console)
    if report.cache_busts:
        causes = ", ".join(f"{show_line(cause)} {count}" for cause, count in report.cache_busts.items())
        console.print(Text(f"\nthe cache went cold: {causes}", style="dim"), soft_wrap=True)


def _headline(report: SessionUsage) -> Text:
    session = report.session
    facts = [f"session {session.id[:ID_CHARS]}"]
    if report.is_whole_chain:
        count = len(report.chain)
        facts = ["1 session" if count == 1 else f"{count} sessions", f"up to {session.id[:ID_CHARS]}"]
    facts += [show_line(word) for word in (session.source, session.model) if word]
    facts.append(f"started {tell_time(report.chain[0].started_at)}")
    title = show_line(session.title or "(untitled)")
    return Text.assemble((title, "bold"), "  ", (" · ".join(facts), "dim"))


def _without_calls(report: SessionUsage) -> str:
    if not report.is_whole_chain and len(report.chain) > 1:
        return "no call is recorded for this session; --chain adds up all sessions of the conversation"
    return "no call is recorded for it"
