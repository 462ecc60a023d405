"""`midfold sessions notes`: reads and corrects the notes of a fold."""

from dataclasses import asdict

import click

from midfold.cli.conversations import find_session, own_store, print_json, read_text
from midfold.cli.options import complete_session
from midfold.cli.render.console import make_console
from midfold.errors import NoteNotFound
from midfold.folding import list_notes
from midfold.store import Session, Store
from midfold.summaries import find_note
from midfold.wire import parse

_EPILOG = """\b
Examples:
  midfold sessions notes latest               list the notes
  midfold sessions notes latest 12            open one, with its messages
  midfold sessions notes latest strike 12 14  take notes back
  midfold sessions notes latest edit 3 "the port is 4040"
  midfold sessions notes latest add "the staging host is b2"
"""


@click.command("notes", epilog=_EPILOG, context_settings={"ignore_unknown_options": True})
@click.argument("name", metavar="ID", shell_complete=complete_session)
@click.argument("words", metavar="[N | strike N... | edit N TEXT | add TEXT]", type=read_text, nargs=-1)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
def notes_command(name: str, words: tuple[str, ...], as_json: bool) -> None:
    """Show or correct the notes that stand for folded messages.

    The model reads a correction with its next request, as yours. Later folds keep it;
    sessions undo takes it back.
    """
    from midfold.cli.render.notes import NO_NOTES, print_note, print_notes

    with own_store() as store:
        session = store.session(store.get_compression_tip(find_session(store, name).id))
        if words and not (len(words) == 1 and words[0].isdecimal()):
            _correct(store, session, words)
            return
        notes = list_notes(parse(store.messages(session.id), session.dialect))
        if words and not notes:
            raise NoteNotFound
        shown = [find_note(notes, int(words[0]))] if words else list(notes)
        if as_json:
            print_json([asdict(note) for note in shown])
        elif not notes:
            click.echo(NO_NOTES)
        elif words:
            print_note(shown[0], store.history(session.id), session.dialect, make_console())
        else:
            print_notes(notes, store.history(session.id), session.dialect, make_console())


def _correct(store: Store, session: Session, words: tuple[str, ...]) -> None:
    from midfold.cli.note_changes import describe_change, read_change
    from midfold.stored_notes import correct_session_notes

    try:
        change = read_change(words)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    before = list_notes(parse(store.messages(session.id), session.dialect))
    session_id = correct_session_notes(store, session.id, change)
    for line in describe_change(change, {note.number: note.text for note in before}):
        click.echo(line)
    click.echo(f"continues in session {session_id}")
