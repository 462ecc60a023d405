"""`midfold usage`: what a session used, and what it cost."""

import click

from midfold.cli.conversations import LATEST, find_session, own_store, print_json
from midfold.cli.options import complete_session
from midfold.cli.render.console import make_console
from midfold.cli.render.usage import print_session_usage
from midfold.errors import SessionNotFound
from midfold.usage import read_session_usage, session_usage_as_dict

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
@click.argument("session", default=LATEST, shell_complete=complete_session)
@click.option("--chain", is_flag=True, help="Add up all sessions of the conversation.")
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
