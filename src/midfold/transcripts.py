"""Transcripts from files and streams: any dialect, any of the known session files, gzip or not.

Bytes become JSON values here and nowhere else, so that odd input has one place to fail with a clear line.
"""

import json
import os
import sys
import zlib
from collections.abc import Sequence
from json import JSONDecodeError
from pathlib import Path
from typing import BinaryIO

from midfold.errors import UnreadableTranscript
from midfold.files import open_to_read
from midfold.late_dataclasses import dataclass
from midfold.wire import Request, read_request
from midfold.wire.session_files import SessionFile, SessionFormat, detect_session, read_session

MAX_BYTES = 1 << 30
"""A transcript larger than this, unpacked, is taken for a mistake or a bomb."""

_GZIP_MAGIC = b"\x1f\x8b"
_SQLITE_MAGIC = b"SQLite format 3\0"
_CHUNK_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Transcript:
    """A conversation and where it came from. `notes` are remarks of the reader for people.

    `session` is the file of a client that it was read from, and `client` the format of that file.
    """

    source: str
    request: Request
    notes: tuple[str, ...] = ()
    client: SessionFormat | None = None
    session: SessionFile | None = None


def load_transcript(path: str | Path, *, row: int | None = None, dialect: str | None = None) -> Transcript:
    """Read a transcript from a file, or from standard input when `path` is `-`.

    `row` picks one conversation of a JSONL file that holds many. Raises `UnreadableTranscript` when there is
    no JSON in it, and other `DialectError`s when the JSON holds no messages.
    """
    source = "standard input" if str(path) == "-" else str(path)
    try:
        data = _read_stdin(source) if str(path) == "-" else _read_file(Path(path))
    except OSError as error:
        raise UnreadableTranscript(source, error.strerror or str(error)) from error
    return decode_transcript(data, source=source, row=row, dialect=dialect)


def decode_transcript(
    data: bytes, *, source: str = "transcript", row: int | None = None, dialect: str | None = None
) -> Transcript:
    """Read a transcript from bytes: JSON or JSON lines, gzipped or not."""
    if data.startswith(_SQLITE_MAGIC):
        raise UnreadableTranscript(
            source, "it is a database; midfold sessions export writes a session of a store to a file"
        )
    if data.startswith(_GZIP_MAGIC):
        data = _unpack(data, source)
    if len(data) > MAX_BYTES:
        raise _too_large(source)
    return _from_values(_decode(data, source), source, row, dialect)


def decode_json(data: bytes | str) -> object:
    """Decode JSON: fast where the text is clean, leniently where clients cut an emoji in half.

    Raises `ValueError` when it is not JSON, `RecursionError` when it is nested too deeply.
    """
    import msgspec  # here, because reading the first transcript is soon enough to pay for it

    try:
        value: object = msgspec.json.decode(data)
    except msgspec.DecodeError:
        value = json.loads(data)
    return value


def _read_stdin(source: str) -> bytes:
    if sys.stdin is None:
        raise UnreadableTranscript(source, "it is closed")
    return _read_to_end(sys.stdin.buffer, source)


def _read_file(path: Path) -> bytes:
    with open_to_read(path) as handle, os.fdopen(handle, "rb", closefd=False) as stream:
        size = os.fstat(handle).st_size
        if size > MAX_BYTES:
            raise _too_large(str(path))
        # Devices and pipes have no size, and some never end.
        return stream.read() if size else _read_to_end(stream, str(path))


def _read_to_end(stream: BinaryIO, source: str) -> bytes:
    chunks: list[bytes] = []
    size = 0
    while chunk := stream.read(_CHUNK_BYTES):
        size += len(chunk)
        if size > MAX_BYTES:
            raise _too_large(source)
        chunks.append(chunk)
    return b"".join(chunks)


def _too_large(source: str) -> UnreadableTranscript:
    return UnreadableTranscript(source, f"it is larger than {MAX_BYTES:,} bytes")


def _unpack(data: bytes, source: str) -> bytes:
    """Inflate all members, counting while it grows; a cut or damaged file is named as such."""
    unpacked: list[bytes] = []
    size = 0
    while data:
        inflate = zlib.decompressobj(wbits=31)
        while data and not inflate.eof:
            try:
                chunk = inflate.decompress(data, _CHUNK_BYTES)
            except zlib.error as error:
                raise UnreadableTranscript(source, f"its gzip data is damaged: {error}") from error
            data = inflate.unconsumed_tail
            size += len(chunk)
            if size > MAX_BYTES:
                raise UnreadableTranscript(source, f"it unpacks to more than {MAX_BYTES:,} bytes")
            unpacked.append(chunk)
        if not inflate.eof:
            raise UnreadableTranscript(source, "its gzip data is cut short")
        # Writers may pad the end with zeros; anything else is the next member.
        data = inflate.unused_data.lstrip(b"\0")
    return b"".join(unpacked)


def _decode(data: bytes, source: str) -> object:
    """Decode one JSON document, or else JSON lines as a list."""
    if not data.strip():
        raise UnreadableTranscript(source, "it is empty")
    try:
        return decode_json(data)
    except UnicodeDecodeError as error:
        raise UnreadableTranscript(source, f"byte {_find_bad_byte(data, error)} is not UTF-8") from error
    except RecursionError as error:
        raise UnreadableTranscript(source, "its JSON is nested too deeply") from error
    except ValueError as error:
        lines = data.strip().split(b"\n")
        if len(lines) == 1 or not _is_json(lines[0]):
            raise UnreadableTranscript(source, f"it is not JSON: {error}") from error
        return _Lines(
            _decode_line(line, number, source) for number, line in enumerate(lines, 1) if line.strip()
        )


def _find_bad_byte(data: bytes, found: UnicodeDecodeError) -> int:
    """Return where the bad byte stands in the data; a decoder of JSON counts from the start of a string."""
    try:
        data.decode()
    except UnicodeDecodeError as error:
        return error.start
    return found.start


def _is_json(line: bytes) -> bool:
    """Distinguish the first of many lines of JSON from the first line of a document that spans them all."""
    try:
        decode_json(line)
    except (ValueError, RecursionError):
        return False
    return True


class _Lines(list[object]):
    """The values of a JSONL file, as against one document that is a list."""


def _decode_line(line: bytes, number: int, source: str) -> object:
    try:
        return decode_json(line)
    except UnicodeDecodeError as error:
        raise UnreadableTranscript(source, f"line {number} is not UTF-8") from error
    except RecursionError as error:
        raise UnreadableTranscript(source, f"line {number} is nested too deeply") from error
    except ValueError as error:
        reason = f"{error.msg} at column {error.colno}" if isinstance(error, JSONDecodeError) else str(error)
        raise UnreadableTranscript(source, f"line {number} is not JSON: {reason}") from error


def _from_values(value: object, source: str, row: int | None, dialect: str | None) -> Transcript:
    records = value if isinstance(value, _Lines) else [value]
    kind = None if dialect else detect_session(records)
    if kind is not None:
        session = read_session(kind, records)
        request = Request(session.dialect, session.messages, session.system, session.tools, session.model)
        transcript = Transcript(source, request, session.notes, kind, session)
    else:
        transcript = Transcript(source, read_request(_choose(value, source, row), dialect))
    if not transcript.request.messages:
        raise UnreadableTranscript(source, "it holds no messages")
    return transcript


def _choose(value: object, source: str, row: int | None) -> object:
    """Return the conversation that is asked for."""
    if _holds_conversations(value):
        return _pick(value, source, row)
    if row is not None:
        raise UnreadableTranscript(source, "it holds one conversation, so there is no row to choose")
    return value


def _holds_conversations(value: object) -> bool:
    """Whether each element is a whole conversation, as in a data set, and not a message."""
    return isinstance(value, list) and bool(value) and all(_is_conversation(element) for element in value)


def _is_conversation(element: object) -> bool:
    if isinstance(element, dict):
        return "role" not in element and any(
            isinstance(element.get(key), list) for key in ("messages", "conversations")
        )
    return isinstance(element, list)


def _pick(conversations: object, source: str, row: int | None) -> object:
    assert isinstance(conversations, Sequence)  # noqa: S101 - _holds_conversations says so
    if row is None and len(conversations) > 1:
        raise UnreadableTranscript(
            source, f"it holds {len(conversations):,} conversations; choose one with --row N"
        )
    if not 0 <= (row or 0) < len(conversations):
        raise UnreadableTranscript(source, f"there is no row {row}; the last one is {len(conversations) - 1}")
    return conversations[row or 0]
