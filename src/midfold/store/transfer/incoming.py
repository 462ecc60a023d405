"""What a file brings: our own export, a transcript in any dialect, or the session file of another agent."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass

from midfold.errors import UnreadableTranscript
from midfold.files import BelongsToStore, read_bytes
from midfold.store.transfer.exporting import FORMAT, VERSION
from midfold.store.transfer.times import read_time, read_times
from midfold.store.values import ImportedMessage
from midfold.transcripts import MAX_BYTES, Transcript, decode_transcript
from midfold.wire import DIALECTS

_IMPORTED = "import"


@dataclass(frozen=True, slots=True)
class Incoming:
    """A conversation that can be written to a store. `notes` are remarks of the reader for people.

    `conversation_id` is what a file of our own says: a hint where to look for it, and nothing to rely on.
    """

    dialect: str
    said: tuple[ImportedMessage, ...]
    source: str
    model: str | None
    title: str | None
    system: object
    started_at: float | None
    notes: tuple[str, ...]
    conversation_id: str | None = None


def read_incoming(path: str, *, row: int | None = None, dialect: str | None = None) -> Incoming:
    """Read a conversation from a file, or from standard input when `path` is `-`.

    `row` picks one of a file that holds many. Raises `DialectError`s, as `load_transcript` does.
    """
    data = _read_bytes(path)
    transcript = decode_transcript(
        data, source="standard input" if path == "-" else path, row=row, dialect=dialect
    )
    raw = transcript.request.raw
    if raw is not None and raw.get("format") == FORMAT:
        return _from_own(transcript, raw)
    return _from_transcript(transcript, data)


def _read_bytes(path: str) -> bytes:
    try:
        if path == "-":
            return sys.stdin.buffer.read(MAX_BYTES + 1)
        return read_bytes(path, MAX_BYTES + 1)
    except BelongsToStore as error:
        raise UnreadableTranscript(path, f"it {error.strerror}; export sessions from it instead") from error
    except OSError as error:
        raise UnreadableTranscript(path, error.strerror or str(error)) from error


def _from_transcript(transcript: Transcript, data: bytes) -> Incoming:
    request = transcript.request
    # A request body has no lines of its own that could tell more than its messages do.
    known = read_times(data if request.raw is None else b"", request.messages)
    title = request.raw.get("title") if request.raw else None
    return Incoming(
        dialect=request.dialect,
        said=tuple(ImportedMessage(item, at) for item, at in zip(request.messages, known.times, strict=True)),
        source=known.source or _IMPORTED,
        model=request.model,
        title=_text(title),
        system=request.system,
        started_at=known.times[0],
        notes=transcript.notes,
    )


def _from_own(transcript: Transcript, raw: Mapping[str, object]) -> Incoming:
    """Read what `export_session` wrote; facts that are not what they should be count as unknown."""
    if raw.get("version") != VERSION:
        raise UnreadableTranscript(transcript.source, "another version of midfold wrote it")
    messages = transcript.request.messages
    records, session = raw.get("records"), raw.get("session")
    if not isinstance(session, dict) or not isinstance(records, list) or len(records) != len(messages):
        raise UnreadableTranscript(transcript.source, "its messages and what it knows about them do not fit")
    dialect = _text(session.get("dialect"))
    return Incoming(
        dialect=dialect if dialect in DIALECTS else transcript.request.dialect,
        said=tuple(map(_read_said, messages, records)),
        source=_text(session.get("source")) or _IMPORTED,
        model=_text(session.get("model")),
        title=_text(session.get("title")),
        system=session.get("system"),
        started_at=_first_time(raw.get("chain"), session),
        notes=(),
        conversation_id=_text(session.get("conversation_id")),
    )


def _read_said(item: object, record: object) -> ImportedMessage:
    facts = record if isinstance(record, dict) else {}
    tokens = facts.get("tokens")
    return ImportedMessage(
        item,
        at=read_time(facts.get("created_at")),
        tokens=tokens if type(tokens) is int and tokens >= 0 else None,
        finish_reason=_text(facts.get("finish_reason")),
        is_redacted=facts.get("is_redacted") is True,
    )


def _first_time(chain: object, session: Mapping[str, object]) -> float | None:
    first = chain[0] if isinstance(chain, list) and chain and isinstance(chain[0], dict) else session
    return read_time(first.get("started_at"))


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
