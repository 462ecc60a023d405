"""Reads server-sent events as they arrive, without doing the arriving.

A gateway passes a stream on byte for byte and reads usage on the way; a model client wants the events. Both
feed bytes in whatever pieces the network gives and get whole events, each with the exact bytes it came in.
"""

import re

from midfold.errors import MidfoldError
from midfold.late_dataclasses import dataclass
from midfold.late_patterns import compile_late

DEFAULT_MAX_BYTES = 16 * 1024 * 1024
"""Images in a reply make lines of 10 MB; beyond this it is no model that speaks."""

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"

_LINE_END = compile_late(rb"\r\n?|\n")
_SETTLED_LINE_END = compile_late(rb"\n|\r\n|\r(?=[^\n])")
"""A line end that no further byte can change: a CR waits for what follows, as it may be half of a CRLF."""

_RETRY_DIGITS = 15
"""Nobody waits longer, and `int` refuses thousands of digits."""


class StreamTooLong(MidfoldError):
    """A line or an event does not end within the limit; the reader that raised it is of no further use."""

    def __init__(self, limit_bytes: int) -> None:
        super().__init__(f"an event of the stream is longer than {limit_bytes:,} bytes")
        self.limit_bytes = limit_bytes


@dataclass(frozen=True, slots=True)
class SseEvent:
    """One block of a stream: its lines up to and including the blank line that ends it.

    Every byte of a stream is in the `raw` of exactly one block, so joining them gives the stream back. A
    block without a `data` field is nothing to act on: a keep-alive comment, a lone blank line, a bare `id`.
    It has `has_data` false and is there to be passed on.
    """

    event: str
    """The type; `message` where the block names none."""
    data: str
    """The values of the `data` fields, one a line."""
    id: str | None
    """The id this block sets. It does not carry over from the block before."""
    retry: int | None
    """Milliseconds to wait before connecting again."""
    raw: bytes
    comment: str | None = None
    """The comment lines, joined like `data`; `None` where there are none."""
    has_data: bool = True
    complete: bool = True
    """False where the stream ended before the blank line. Browsers drop such a block; some servers end so."""


class SseReader:
    """Turns pieces of a stream into events, by the rules of the WHATWG event-stream format.

    The events are the same however the stream is cut. Invalid UTF-8 is replaced in the texts and kept in
    `raw`. `max_line_bytes` bounds each event as a whole, hence each line, and with it the memory held.
    """

    def __init__(self, max_line_bytes: int = DEFAULT_MAX_BYTES) -> None:
        self._max_bytes = max_line_bytes
        self._pending = bytearray()
        self._line_start = 0
        self._at_start = True

    def feed(self, chunk: bytes) -> list[SseEvent]:
        """Take the next bytes and return the events they complete.

        Raises `StreamTooLong`; events that the same chunk completed before are then lost.
        """
        return self._take_events(chunk, _SETTLED_LINE_END)

    def close(self) -> list[SseEvent]:
        """End the stream and return what is left: a last event, marked where its blank line is missing."""
        events = self._take_events(b"", _LINE_END)
        if self._pending:
            events.append(self._read(bytes(self._pending), complete=False))
            self._pending.clear()
            self._line_start = 0
        return events

    def _take_events(self, chunk: bytes, line_end: re.Pattern[bytes]) -> list[SseEvent]:
        """Cut the pending bytes after each blank line; what was searched before is not searched again."""
        pending = self._pending
        search_from = max(self._line_start, len(pending) - 1)  # the last byte may be a CR that waited
        pending += chunk
        events = []
        block_start = 0
        while found := line_end.search(pending, search_from):
            search_from = found.end()
            is_blank = found.start() == self._line_start
            self._line_start = search_from
            if is_blank:
                self._check_size(search_from - block_start)
                events.append(self._read(bytes(pending[block_start:search_from]), complete=True))
                block_start = search_from
        del pending[:block_start]
        self._line_start -= block_start
        self._check_size(len(pending))
        return events

    def _check_size(self, size: int) -> None:
        if size > self._max_bytes:
            raise StreamTooLong(self._max_bytes)

    def _read(self, raw: bytes, *, complete: bool) -> SseEvent:
        body = raw.removeprefix(_BYTE_ORDER_MARK) if self._at_start else raw
        self._at_start = False
        return _read_block(body, raw, complete=complete)


def is_done(event: SseEvent) -> bool:
    """Say whether this is the `[DONE]` with which OpenAI ends a stream, blank line or not."""
    return event.data.strip() == "[DONE]"


def _read_block(body: bytes, raw: bytes, *, complete: bool) -> SseEvent:
    """Read the fields of a block. `splitlines` on bytes knows LF, CR and CRLF alone, as the format does."""
    data: list[bytes] = []
    comments: list[bytes] = []
    event = b""
    event_id = retry = None
    for line in body.splitlines():
        name, colon, value = line.partition(b":")
        value = value.removeprefix(b" ")
        match name:
            case b"data":
                data.append(value)
            case b"event":
                event = value
            case b"id" if b"\0" not in value:
                event_id = _text(value)
            case b"retry" if value.isdigit() and len(value) <= _RETRY_DIGITS:
                retry = int(value)
            case b"" if colon:
                comments.append(value)
    return SseEvent(
        event=_text(event) or "message",
        data=_text(b"\n".join(data)),
        id=event_id,
        retry=retry,
        raw=raw,
        comment=_text(b"\n".join(comments)) if comments else None,
        has_data=bool(data),
        complete=complete,
    )


def _text(value: bytes) -> str:
    return value.decode("utf-8", "replace")
