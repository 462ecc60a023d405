"""Session files of other clients on this machine: found for a folder, written for the client to resume.

Only new files are written. The file that a session was read from is never changed.
"""

import json
import os
import uuid
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

from midfold.errors import UnreadableTranscript
from midfold.files import replace_file
from midfold.folding import Compression
from midfold.late_dataclasses import dataclass
from midfold.wire.session_files import (
    CLIENTS,
    OutgoingSession,
    SessionClient,
    SessionFile,
    holds_words,
    is_subagent_file,
    read_folder,
    write_session,
)

# The first lines of a file say where the client ran; a session without words among them has none yet.
_HEAD_LINES = 200


@dataclass(frozen=True, slots=True)
class FoundSession:
    """A session file of a client. `folder` is where the client ran, as far as the file says."""

    client: SessionClient
    path: Path
    folder: str | None
    changed_at: float


@dataclass(frozen=True, slots=True)
class ClientHomes:
    """Where clients keep their files: environment and home folder of the person."""

    environment: Mapping[str, str]
    home: Path

    @classmethod
    def own(cls) -> "ClientHomes":
        """Return those of this process."""
        return cls(os.environ, Path.home())

    def sessions_of(self, client: SessionClient) -> Path:
        return client.find_sessions_folder(self.environment, self.home)


def find_newest_session(folder: Path, homes: ClientHomes) -> FoundSession | None:
    """Find the session that was changed last in a folder, else in the nearest folder above that has one.

    The search ends at the home folder, where clients are seldom meant to work.
    """
    folder = folder.resolve()
    for place in (folder, *folder.parents):
        if place != folder and place in (homes.home, *homes.home.parents):
            return None
        found = next(find_sessions(place, homes), None)
        if found is not None:
            return found
    return None


def find_sessions(folder: Path, homes: ClientHomes) -> Iterator[FoundSession]:
    """Yield the sessions of a folder, the newest first; sessions without a message are passed over."""
    candidates = [
        (changed_at, path, client)
        for client in CLIENTS.values()
        for pattern in client.patterns(str(folder))
        for path in homes.sessions_of(client).glob(pattern)
        if not is_subagent_file(path.name) and (changed_at := _changed_at(path)) is not None
    ]
    for changed_at, path, client in sorted(
        candidates, key=lambda each: (each[0], str(each[1])), reverse=True
    ):
        head = list(_read_head(path))
        ran_in = next((where for record in head if (where := read_folder(record))), None)
        if ran_in in (None, str(folder)) and any(map(holds_words, head)):
            yield FoundSession(client, path, ran_in, changed_at)


def list_session_files(folder: Path, homes: ClientHomes) -> list[Path]:
    """List the session files below a folder in which a client keeps them, the newest first; else none."""
    folder = folder.resolve()
    if not any(folder.is_relative_to(homes.sessions_of(client).resolve()) for client in CLIENTS.values()):
        return []
    files = [path for path in folder.rglob("*.jsonl") if not is_subagent_file(path.name)]
    return sorted(files, key=lambda path: (_changed_at(path) or 0.0, str(path)), reverse=True)


def _changed_at(path: Path) -> float | None:
    try:
        return path.stat().st_mtime
    except OSError:  # removed meanwhile, or not ours to read
        return None


def _read_head(path: Path) -> Iterator[object]:
    try:
        with path.open("rb") as lines:
            for line in islice(lines, _HEAD_LINES):
                yield json.loads(line)
    except (OSError, ValueError, RecursionError):
        return


@dataclass(frozen=True, slots=True)
class WrittenSession:
    """A new session file, and the words that resume it."""

    client: SessionClient
    path: Path
    session_id: str
    folder: str | None

    @property
    def command(self) -> tuple[str, ...]:
        return (*self.client.command, self.session_id)


def choose_path(client: SessionClient, folder: str, session_id: str, homes: ClientHomes) -> Path:
    """Return the path under which the client finds a session of a folder."""
    return homes.sessions_of(client) / client.path_of(folder, session_id, datetime.now().astimezone())


def make_session_id() -> str:
    """Make the id of a new session."""
    return str(uuid.uuid4())


def save_session(
    client: SessionClient,
    session: SessionFile,
    compression: Compression[object],
    path: Path,
    *,
    session_id: str,
) -> WrittenSession:
    """Write a compressed session as a new file of its client.

    Raises `UnreadableTranscript` where the path is taken: a session that may be open is never replaced.
    """
    if path.exists():
        raise UnreadableTranscript(str(path), "it is there already; a session file is never written over")
    title = session.facts.title
    outgoing = OutgoingSession(
        items=tuple(compression.messages),
        origins=find_origins(compression),
        session_id=session_id,
        written_at=datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        title=f"{title} (folded)" if title and not title.endswith("(folded)") else title,
    )
    lines = write_session(client.format, session, outgoing)
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, b"".join(map(_encode, lines)))
    return WrittenSession(client, path, session_id, session.facts.folder)


def find_origins(compression: Compression[object]) -> tuple[int | None, ...]:
    """Say for each message of a result which message of the old list it was, `None` for a summary."""
    if compression.fold is None:
        return tuple(range(len(compression.messages)))
    steps = [step for step in compression.fold.walk(compression.before) if step.message is not None]
    if len(steps) == len(compression.messages):
        return tuple(step.index for step in steps)
    # A message that became several items has no single origin; untouched ones are known by identity.
    known = {id(message.raw): index for index, message in enumerate(compression.before)}
    return tuple(known.get(id(item)) for item in compression.messages)


def _encode(line: object) -> bytes:
    try:
        return json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
    except UnicodeEncodeError:  # half an emoji: only an escape can carry it
        return json.dumps(line, separators=(",", ":")).encode() + b"\n"
