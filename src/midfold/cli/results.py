"""Where a compressed transcript goes: as messages to a file or the output, or as a session of its client."""

import gzip
import json
import math
import shlex
import sys
import uuid
from pathlib import Path

import click

from midfold.cli.terminal import printable, printable_path, quote_path
from midfold.client_sessions import (
    ClientHomes,
    WrittenSession,
    choose_path,
    make_session_id,
    save_session,
)
from midfold.errors import ConfigError, UnreadableTranscript
from midfold.files import replace_file
from midfold.folding import Compression
from midfold.late_dataclasses import dataclass
from midfold.transcripts import Transcript
from midfold.wire.session_files import CLIENTS, SessionClient

FORMS = ("messages", "session")
_MOST_CHARS = 400


@dataclass(frozen=True, slots=True)
class Destination:
    """A path to write to, `None` for standard output; with a `client`, a session of it."""

    path: Path | None
    client: SessionClient | None = None
    session_id: str = ""


def choose_destination(loaded: Transcript, output: str | None, form: str | None) -> Destination:
    """Decide what is written and where, before anything is paid for."""
    path = None if output in (None, "-") else Path(output or "")
    is_session = form == "session" or (
        form is None and loaded.client in CLIENTS and path is not None and _looks_like_session(path, loaded)
    )
    if is_session:
        return _choose_session(loaded, path)
    if path is not None and path.is_dir():
        name = Path(loaded.source).name
        path = path / (name if loaded.client is None else f"{name.removesuffix('.gz').removesuffix('l')}")
    if path is not None:
        _refuse_original(path, loaded)
    return Destination(path)


def own_destination(loaded: Transcript) -> Destination:
    """Return the place where the client of a session looks for its sessions."""
    client = find_client(loaded)
    session_id = make_session_id()
    folder = loaded.session.facts.folder if loaded.session else None
    path = choose_path(client, folder or str(Path.cwd()), session_id, ClientHomes.own())
    original = Path(loaded.source).resolve()
    # Beside the original, whatever the client calls the folder of a project.
    beside = original.parent / path.name
    is_own = original.is_relative_to(ClientHomes.own().sessions_of(client).resolve())
    return Destination(beside if is_own and client.keeps_by_folder else path, client, session_id)


def find_client(loaded: Transcript) -> SessionClient:
    """Return the client that can resume a transcript, or say that there is none."""
    client = next((each for kind, each in CLIENTS.items() if kind == loaded.client), None)
    if client is None or loaded.session is None or not loaded.session.lines:
        raise UnreadableTranscript(
            loaded.source, "it is no session of Claude Code or Codex; midfold compress takes it"
        )
    return client


def write_result(
    loaded: Transcript, result: Compression[object], destination: Destination | None
) -> WrittenSession | None:
    """Write a result; return the session where it became one."""
    if destination is None or destination.client is None or destination.path is None:
        _write(loaded.request.with_messages(result.messages), destination.path if destination else None)
        return None
    assert loaded.session is not None  # noqa: S101 - find_client says so
    return save_session(
        destination.client, loaded.session, result, destination.path, session_id=destination.session_id
    )


def print_written(written: WrittenSession) -> None:
    """Say where the session is, and how to go on with it."""
    click.echo(f"written: {printable_path(written.path, _MOST_CHARS)}; the original is unchanged", err=True)
    home = ClientHomes.own().sessions_of(written.client)
    if written.path.resolve().is_relative_to(home.resolve()):
        click.echo(f"resume:  {describe_resume(written)}", err=True)
    else:
        own = choose_path(written.client, written.folder or "", written.session_id, ClientHomes.own())
        click.echo(f"to resume it, copy it to {printable_path(own, _MOST_CHARS)}", err=True)


def describe_resume(written: WrittenSession) -> str:
    """Return the command that resumes a session, from any folder."""
    there = f"cd {quote_path(Path(written.folder))} && " if written.folder else ""
    return printable(f"{there}{shlex.join(written.command)}", _MOST_CHARS)


def _looks_like_session(path: Path, loaded: Transcript) -> bool:
    return path.suffix == ".jsonl" or (path.is_dir() and loaded.source.endswith(".jsonl"))


def _choose_session(loaded: Transcript, path: Path | None) -> Destination:
    client = find_client(loaded)
    if path is None:
        raise ConfigError("--as", "session", hint="a file or folder to write to: -o")
    if not path.is_dir():
        _refuse_original(path, loaded)
        return Destination(path, client, _read_id(path) or make_session_id())
    own = own_destination(loaded)
    return Destination(path / (own.path or path).name, client, own.session_id)


def _refuse_original(path: Path, loaded: Transcript) -> None:
    """The messages that a fold leaves out are in no other file; a session's client may have it open."""
    if path.exists() and Path(loaded.source).exists() and path.samefile(loaded.source):
        raise ConfigError("--output", str(path), hint="another file than the transcript itself")


def _read_id(path: Path) -> str | None:
    """Read the id at the end of a file's name; clients find a session by it."""
    try:
        return str(uuid.UUID(path.stem[-36:]))
    except ValueError:
        return None


def _write(body: object, path: Path | None) -> None:
    """Write the transcript in one step, so that a failed run leaves the old file."""
    data = _encode(body)
    if path is None:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return
    try:
        replace_file(path, gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)
    except OSError as error:
        raise ConfigError(
            "--output", str(path), hint=f"a file that can be written ({error.strerror})"
        ) from error


def _encode(body: object) -> bytes:
    try:
        text = json.dumps(body, ensure_ascii=False, allow_nan=False)
    except ValueError:  # NaN and infinity are no JSON, though some write and read them
        return _encode(_without_odd_numbers(body))
    try:
        return text.encode() + b"\n"
    except UnicodeEncodeError:  # half an emoji: only an escape can carry it
        return json.dumps(body).encode() + b"\n"


def _without_odd_numbers(value: object) -> object:
    """Return a value with null in the place of what is no number."""
    if isinstance(value, dict):
        return {key: _without_odd_numbers(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_without_odd_numbers(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
