"""`midfold sessions`: lists, searches, shows and moves stored conversations."""

from dataclasses import asdict
from difflib import get_close_matches
from typing import TypedDict, Unpack

import click

from midfold.cli.commands.session_notes import notes_command
from midfold.cli.commands.session_removal import delete_command, prune_command
from midfold.cli.commands.session_transfer import export_command, import_command
from midfold.cli.conversations import (
    ID_CHARS,
    ExcerptRange,
    describe,
    excerpt_json,
    find_session,
    list_conversations,
    own_store,
    print_json,
    read_text,
    take_excerpt,
)
from midfold.cli.options import complete_session, read_moment, whole_number
from midfold.cli.render.console import make_console
from midfold.cli.render.format import show_line
from midfold.cli.render.sessions import print_chain, print_conversations, print_excerpt, print_hits
from midfold.store import Order, SearchResults

_EPILOG = """\b
Examples:
  midfold sessions import ~/.claude/projects/app/*.jsonl
  midfold sessions search "connection reset" --since yesterday
  midfold sessions show latest --last 5
  midfold sessions export 3f2a90c1 -o conversation.json
"""


@click.group(epilog=_EPILOG)
def command() -> None:
    """List, search, show, export and import conversations.

    A session is named by its id, by the beginning of its id, or as `latest`. A fold ends a session and opens
    another; all of them together are one conversation.
    """


json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")


@command.command("list")
@click.option(
    "--limit", type=whole_number(1), metavar="N", default=20, help="Number of conversations; default: 20."
)
@click.option(
    "--source",
    type=read_text,
    metavar="NAME",
    help="Only conversations from this source, such as chat, import or claude_code.",
)
@json_option
def list_command(limit: int, source: str | None, as_json: bool) -> None:
    """List conversations, the newest first."""
    with own_store() as store:
        found = list_conversations(store, limit=limit + 1, source=source)
    shown = found[:limit]
    if as_json:
        print_json([asdict(each) for each in shown])
    elif not shown:
        click.echo("no conversations; midfold sessions import FILE imports one")
    else:
        console = make_console()
        print_conversations(shown, console)
        if len(found) > limit:
            console.print(f"\nthere are more; --limit {limit * 5} shows them", style="dim")


@command.command()
@click.argument("name", metavar="ID", shell_complete=complete_session)
@click.option("--last", type=whole_number(1), metavar="N", help="Show the newest N messages; default: 20.")
@click.option("--all", "everything", is_flag=True, help="Show all messages.")
@click.option(
    "--around",
    type=whole_number(0),
    metavar="N",
    help="Show the messages around #N of a search.",
)
@click.option("--history", is_flag=True, help="Show the whole conversation, folded messages included.")
@click.option("--full", is_flag=True, help="Show long messages in full.")
@json_option
def show(name: str, full: bool, as_json: bool, **wanted: Unpack[ExcerptRange]) -> None:
    """Show the messages of a session and its facts."""
    with own_store() as store:
        view = take_excerpt(store, find_session(store, name), wanted)
    if as_json:
        print_json(excerpt_json(view))
    else:
        print_excerpt(view, make_console(), full=full)


_ROLES = ("user", "assistant", "tool", "system", "developer")


def _read_role(text: str) -> str:
    """Read a speaker; an option's type."""
    role = read_text(text).lower()
    if role not in _ROLES:
        near = get_close_matches(role, _ROLES, n=1)
        advice = f"did you mean {near[0]}?" if near else f"there are {', '.join(_ROLES)}"
        raise click.BadParameter(f"{text!r} is no speaker; {advice}")
    return role


class SearchOptions(TypedDict):
    """The filters of a search."""

    role: str | None
    tool: str | None
    since: float | None
    until: float | None
    limit: int


@command.command()
@click.argument("words", metavar="QUERY...", type=read_text, nargs=-1, required=True)
@click.option(
    "--session",
    "name",
    metavar="ID",
    shell_complete=complete_session,
    help="Search only the conversation of this session.",
)
@click.option(
    "--role",
    type=_read_role,
    metavar="ROLE",
    help="Only messages of user, assistant, tool or system.",
)
@click.option("--tool", type=read_text, metavar="NAME", help="Only calls and results of this tool.")
@click.option(
    "--since",
    type=read_moment,
    metavar="WHEN",
    help="Only since then: yesterday, 7d, 2h, or an ISO date.",
)
@click.option("--until", type=read_moment, metavar="WHEN", help="Only before then.")
@click.option(
    "--order",
    type=click.Choice([order.value for order in Order]),
    metavar="ORDER",
    default=Order.RELEVANCE.value,
    help="relevance (default) or newest.",
)
@click.option(
    "--limit", type=whole_number(1, 1_000), metavar="N", default=20, help="Number of messages; default: 20."
)
@click.option("--letters", is_flag=True, help="Find the exact text; needs --session.")
@json_option
def search(
    words: tuple[str, ...],
    name: str | None,
    order: str,
    letters: bool,
    as_json: bool,
    **filters: Unpack[SearchOptions],
) -> None:
    """Search messages, folded or not. The best answer comes first.

    \b
    why did login fail     a question, or any of some words
    "connection reset"     as it is (in a shell: '"connection reset"')
    login AND error        both words
    compress*              words that begin so
    fold OR prune          either; error NOT timeout: the one without the other

    With --order newest, a message must have every word.
    """
    query = " ".join(words)
    if not query.strip():
        raise click.UsageError("QUERY is empty; write some words to search for")
    if letters and name is None:
        raise click.UsageError("--letters needs a --session to look through")
    with own_store() as store:
        session = find_session(store, name).id if name else None
        if letters and session:
            found = store.find_substring(session, query, filters["limit"])
        else:
            found = store.search(query, session_id=session, order=Order(order), **filters)
    if as_json:
        print_json(_found_json(found))
    else:
        print_hits(found, make_console())


@command.command()
@click.argument("name", metavar="ID", shell_complete=complete_session)
def tip(name: str) -> None:
    """Print the id of the newest session of a conversation."""
    with own_store() as store:
        click.echo(store.get_compression_tip(find_session(store, name).id))


@command.command()
@click.argument("name", metavar="ID", shell_complete=complete_session)
@json_option
def chain(name: str, as_json: bool) -> None:
    """List the sessions of a conversation, and why it was folded."""
    with own_store() as store:
        session = find_session(store, name).id
        sessions, folds = store.chain(session), store.folds(session)
    if as_json:
        opened = {fold.child_id: dict(fold.facts) for fold in folds}
        print_json([{**asdict(each), "fold": opened.get(each.id)} for each in sessions])
    else:
        print_chain(sessions, folds, make_console())


@command.command()
@click.argument("name", metavar="ID", shell_complete=complete_session)
@click.argument("words", metavar="TITLE...", type=read_text, nargs=-1, required=True)
def title(name: str, words: tuple[str, ...]) -> None:
    """Give a conversation a title."""
    with own_store() as store:
        session = store.get_compression_tip(find_session(store, name).id)
        store.set_title(session, " ".join(words))
        click.echo(f"{session[:ID_CHARS]}  {describe(store, store.session(session))}")


@command.command()
@click.argument("name", metavar="ID", shell_complete=complete_session)
def undo(name: str) -> None:
    """Undo the newest fold of a conversation.

    The folded messages come back, and newer messages stay. Prints the id of the session to continue.
    """
    with own_store() as store:
        click.echo(store.undo_continuation(find_session(store, name).id))


def _found_json(found: SearchResults) -> dict[str, object]:
    hits = [{**asdict(hit), "title": show_line(hit.title) if hit.title else None} for hit in found.hits]
    return {"hits": hits, "is_incomplete": found.is_incomplete}


for subcommand in (notes_command, export_command, import_command, delete_command, prune_command):
    command.add_command(subcommand)
