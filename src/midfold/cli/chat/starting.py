"""From options to an agent, and from there to a chat on a terminal, over pipes, or of one turn."""

import sys
from contextlib import nullcontext

import click

from midfold.agent import Agent, Options
from midfold.cli.chat.approvals import DANGER, Approvals
from midfold.cli.chat.command import Given
from midfold.cli.chat.editor import open_editor
from midfold.cli.chat.keys import kept_keys
from midfold.cli.chat.once import run_json, run_plain
from midfold.cli.chat.session import Chat
from midfold.cli.chat.slash import complete
from midfold.cli.chat.slash.base import Desk, UsageProblem
from midfold.cli.chat.slash.sessions import SOURCE, find_chat, recall
from midfold.cli.chat.view.base import View
from midfold.cli.chat.view.lines import warning
from midfold.cli.chat.view.live import LiveView
from midfold.cli.chat.view.plain import PlainView
from midfold.cli.chat.view.status import start_line
from midfold.cli.console import make_console
from midfold.cli.finding import warn_of
from midfold.config import Settings, find_home

_HISTORY_FILE = "chat_history"
_FROM_INPUT = "-"


def start(
    settings: Settings,
    given: Given,
    *,
    prompt: str | None,
    as_json: bool,
    session: str | None,
    everything: bool,
) -> int:
    """Hold a chat, or take the one turn that is asked for; return the exit status."""
    with Agent.from_settings(settings, **_options(given)) as agent:
        if session is not None:
            _resume(agent, session)
        if prompt is None:
            return _talk(agent, settings, is_resumed=session is not None, everything=everything)
        warn_of(agent.store)
        text = sys.stdin.read() if prompt == _FROM_INPUT else prompt
        if not text.strip():
            raise click.UsageError("the prompt is empty")
        return (run_json if as_json else run_plain)(agent, text, everything=everything)


def _options(given: Given) -> Options:
    options = Options(
        source=SOURCE,
        allow=given["allow"],
        built_in_tools=not given["no_tools"],
        shown_variables=given["env"],
    )
    if given["workspace"]:
        options["workspace"] = given["workspace"]
    if given["base_url"]:
        options["base_url"] = given["base_url"]
    if given["api"]:
        options["api"] = given["api"]
    if given["context_length"]:
        options["context_length"] = given["context_length"]
    return options


def _resume(agent: Agent, name: str) -> None:
    try:
        agent.resume(find_chat(agent.store, name).id)
    except UsageProblem as problem:
        raise click.UsageError(str(problem)) from None


def _talk(agent: Agent, settings: Settings, *, is_resumed: bool, everything: bool) -> int:
    """Hold a conversation, on a terminal or over pipes."""
    console = make_console()
    is_terminal = sys.stdin.isatty() and console.is_terminal
    view: View = LiveView(console) if is_terminal else PlainView(sys.stdout, make_console(stderr=True))
    desk = Desk(agent, console, view, settings)
    editor = open_editor(find_home() / _HISTORY_FILE, lambda line: complete(desk, line))
    view.say(start_line(agent.status()))
    if agent.store.status.warning:
        view.say(warning(f"{agent.store.status.warning}; see midfold doctor"))
    if everything:
        view.say(warning(DANGER))
    if is_resumed:
        view.say(*recall(agent.messages))
    with kept_keys() if editor.can_ask else nullcontext():
        return Chat(desk, editor, Approvals(view, editor, everything=everything)).hold()
