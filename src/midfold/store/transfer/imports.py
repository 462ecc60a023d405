"""Imports: a conversation from our own export, a transcript or another agent's session file, into a store."""

import sys
from collections.abc import Iterable, Mapping

from midfold.errors import SessionNotFound, UnreadableTranscript
from midfold.files import BelongsToStore, read_bytes
from midfold.late_dataclasses import dataclass, replace
from midfold.messages import chain_digests
from midfold.store.base import Store
from midfold.store.codec import pack_item
from midfold.store.transfer.exports import FORMAT, NO_KEY, VERSION
from midfold.store.transfer.times import read_time, read_times
from midfold.store.values import IMPORTED, ImportedMessage, Session
from midfold.transcripts import MAX_BYTES, Transcript, decode_transcript
from midfold.wire import DIALECTS, parse
from midfold.wire.session_files import ClientCall, SessionFacts

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
    calls: tuple[ClientCall, ...] = ()
    """the calls that the client of a session file paid for"""


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
    # A request body has no lines of its own that could say more than its messages do.
    known = read_times(data if request.raw is None else b"", request.messages)
    title = request.raw.get("title") if request.raw else None
    facts = transcript.session.facts if transcript.session else SessionFacts()
    return Incoming(
        dialect=request.dialect,
        said=tuple(ImportedMessage(item, at) for item, at in zip(request.messages, known.times, strict=True)),
        source=known.source or _IMPORTED,
        model=request.model,
        title=_text(title) or facts.title,
        system=request.system,
        started_at=known.times[0],
        notes=transcript.notes,
        calls=tuple(replace(call, at=read_time(call.at)) for call in facts.calls),
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


@dataclass(frozen=True, slots=True)
class Imported:
    """The session that a file became, or the one that already says all of it."""

    session: Session
    messages: int
    is_new: bool


def import_session(
    store: Store, incoming: Incoming, *, again: bool = False, session_id: str | None = None
) -> Imported:
    """Write a conversation as a session of its own, dated as the file says; all of it, or nothing.

    The ids of a file are not used, as its writer could choose any; `session_id` is for hosts that know
    better. A conversation that the store knows from its first message to its last is not written twice unless
    `again`.
    """
    known = None if again else _find_known(store, incoming)
    if known is not None:
        store.save_state(known, IMPORTED, True)
        return Imported(store.session(known), len(incoming.said), is_new=False)
    session = store.import_conversation(
        incoming.said,
        dialect=incoming.dialect,
        session_id=session_id,
        source=incoming.source,
        model=incoming.model,
        title=incoming.title,
        system=incoming.system,
        started_at=incoming.started_at,
    )
    return Imported(session, len(incoming.said), is_new=True)


def _find_known(store: Store, incoming: Incoming) -> str | None:
    items = [said.item for said in incoming.said]
    known = store.find_history(chain_digests(parse(items, incoming.dialect)))
    if known is not None and known.length == len(items):
        return known.session_id
    return _find_exported(store, incoming.conversation_id, items)


def _find_exported(store: Store, conversation_id: str | None, items: list[object]) -> str | None:
    """Find the conversation that a file of ours was made from: where that had credentials, the file has
    placeholders, and only the file of what is stored looks the same."""
    if conversation_id is None:
        return None
    try:
        history = store.history(conversation_id)
    except SessionNotFound:
        return None
    said = [record.item for record in history]
    if len(said) < len(items) or _encode(said[: len(items)]) != _encode(items):
        return None
    return store.get_compression_tip(conversation_id)


def _encode(items: Iterable[object]) -> list[str]:
    return [pack_item(item, NO_KEY).body for item in items]
