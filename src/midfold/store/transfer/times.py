"""When things were said, read from files that know it."""

import gzip
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from midfold.late_dataclasses import dataclass
from midfold.transcripts import decode_json
from midfold.wire.session_files import detect_session

_GZIP_MAGIC = b"\x1f\x8b"
# Clocks of machines that were never set, and numbers that are no times.
_EARLIEST, _LATEST = 946_684_800.0, 4_102_444_800.0
_MILLISECONDS_FROM = 100_000_000_000.0
# Where the session files of agents keep a message beside its time.
_HOLDERS = ("message", "payload")


@dataclass(frozen=True, slots=True)
class FileTimes:
    """The agent that wrote a session file, where that shows, and the time of each message."""

    source: str | None
    times: tuple[float | None, ...]


def read_times(data: bytes, messages: Sequence[object]) -> FileTimes:
    """Find out when the messages of a file were said; what has no time of its own was said with the message
    before it. `data` was read as a transcript before, so that its size is known to be bearable; it may be
    empty where the messages alone show it."""
    records = list(_decode(gzip.decompress(data) if data.startswith(_GZIP_MAGIC) else data))
    source = detect_session(records)
    known = {piece: at for said, at in _timed(records) for piece in _pieces(said)} if source else {}
    found = [_own_time(message) or _look_up(message, known) for message in messages]
    return FileTimes(source, tuple(_filled(found)))


def read_time(value: object) -> float | None:
    """Read a time that is a number of seconds or milliseconds, or an ISO text; `None` for anything else."""
    if isinstance(value, str):
        try:
            at = datetime.fromisoformat(value).timestamp()
        except (ValueError, OverflowError, OSError):
            return None
    elif isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
        at = value / 1000 if value >= _MILLISECONDS_FROM else float(value)
    else:
        return None
    return at if _EARLIEST <= at <= _LATEST else None


def _decode(data: bytes) -> Iterator[object]:
    if not data:
        return
    try:
        yield decode_json(data)
    except ValueError:
        for line in data.split(b"\n"):
            if line.strip():
                yield decode_json(line)


def _timed(records: Sequence[object]) -> Iterator[tuple[object, float]]:
    for record in records:
        if not isinstance(record, dict):
            continue
        at = read_time(record.get("timestamp"))
        for name in _HOLDERS:
            if at is not None and isinstance(record.get(name), dict):
                yield record[name], at


def _look_up(message: object, known: Mapping[str, float]) -> float | None:
    return next((known[piece] for piece in _pieces(message) if piece in known), None) if known else None


def _pieces(message: object) -> Iterator[str]:
    """Yield a message and its blocks as JSON: one that stands on several lines was put together from them."""
    yield json.dumps(message, sort_keys=True)
    content = message.get("content") if isinstance(message, dict) else None
    for block in content if isinstance(content, list) else [content]:
        text = block.get("text") if isinstance(block, dict) else block
        if text or isinstance(block, dict):
            yield json.dumps(text or block, sort_keys=True)


def _own_time(message: object) -> float | None:
    return read_time(message.get("timestamp")) if isinstance(message, dict) else None


def _filled(times: Sequence[float | None]) -> Iterator[float | None]:
    last = next((at for at in times if at is not None), None)
    for at in times:
        last = last if at is None else at
        yield last
