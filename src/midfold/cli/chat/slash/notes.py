"""`/notes`: what the model was left with after a fold, to read and to correct."""

from rich.text import Text

from midfold.cli.chat.slash.base import ChatContext, CommandForm, SlashCommand, Suggestion, UsageProblem
from midfold.cli.chat.view.lines import remark
from midfold.cli.note_changes import describe_change, read_change
from midfold.cli.render.notes import NO_NOTES, print_note, print_notes
from midfold.summaries import find_note

_USAGE = "/notes, /notes N, /notes strike N, /notes edit N TEXT, /notes add TEXT"


def notes(chat: ChatContext, argument: str) -> None:
    agent = chat.agent
    found = agent.notes()
    if not found:
        chat.say(remark(f"{NO_NOTES}; /compress folds now"))
        return
    if argument and not argument.isdecimal():
        _correct(chat, argument)
        return
    history = agent.store.history(agent.session_id)
    dialect = agent.store.session(agent.session_id).dialect
    if argument:
        print_note(find_note(found, int(argument)), history, dialect, chat.console)
        return
    print_notes(found, history, dialect, chat.console)
    chat.say(remark("/notes N opens one; /notes strike N, edit N TEXT and add TEXT correct them"))


def _correct(chat: ChatContext, argument: str) -> None:
    try:
        change = read_change(argument.split(maxsplit=1))
    except ValueError as error:
        raise UsageProblem(f"{error}; {_USAGE}") from None
    before = {note.number: note.text for note in chat.agent.notes()}
    chat.agent.correct_notes(change)
    chat.say(*map(Text, describe_change(change, before)))
    chat.say(remark("the model reads it with the next request, and later folds keep it; /undo reverts it"))


COMMANDS = (
    SlashCommand(
        "notes",
        (
            CommandForm("[N]", "show the notes of a fold; N opens one"),
            CommandForm("strike N...", "mark notes as wrong"),
            CommandForm("edit N TEXT", "replace the text of a note"),
            CommandForm("add TEXT", "add a note"),
        ),
        notes,
        choices=lambda _chat: (
            Suggestion("strike ", "take notes back"),
            Suggestion("edit ", "replace the text of a note"),
            Suggestion("add ", "add a note"),
        ),
    ),
)
