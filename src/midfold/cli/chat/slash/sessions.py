"""Commands about sessions: another one, an earlier one, and what was said in all of them."""

from collections.abc import Sequence

import click
from rich.text import Text

from midfold.cli.chat.slash.base import Choice, Command, Desk, Form, UsageProblem
from midfold.cli.chat.view.lines import remark
from midfold.cli.chat.view.status import start_line
from midfold.cli.finding import ID_CHARS, LATEST, find_session
from midfold.cli.overview import list_conversations, show_line
from midfold.cli.session_tables import print_conversations, print_hits
from midfold.errors import SessionNotFound
from midfold.messages import Message
from midfold.store import Session, Store

SOURCE = "chat"
_MOST_LISTED = 15
_MOST_WORDS_CHARS = 160


def find_chat(store: Store, name: str) -> Session:
    """Find a session by its id, the beginning of one, or as `latest`: the newest chat.

    Raises `SessionNotFound`, and `UsageProblem` where several begin so.
    """
    if name == LATEST:
        newest = list_conversations(store, limit=1, source=SOURCE)
        if not newest:
            raise SessionNotFound(name)
        return newest[0].tip
    try:
        return find_session(store, name)
    except click.UsageError as error:
        raise UsageProblem(error.format_message()) from None


def recall(messages: Sequence[Message]) -> list[Text]:
    """Say where a conversation stopped."""
    asked = next((each for each in reversed(messages) if each.role == "user" and each.text), None)
    lines = [remark(f"{len(messages):,} messages")] if messages else []
    if asked:
        lines.append(remark(f"you said: {show_line(asked.text, _MOST_WORDS_CHARS)}"))
    if is_unfinished(messages):
        lines.append(Text("the last turn was not finished; /continue goes on with it", style="yellow"))
    elif messages and messages[-1].text:
        lines.append(remark(f"answered: {show_line(messages[-1].text, _MOST_WORDS_CHARS)}"))
    return lines


def is_unfinished(messages: Sequence[Message]) -> bool:
    """Whether the last word is not the model's."""
    return bool(messages) and (messages[-1].role != "assistant" or any(messages[-1].calls))


def new(desk: Desk, _argument: str) -> None:
    desk.agent.new_session()
    desk.say(start_line(desk.agent.status()))


def resume(desk: Desk, argument: str) -> None:
    if not argument:
        sessions(desk, "")
        desk.say(remark("/resume ID goes on with one of them; /resume latest with the newest"))
        return
    status = desk.agent.resume(find_chat(desk.agent.store, argument).id)
    desk.say(start_line(status), *recall(desk.agent.messages))


def sessions(desk: Desk, _argument: str) -> None:
    found = list_conversations(desk.agent.store, limit=_MOST_LISTED)
    if not found:
        desk.say(remark("no conversations yet"))
        return
    print_conversations(found, desk.console)


def search(desk: Desk, argument: str) -> None:
    if not argument:
        raise UsageProblem("/search needs words to look for, in all that was ever said")
    print_hits(desk.agent.store.search(argument, limit=10), desk.console)


def _list_sessions(desk: Desk) -> list[Choice]:
    found = list_conversations(desk.agent.store, limit=_MOST_LISTED)
    return [Choice(each.tip.id[:ID_CHARS], show_line(each.words, 50)) for each in found]


COMMANDS = (
    Command("new", (Form("", "begin another session"),), new, aliases=("reset",)),
    Command("resume", (Form("[ID]", "go on with an earlier one"),), resume, choices=_list_sessions),
    Command("sessions", (Form("", "list conversations"),), sessions),
    Command("search", (Form("TEXT", "find what was said, folded or not, anywhere"),), search),
)
