"""Notes as people read them: numbered, with the messages they stand for and who said these."""

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from midfold.cli.render.format import count_of
from midfold.cli.render.messages import print_message_text
from midfold.cli.terminal import printable
from midfold.redact import redact
from midfold.store import StoredMessage
from midfold.stored_notes import NoteSource, find_sources
from midfold.summaries import Note, find_subject

NO_NOTES = "nothing is folded yet, so there are no notes"
_MOST_CHARS = 160
_MOST_SPEAKERS = 3
_MOST_SOURCES = 12
_INDENT = 5


def print_notes(
    notes: Sequence[Note], history: Sequence[StoredMessage], dialect: str | None, console: Console
) -> None:
    """List notes under their headings."""
    heading = None
    for note in notes:
        if note.heading != heading:
            console.print(Text(note.heading, style="bold"))
            heading = note.heading
        console.print(
            _list_line(note, find_sources(history, note, dialect=dialect), console.width), soft_wrap=True
        )


def print_note(note: Note, history: Sequence[StoredMessage], dialect: str | None, console: Console) -> None:
    """Print one note whole, and the messages that it stands for."""
    console.print(Text(f"{note.number}  {note.heading}", style="bold"))
    console.print(Text(printable(redact(note.text), len(note.text) + 1)), soft_wrap=False)
    sources = find_sources(history, note, dialect=dialect)
    for source in sources[:_MOST_SOURCES]:
        console.print()
        console.print(Text.assemble((f"[{source.number}]", "bold"), f"  {printable(source.speaker)}"))
        print_message_text(source.record, dialect, console)
    if len(sources) > _MOST_SOURCES:
        rest = count_of(len(sources) - _MOST_SOURCES, "message")
        console.print(Text(f"and {rest} more: {_numbers(sources[_MOST_SOURCES:])}", style="dim"))
    if not sources:
        console.print(Text(_why_no_source(note), style="dim"))


def _list_line(note: Note, sources: Sequence[NoteSource], width: int) -> Text:
    """Write a note on one line: its number, its words, who said it and where."""
    said = Text(f" {_describe_origin(note, sources)}", style="dim")
    room = max(24, min(_MOST_CHARS, width - _INDENT - said.cell_len))
    words = Text(printable(" ".join(redact(_words(note)).split()), 2 * _MOST_CHARS))
    words.truncate(room, overflow="ellipsis")
    return Text.assemble((f"{note.number:>3}  ", "cyan"), words, said)


def _words(note: Note) -> str:
    if note.correction is not None:
        return f"{note.correction.kind}: {note.text}"
    return find_subject(note.text)


def _describe_origin(note: Note, sources: Sequence[NoteSource]) -> str:
    """Say who said it, in which messages."""
    if note.correction is not None:
        return "(you)"
    if note.is_pinned:
        return "(you, pinned)"
    if not sources:
        return ""
    speakers = list(dict.fromkeys(_short(source) for source in sources))
    more = ["…"] if len(speakers) > _MOST_SPEAKERS else []
    return f"({', '.join(speakers[:_MOST_SPEAKERS] + more)} {_numbers(sources)})"


def _short(source: NoteSource) -> str:
    who = source.speaker.removeprefix("tool ")
    return {"user": "you", "assistant": "model"}.get(who, printable(who, 20))


def _numbers(sources: Sequence[NoteSource]) -> str:
    numbers = [str(source.number) for source in sources]
    shown = numbers if len(numbers) <= _MOST_SPEAKERS else [*numbers[:2], "…", numbers[-1]]
    return f"[{', '.join(shown)}]"


def _why_no_source(note: Note) -> str:
    if note.correction is not None:
        return "you wrote this"
    return "you pinned this" if note.is_pinned else "it names no message: a model wrote it"
