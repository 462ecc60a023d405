"""`midfold sessions delete` and `prune`: deletes conversations for good, after asking."""

import sys
import time

import click

from midfold.cli.conversations import (
    ID_CHARS,
    describe,
    every_session,
    find_branches,
    find_session,
    own_store,
    print_json,
)
from midfold.cli.options import complete_session, read_moment, read_size
from midfold.cli.render.format import count_of, format_time
from midfold.cli.terminal import printable
from midfold.config import delete_session, load_settings, oldest_to_keep, open_own_outputs, prune_sessions
from midfold.store import Deleted, Session, Store

_MOST_NAMED = 8
_MOST_CELLS = 60


@click.command("delete")
@click.argument("name", metavar="ID", shell_complete=complete_session)
@click.option("--branches", is_flag=True, help="Also delete its branches.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--json", "as_json", is_flag=True, help="Report as one JSON object.")
def delete_command(name: str, branches: bool, yes: bool, as_json: bool) -> int:
    """Delete a conversation for good.

    This deletes all its sessions, sub-agents and offloaded output.
    """
    with own_store() as store:
        session = find_session(store, name)
        children = find_branches(every_session(store), session.conversation_id)
        if children and not branches:
            raise click.UsageError(
                f"{_name_branches(children)} branched from it; --branches deletes them, too."
            )
        if not yes and not _confirm(_deletion_question(store, session, children)):
            click.echo("nothing was deleted", err=True)
            return 1
        deleted = delete_session(store, open_own_outputs(store), session.id, branches=branches)
    _report_deleted("deleted", deleted, as_json)
    return 0


@click.command("prune")
@click.option(
    "--older-than",
    type=read_moment,
    metavar="WHEN",
    help="Untouched since: an age such as 30d, or an ISO date.",
)
@click.option(
    "--keep-bytes", type=read_size, metavar="SIZE", help="Delete the oldest until the rest fits, such as 1GB."
)
@click.option("--dry-run", is_flag=True, help="List what would be deleted; delete nothing.")
@click.option("--all", "everything", is_flag=True, help="Allow deleting everything.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--json", "as_json", is_flag=True, help="Report as one JSON object.")
def prune_command(
    older_than: float | None,
    keep_bytes: int | None,
    dry_run: bool,
    everything: bool,
    yes: bool,
    as_json: bool,
) -> int:
    """Delete old conversations. It lists them and asks first.

    Without options the setting store.keep_days says how long. A conversation goes with its branches or not at
    all. To import one counts as a touch.
    """
    if older_than is None and keep_bytes is None:
        older_than = oldest_to_keep(load_settings(), time.time())
        if older_than is None:
            raise click.UsageError("give --older-than or --keep-bytes, or set store.keep_days.")
    with own_store() as store:
        doomed = store.prune(older_than=older_than, keep_bytes=keep_bytes, dry_run=True)
        if doomed.session_ids and not as_json:
            _list_doomed(store, doomed)
        if dry_run or not doomed.session_ids:
            _report_deleted("would delete" if dry_run else "deleted", doomed, as_json)
            return 0
        if not everything:
            _refuse_everything(store, doomed)
        if not yes and not _confirm(f"Delete {_size_of(doomed)}?"):
            click.echo("nothing was deleted", err=True)
            return 1
        outputs = open_own_outputs(store)
        deleted = prune_sessions(store, outputs, older_than=older_than, keep_bytes=keep_bytes)
    _report_deleted("deleted", deleted, as_json)
    return 0


def _refuse_everything(store: Store, doomed: Deleted) -> None:
    """Keep a number that was mistyped, or a clock that was set far ahead, from emptying the store."""
    if len(doomed.session_ids) == len(store.sessions(limit=len(doomed.session_ids) + 1)):
        raise click.UsageError(
            f"this would delete all {count_of(len(doomed.session_ids), 'session')} and leave nothing; "
            "--all does so."
        )


def _list_doomed(store: Store, doomed: Deleted) -> None:
    """Name the conversations that would go, the oldest first."""
    tips = {session.conversation_id: session for session in map(store.session, doomed.session_ids)}
    for tip in list(tips.values())[:_MOST_NAMED]:
        words = printable(describe(store, tip), _MOST_CELLS)
        click.echo(f"  {tip.id[:ID_CHARS]}  {format_time(tip.started_at)}  {words}", err=True)
    if len(tips) > _MOST_NAMED:
        click.echo(f"  and {count_of(len(tips) - _MOST_NAMED, 'conversation')} more", err=True)


def _confirm(question: str) -> bool:
    try:
        return click.confirm(question, err=True)
    except click.Abort:
        if sys.stdin is not None and sys.stdin.isatty():
            raise
        raise click.UsageError("there is nobody to ask; --yes deletes without asking.") from None


def _deletion_question(store: Store, session: Session, children: list[Session]) -> str:
    chain = store.chain(session.id)
    messages = store.count_history(session.id)
    words = printable(describe(store, chain[-1]), _MOST_CELLS) or session.id[:ID_CHARS]
    extra = f" and {_name_branches(children)}" if children else ""
    return f"Delete {words!r}, {count_of(messages, 'message')} in {count_of(len(chain), 'session')}{extra}?"


def _name_branches(children: list[Session]) -> str:
    names = ", ".join(child.id[:ID_CHARS] for child in children[:_MOST_NAMED])
    more = f" and {len(children) - _MOST_NAMED} more" if len(children) > _MOST_NAMED else ""
    return f"{count_of(len(children), 'conversation')} ({names}{more})"


def _report_deleted(verb: str, deleted: Deleted, as_json: bool) -> None:
    if as_json:
        print_json({"sessions": list(deleted.session_ids), "messages": deleted.messages})
    else:
        click.echo(f"{verb} {_size_of(deleted)}")


def _size_of(deleted: Deleted) -> str:
    return f"{count_of(len(deleted.session_ids), 'session')} with {count_of(deleted.messages, 'message')}"
