"""Commands about files that the agent changed: what changed, and back."""

from rich.text import Text

from midfold.agent import FileChangedSince, ToolFailed
from midfold.cli.chat.slash.base import ChatContext, CommandForm, SlashCommand, Suggestion, UsageProblem
from midfold.cli.chat.view.diffs import diff_rows
from midfold.cli.chat.view.lines import remark
from midfold.cli.terminal import printable

_FORCE = "--force"
_MOST_ROWS = 400
_MOST_NAME_CHARS = 200


def undo_edit(chat: ChatContext, argument: str) -> None:
    words = argument.split()
    force = _FORCE in words
    path = argument.replace(_FORCE, "").strip() or None
    try:
        name = chat.agent.undo_edit(path, force=force)
    except FileChangedSince as error:
        raise UsageProblem(f"{error}; /undo-edit {path or ''} --force does it".replace("  ", " ")) from None
    except ToolFailed as error:
        raise UsageProblem(str(error)) from None
    chat.say(Text(f"taken back: {printable(name, _MOST_NAME_CHARS)} is as it was before the newest edit"))


def diff(chat: ChatContext, _argument: str) -> None:
    changes = chat.agent.file_changes()
    if not changes:
        chat.say(remark("this conversation changed no files"))
    rows = [row for change in changes for row in diff_rows(change)]
    chat.say(*rows[:_MOST_ROWS])
    if len(rows) > _MOST_ROWS:
        chat.say(remark(f"{len(rows) - _MOST_ROWS:,} more lines are left out"))


COMMANDS = (
    SlashCommand("diff", (CommandForm("", "show the changes to files"),), diff),
    SlashCommand(
        "undo-edit",
        (CommandForm("[FILE] [--force]", "undo the newest edit"),),
        undo_edit,
        choices=lambda _chat: (Suggestion(_FORCE, "also where the file changed since"),),
    ),
)
