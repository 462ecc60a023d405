"""`midfold sessions delete` and `prune`: rows, index and spilled output go together."""

import sys
import time

import click

from midfold.cli.finding import ID_CHARS, every_session, find_session, own_store
from midfold.cli.overview import count_of, describe, find_branches
from midfold.cli.plain import printable
from midfold.cli.session_json import print_json
from midfold.cli.when import read_moment, read_size
from midfold.config import delete_session, load_settings, oldest_to_keep, open_own_outputs, prune_sessions
from midfold.store import Deleted, Session, Store

_MOST_NAMED = 8


@click.command()
@click.argument("name", metavar="ID")
@click.option("--branches", is_flag=True, help="Delete what branched from it, too.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--json", "as_json", is_flag=True, help="Report as one JSON object.")
def delete(name: str, branches: bool, yes: bool, as_json: bool) -> int:
    """Delete a conversation for good: all its sessions, their sub-agents, and output they put aside."""
    with own_store() as store:
        session = find_session(store, name)
        children = find_branches(every_session(store), session.conversation_id)
        if children and not branches:
            raise click.UsageError(f"{_name(children)} branched from it; --branches deletes them, too.")
        if not yes and not _confirm(_question(store, session, children)):
            click.echo("nothing was deleted", err=True)
            return 1
        deleted = delete_session(store, open_own_outputs(store), session.id, branches=branches)
    _report("deleted", deleted, as_json)
    return 0


@click.command()
@click.option(
    "--older-than",
    type=read_moment,
    metavar="WHEN",
    help="Untouched since: an age such as 30d, or an ISO date.",
)
@click.option(
    "--keep-bytes", type=read_size, metavar="SIZE", help="The oldest go until no more is left than, say, 1GB."
)
@click.option("--dry-run", is_flag=True, help="Say what would go; delete nothing.")
@click.option("--json", "as_json", is_flag=True, help="Report as one JSON object.")
def prune(older_than: float | None, keep_bytes: int | None, dry_run: bool, as_json: bool) -> None:
    """Delete conversations that nobody touched for long, or the oldest of too many.

    Without options the setting store.keep_days says how long. A conversation goes with its branches or not at
    all.
    """
    is_by_setting = older_than is None and keep_bytes is None
    if is_by_setting:
        older_than = oldest_to_keep(load_settings(), time.time())
        if older_than is None:
            raise click.UsageError("say --older-than or --keep-bytes, or set store.keep_days.")
    with own_store() as store:
        if is_by_setting and not dry_run:
            _check_clock(store, older_than)
        deleted = prune_sessions(
            store, open_own_outputs(store), older_than=older_than, keep_bytes=keep_bytes, dry_run=dry_run
        )
    _report("would delete" if dry_run else "deleted", deleted, as_json)


def _check_clock(store: Store, older_than: float | None) -> None:
    """Keep a clock that was set far ahead from emptying the store in the name of a setting."""
    would_go = store.prune(older_than=older_than, dry_run=True).session_ids
    if would_go and len(would_go) == len(store.sessions(limit=len(would_go) + 1)):
        raise click.UsageError(
            f"store.keep_days lets all {count_of(len(would_go), 'session')} go; "
            "if the clock is right, say --older-than."
        )


def _confirm(question: str) -> bool:
    try:
        return click.confirm(question, err=True)
    except click.Abort:
        if sys.stdin is not None and sys.stdin.isatty():
            raise
        raise click.UsageError("there is nobody to ask; --yes deletes without asking.") from None


def _question(store: Store, session: Session, children: list[Session]) -> str:
    chain = store.chain(session.id)
    messages = store.count_history(session.id)
    words = printable(describe(store, chain[-1]), 60) or session.id[:ID_CHARS]
    extra = f" and {_name(children)}" if children else ""
    return f"Delete {words!r}, {count_of(messages, 'message')} in {count_of(len(chain), 'session')}{extra}?"


def _name(children: list[Session]) -> str:
    names = ", ".join(child.id[:ID_CHARS] for child in children[:_MOST_NAMED])
    more = f" and {len(children) - _MOST_NAMED} more" if len(children) > _MOST_NAMED else ""
    return f"{count_of(len(children), 'conversation')} ({names}{more})"


def _report(verb: str, deleted: Deleted, as_json: bool) -> None:
    if as_json:
        told = {"sessions": list(deleted.session_ids), "messages": deleted.messages}
        print_json(told)
    else:
        sessions = count_of(len(deleted.session_ids), "session")
        click.echo(f"{verb} {sessions} with {count_of(deleted.messages, 'message')}")
