"""Commands about sessions: another one, an earlier one, and what was said in all of them."""

from collections.abc import Sequence
from pathlib import Path

import click
from rich.text import Text

from midfold.agent import load_saved_model
from midfold.cli.chat.slash.base import ChatContext, CommandForm, SlashCommand, Suggestion, UsageProblem
from midfold.cli.chat.view.lines import remark, start_line
from midfold.cli.conversations import ID_CHARS, LATEST, find_session, list_conversations
from midfold.cli.options import read_moment
from midfold.cli.render.format import count_of, show_line
from midfold.cli.render.sessions import print_conversations, print_hits
from midfold.cli.terminal import printable
from midfold.errors import SessionNotFound
from midfold.messages import Message
from midfold.store import Session, Store
from midfold.store.transfer import ExportFormat, export_session, write_export

SOURCE = "chat"
_MOST_LISTED = 15
_MOST_HITS = 6
"""With three lines each, the best one is still in sight on a terminal of 24 rows."""
_MOST_COMPARED = 50
_MOST_WORDS_CHARS = 160


def find_chat(store: Store, name: str) -> Session:
    """Find a session by its id, the beginning of one, or as `latest`: the chat that somebody used last.

    Raises `SessionNotFound`, and `UsageProblem` where several begin so.
    """
    if name == LATEST:
        return _find_last_used(store)
    try:
        return find_session(store, name)
    except click.UsageError as error:
        raise UsageProblem(error.format_message()) from None


def _find_last_used(store: Store) -> Session:
    """Find the chat with the newest message, among the conversations that began last."""
    tips = store.conversations(limit=_MOST_COMPARED)
    chats = [tip for tip in tips if tip.source == SOURCE or load_saved_model(store, tip.id)]
    chats = chats or store.conversations(source=SOURCE, limit=1)
    if not chats:
        raise SessionNotFound(LATEST)
    return max(chats, key=lambda tip: _last_said_at(store, tip))


def _last_said_at(store: Store, tip: Session) -> float:
    count = store.count_history(tip.id)
    newest = store.history(tip.id, count - 1) if count else []
    return max([tip.started_at, *(record.created_at for record in newest)])


def recall(messages: Sequence[Message]) -> list[Text]:
    """Say where a conversation stopped."""
    asked = next((each for each in reversed(messages) if each.role == "user" and each.text), None)
    lines = [remark(f"{len(messages):,} messages")] if messages else []
    if asked:
        lines.append(remark(f"you said: {show_line(asked.text, _MOST_WORDS_CHARS)}"))
    if is_unfinished(messages):
        lines.append(Text("the last turn is unfinished; /continue finishes it", style="yellow"))
    elif messages and messages[-1].text:
        lines.append(remark(f"answered: {show_line(messages[-1].text, _MOST_WORDS_CHARS)}"))
    return lines


def is_unfinished(messages: Sequence[Message]) -> bool:
    """Whether the last word is not the model's."""
    return bool(messages) and (messages[-1].role != "assistant" or any(messages[-1].calls))


def new(chat: ChatContext, _argument: str) -> None:
    chat.agent.new_session()
    chat.say(start_line(chat.agent.status()))


def clear(chat: ChatContext, argument: str) -> None:
    chat.console.clear()
    new(chat, argument)


def export(chat: ChatContext, argument: str) -> None:
    """Write the conversation to a file, which must not be there yet."""
    session = chat.agent.session_id
    if not chat.agent.messages:
        raise UsageProblem("there are no messages yet")
    path = Path(argument).expanduser() if argument else Path(f"midfold-{session[:ID_CHARS]}.json")
    path = chat.agent.status().workspace / path
    if path.exists():
        raise UsageProblem(f"{printable(str(path))} is there already; name another file")
    form = ExportFormat.JSONL if path.suffix == ".jsonl" else ExportFormat.JSON
    exported = export_session(chat.agent.store, session, form=form)
    write_export(path, exported.text)
    chat.say(Text(f"{count_of(exported.messages, 'message')} to {printable(str(path), _MOST_WORDS_CHARS)}"))


def resume(chat: ChatContext, argument: str) -> None:
    if not argument:
        sessions(chat, "")
        chat.say(remark("/resume ID continues one of them; /resume latest continues the last one used"))
        return
    status = chat.agent.resume(find_chat(chat.agent.store, argument).id)
    chat.say(start_line(status), *recall(chat.agent.messages))


def sessions(chat: ChatContext, _argument: str) -> None:
    found = list_conversations(chat.agent.store, limit=_MOST_LISTED)
    if not found:
        chat.say(remark("no conversations yet"))
        return
    print_conversations(found, chat.console)


def search(chat: ChatContext, argument: str) -> None:
    words, option, when = argument.partition("--since")
    since, _, more = when.strip().partition(" ")
    try:
        after = read_moment(since) if option else None
    except click.BadParameter as error:
        raise UsageProblem(f"/search --since: {error.message}") from None
    query = f"{words} {more}".strip()
    if not query:
        raise UsageProblem(
            "/search needs words to look for, such as /search connection reset --since yesterday"
        )
    print_hits(chat.agent.store.search(query, since=after, limit=_MOST_HITS), chat.console)


def _list_sessions(chat: ChatContext) -> list[Suggestion]:
    found = list_conversations(chat.agent.store, limit=_MOST_LISTED)
    return [Suggestion(each.tip.id[:ID_CHARS], show_line(each.words, 50)) for each in found]


COMMANDS = (
    SlashCommand("new", (CommandForm("", "start a new session"),), new, aliases=("reset",)),
    SlashCommand("clear", (CommandForm("", "start a new session on an empty screen"),), clear),
    SlashCommand(
        "resume", (CommandForm("[ID]", "continue an earlier session"),), resume, choices=_list_sessions
    ),
    SlashCommand("sessions", (CommandForm("", "list conversations"),), sessions),
    SlashCommand(
        "export", (CommandForm("[FILE]", "write the conversation to a .json or .jsonl file"),), export
    ),
    SlashCommand("search", (CommandForm("TEXT [--since WHEN]", "search all conversations"),), search),
)
