"""The transcripts that a command is given: files, folders, standard input, or nothing at all.

Without a name it is the newest session of Claude Code or Codex in this folder, which is said aloud.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from midfold.cli.render.format import format_time
from midfold.cli.terminal import printable, printable_path
from midfold.client_sessions import ClientHomes, FoundSession, find_newest_session, list_session_files
from midfold.errors import DialectError, UnreadableTranscript
from midfold.transcripts import Transcript, load_transcript

_SUFFIXES = (".json", ".jsonl", ".json.gz", ".jsonl.gz")
_MOST_CHARS = 200
_CLIENTS = "Claude Code or Codex"


class NoSession(UnreadableTranscript):
    """No client has a session in the folder."""

    def __init__(self, folder: Path) -> None:
        super().__init__(str(folder), f"this folder has no session of {_CLIENTS}; name a transcript")


def find_inputs(names: Sequence[str]) -> list[str]:
    """Return the files that are meant, each once, in the order of their names."""
    if not names:
        return [str(find_session_here().path)]
    return list(dict.fromkeys(file for name in names for file in find_files(name)))


def find_session_here(folder: Path | None = None) -> FoundSession:
    """Find the newest session of a folder, by default of this one, and say which it is."""
    where = folder or Path.cwd()
    found = find_newest_session(where, ClientHomes.own())
    if found is None:
        raise NoSession(where)
    there = printable_path(Path(found.folder), _MOST_CHARS) if found.folder else "this folder"
    click.echo(f"newest session of {there}: {found.client.label}, {format_time(found.changed_at)}", err=True)
    click.echo(printable_path(found.path, 2 * _MOST_CHARS), err=True)
    return found


def find_files(name: str) -> Iterator[str]:
    """Yield the sessions or transcripts in a folder, the newest session of a project, or the file itself."""
    if not name:
        raise UnreadableTranscript("''", "it names no file; without a name the newest session here is read")
    folder = Path(name)
    if name == "-" or not folder.is_dir():
        yield name
        return
    files = [str(path) for path in list_session_files(folder, ClientHomes.own())]
    if files:
        yield from files
    elif find_newest_session(folder, ClientHomes.own()) is not None:
        yield str(find_session_here(folder).path)
    else:
        files = sorted(
            str(path) for path in folder.iterdir() if path.name.endswith(_SUFFIXES) and path.is_file()
        )
        if not files:
            raise NoSession(folder)
        yield from files


def load_named(file: str) -> Transcript:
    """Load the only transcript of a command; an error names the file."""
    try:
        return load_transcript(file)
    except UnreadableTranscript:
        raise
    except DialectError as error:
        raise UnreadableTranscript(_name(file), str(error)) from error


def say_unreadable(file: str, error: Exception) -> None:
    """Name a file that could not be read; the others are read all the same."""
    reason = str(error)
    line = reason if _name(file) in reason else f"{_name(file)}: {reason}"
    click.echo(f"midfold: {printable(line, _MOST_CHARS)}", err=True)


def _name(file: str) -> str:
    return "standard input" if file == "-" else file
