"""`midfold sessions export` and `import`: conversations as files."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TypedDict, Unpack

import click
from rich.text import Text

from midfold.cli.conversations import ID_CHARS, describe, find_session, own_store, print_json, read_text
from midfold.cli.inputs import find_files
from midfold.cli.options import complete_session, dialect_option, row_option
from midfold.cli.render.console import make_console
from midfold.cli.render.format import count_of
from midfold.cli.render.usage import format_bill
from midfold.cli.render.wrapping import print_wrapped
from midfold.cli.terminal import OutputClosed, printable
from midfold.errors import DialectError
from midfold.late_dataclasses import replace
from midfold.store import Call, Store
from midfold.store.transfer import (
    ExportFormat,
    ExportView,
    Imported,
    Incoming,
    export_session,
    import_session,
    read_incoming,
    write_export,
)
from midfold.usage import add_up, count_calls, record_client_calls

_MOST_CHARS = 200


@click.command("export")
@click.argument("name", metavar="ID", shell_complete=complete_session)
@click.option("-o", "--output", metavar="FILE", help="Output file; default: standard output.")
@click.option(
    "--format",
    "form",
    type=click.Choice([form.value for form in ExportFormat]),
    metavar="FORMAT",
    help="json (default), jsonl or sharegpt.",
)
@click.option("--tip", is_flag=True, help="Only the newest session, without folded messages.")
def export_command(name: str, output: str | None, form: str | None, tip: bool) -> None:
    """Write a conversation to a file without its credentials.

    json has everything and can be imported again; jsonl has a message on each line, as its provider
    writes it; sharegpt is one row of a data set. Files are readable for their owner alone.
    """
    chosen = (
        ExportFormat(form)
        if form
        else ExportFormat.JSONL
        if (output or "").endswith(".jsonl")
        else ExportFormat.JSON
    )
    with own_store() as store:
        session = find_session(store, name)
        export = export_session(
            store, session.id, form=chosen, view=ExportView.TIP if tip else ExportView.HISTORY
        )
        if output is not None and output != "-":
            write_export(Path(output), export.text)  # while the store is open, so that it is not replaced
    if output is None or output == "-":
        click.echo(export.text, nl=False)
    else:
        click.echo(f"{count_of(export.messages, 'message')} to {printable(output, _MOST_CHARS)}", err=True)
    if export.damaged:
        click.echo(f"damaged: {count_of(export.damaged, 'message')}; a mark is in each place", err=True)
    for loss in export.losses:
        click.echo(f"not in it: {printable(loss, _MOST_CHARS)}", err=True)


class ImportOptions(TypedDict):
    """Options for reading files and storing them."""

    title: str | None
    row: int | None
    dialect: str | None
    again: bool


@click.command("import")
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option("--title", type=read_text, metavar="TEXT", help="Title of the conversation.")
@row_option
@dialect_option
@click.option("--again", is_flag=True, help="Import a conversation that is already stored, again.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON list instead of a line for each.")
def import_command(files: tuple[str, ...], as_json: bool, **how: Unpack[ImportOptions]) -> int:
    """Import conversations, one from each FILE.

    FILE may be a folder with sessions or transcripts, or - for standard input.

    Reads exports of midfold, transcripts and request bodies in any dialect (OpenAI chat and Responses,
    Anthropic, ShareGPT), and session files of Claude Code, Codex and Hermes. A stored
    conversation is not imported twice. An unreadable file is named, and the others are imported.
    """
    printer = _Printer()
    results: list[Imported] = []
    names = [name for file in files for name in _files_in(file)]
    with own_store() as store:
        for file in names:
            try:
                incoming = read_incoming(file, row=how["row"], dialect=how["dialect"])
                imported = _import(store, incoming, how)
                calls = record_client_calls(
                    store, imported.session.id, incoming.calls, dialect=incoming.dialect
                )
            except DialectError as error:
                click.echo(f"midfold: {_say_unreadable(file, error)}", err=True)
                continue
            results.append(imported)
            if not as_json:
                notes = (*incoming.notes, *_describe_calls(calls))
                printer.print(imported, describe(store, imported.session), notes)
    if as_json:
        print_json([asdict(each) for each in results])
    if len(results) < len(names):
        return 2
    printer.finish()
    return 0


def _files_in(name: str) -> list[str]:
    """Return the files of a folder; a name that is none is reported when it is its turn."""
    return list(find_files(name)) if name else [name]


def _import(store: Store, incoming: Incoming, how: ImportOptions) -> Imported:
    named = replace(incoming, title=how["title"]) if how["title"] else incoming
    return import_session(store, named, again=how["again"])


def _describe_calls(calls: Sequence[Call]) -> tuple[str, ...]:
    """Say what the client had spent, as its file has it."""
    if not calls:
        return ()
    total = add_up(count_calls(calls))
    spent = f", {format_bill(total.bill)}" if total.bill.dollars is not None else ""
    return (f"{count_of(len(calls), 'recorded call')}: {total.usage.total_tokens:,} tokens{spent}",)


def _say_unreadable(file: str, error: DialectError) -> str:
    reason = str(error)
    return printable(reason if file in reason else f"{file}: {reason}", _MOST_CHARS)


class _Printer:
    """Prints a line for each conversation; a reader who has seen enough does not end the import."""

    def __init__(self) -> None:
        self._closed: OutputClosed | None = None

    def print(self, imported: Imported, words: str, notes: tuple[str, ...]) -> None:
        if self._closed is None:
            try:
                _print_imported(imported, words, notes)
            except OutputClosed as error:
                self._closed = error

    def finish(self) -> None:
        """Leave as every command does whose output is closed."""
        if self._closed is not None:
            raise self._closed


def _print_imported(imported: Imported, words: str, notes: tuple[str, ...]) -> None:
    console = make_console()
    line = Text.assemble(
        (imported.session.id[:ID_CHARS], "bold"),
        f"  {imported.messages:>6,} message{' ' if imported.messages == 1 else 's'}  ",
        # In front of the words, which may be longer than the line.
        ("" if imported.is_new else "already here  ", "yellow"),
        printable(words, 80),
    )
    line.truncate(console.width, overflow="ellipsis")
    console.print(line)
    for note in notes:
        indent = " " * (ID_CHARS + 2)
        print_wrapped(Text(printable(note, _MOST_CHARS), style="dim"), console, first=indent, indent=indent)
