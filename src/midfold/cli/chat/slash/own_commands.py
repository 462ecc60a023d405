"""A line that begins with an exclamation mark: a command that the person runs, and the model reads about."""

from rich.text import Text

from midfold.cli.chat.slash.base import ChatContext, NextStep
from midfold.cli.chat.turns import stoppable
from midfold.cli.chat.view.lines import remark
from midfold.cli.terminal import printable

_MOST_LINES = 200
_MOST_LINE_CHARS = 2_000


def run_own_command(chat: ChatContext, command: str) -> NextStep:
    """Run it and show its output; raises `ToolFailed` where there is no terminal."""
    output = ""
    with chat.view.working(f"running {printable(command)}"), stoppable(chat.agent, chat.view):
        output = chat.agent.run_command(command)
    lines = output.rstrip("\n").split("\n")
    chat.say(*(Text(printable(line, _MOST_LINE_CHARS)) for line in lines[:_MOST_LINES]))
    if len(lines) > _MOST_LINES:
        chat.say(remark(f"{len(lines) - _MOST_LINES:,} more lines are left out"))
    chat.say(remark("the model reads this with your next prompt"))
    return NextStep.PROMPT
