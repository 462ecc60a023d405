"""The commands of a chat: what begins with a slash is for us, not for the model."""

import re
from collections.abc import Sequence
from difflib import get_close_matches

from rich.text import Text

from midfold.cli.chat.slash import edits, folds, model, notes, reports, sessions
from midfold.cli.chat.slash.base import (
    ChatContext,
    CommandForm,
    NextStep,
    SlashCommand,
    Suggestion,
    UsageProblem,
)
from midfold.cli.render.grid import Grid

__all__ = ["COMMANDS", "complete", "is_command", "run_command"]

_KEYS = (
    "Alt-Enter, or a backslash before Enter, starts another line.",
    "@FILE lets the model read a file; !COMMAND runs a command of your own.",
    "Ctrl-C stops a turn; Ctrl-D, or Ctrl-C twice, leaves.",
)
_COMMAND = re.compile(r"/([a-zA-Z?][\w-]*)(?:\s+(.*))?", re.DOTALL)


def show_help(chat: ChatContext, _argument: str) -> None:
    rows = [
        [Text(f"/{command.name} {form.usage}"), Text(_usage_of(command, form), style="dim")]
        for command in COMMANDS
        for form in command.forms
    ]
    chat.say(*Grid(("", ""), rows, words=(0, 1)).lines(chat.console.width)[1:], *(Text(key) for key in _KEYS))


def _usage_of(command: SlashCommand, form: CommandForm) -> str:
    names = ", ".join(f"/{alias}" for alias in command.aliases)
    return f"{form.does} (also {names})" if names else form.does


COMMANDS: tuple[SlashCommand, ...] = (
    *folds.COMMANDS,
    *notes.COMMANDS,
    *edits.COMMANDS,
    *reports.COMMANDS,
    *model.COMMANDS,
    *sessions.COMMANDS,
    SlashCommand("continue", (CommandForm("", "continue an unfinished turn"),), lambda *_: NextStep.GO_ON),
    SlashCommand("help", (CommandForm("", "list the commands"),), show_help, aliases=("?",)),
    SlashCommand("quit", (CommandForm("", "leave the chat"),), lambda *_: NextStep.QUIT, aliases=("exit",)),
)
_BY_NAME = {name: command for command in COMMANDS for name in (command.name, *command.aliases)}


def is_command(line: str) -> bool:
    """Whether a line is for us; a path, which has another slash, is not."""
    return _COMMAND.fullmatch(line.strip()) is not None


def run_command(chat: ChatContext, line: str) -> NextStep:
    """Run a command; raises `UsageProblem` where it is unknown or not given what it needs."""
    found = _COMMAND.fullmatch(line.strip())
    if found is None:
        raise UsageProblem("write a slash and a name; /help lists the commands")
    name, argument = found[1].lower(), (found[2] or "").strip()
    command = _BY_NAME.get(name)
    if command is None:
        near = get_close_matches(name, _BY_NAME, n=1)
        hint = f"did you mean /{near[0]}?" if near else "/help lists the commands"
        raise UsageProblem(f"there is no command /{name}; {hint}")
    return command.run(chat, argument) or NextStep.PROMPT


def complete(chat: ChatContext, line: str) -> Sequence[Suggestion]:
    """Return the completions of a line so far."""
    if not line.startswith("/") or "\n" in line:
        return ()
    name, space, argument = line[1:].partition(" ")
    if not space:
        return [
            Suggestion(f"/{known}", _BY_NAME[known].forms[0].does, len(line))
            for known in _BY_NAME
            if known.startswith(name)
        ]
    command = _BY_NAME.get(name)
    offered = command.choices(chat) if command else ()
    return [
        Suggestion(choice.text, choice.meaning, len(argument))
        for choice in offered
        if choice.text.startswith(argument)
    ]
