"""An answer on its way to the client: pulled through as fast as the client reads, whole events at a time.

Bytes are passed on as they came. Of a stream of events the beginning of one that is not whole is held back:
where the upstream breaks off, the client gets a proper error event in its place.
"""

import asyncio
import re
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable, MutableMapping
from contextlib import aclosing, asynccontextmanager, suppress
from typing import Any, TypeAlias

from midfold.gateway.rewriting import Rewrite
from midfold.providers import RelayAnswer, RelayBroken
from midfold.wire.apis import write_error_event

Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Header: TypeAlias = tuple[bytes, bytes]

_END_OF_EVENT = re.compile(rb"\n\n|\r\n\r\n|\r\r(?!\n)|\n\r\n")
MOST_HELD_BYTES = 256 * 1024
"""Of an event that is not whole; a longer one is passed on in pieces."""
_PING = b": keep-alive\n\n"
_BAD_GATEWAY = 502
_OWN = b"x-midfold-"
_HARMLESS: tuple[Header, ...] = (
    (b"x-content-type-options", b"nosniff"),
    (b"content-security-policy", b"default-src 'none'; sandbox"),
)


class ClientStalled(Exception):
    """The client reads nothing, so that its answer is given up."""


class AnswerCut(Exception):
    """The answer broke off where nothing more can be said, so that the connection has to be closed."""


_PIECE_BYTES = 16 * 1024
"""Written at once, so that who reads slowly is not taken for who reads nothing."""


class ClientLine:
    """The way back to one client; a message that it does not take in time ends it."""

    def __init__(self, send: Send, stall_seconds: float) -> None:
        self._send = send
        self._stall_seconds = stall_seconds
        self._clock = asyncio.get_running_loop().time
        self._written_at = self._clock()
        self._is_writing = False
        self.has_started = False
        self.has_ended = False
        self.is_stream = False
        """whether it carries events, so that an error may be the last one"""

    @property
    def idle_seconds(self) -> float:
        """The time since something was written; none while something is."""
        return 0.0 if self._is_writing else self._clock() - self._written_at

    async def start(self, status: int, headers: Iterable[Header]) -> None:
        self.has_started = True
        await self._say({"type": "http.response.start", "status": status, "headers": list(headers)})

    async def write(self, data: bytes) -> None:
        if data:
            for start in range(0, len(data), _PIECE_BYTES):
                piece = data[start : start + _PIECE_BYTES]
                await self._say({"type": "http.response.body", "body": piece, "more_body": True})

    async def end(self) -> None:
        self.has_ended = True
        await self._say({"type": "http.response.body", "body": b"", "more_body": False})

    async def _say(self, message: MutableMapping[str, Any]) -> None:
        self._is_writing = True
        try:
            async with asyncio.timeout(self._stall_seconds):
                await self._send(message)
        except TimeoutError:
            raise ClientStalled from None
        finally:
            self._is_writing = False
            self._written_at = self._clock()


class EventGate:
    """Lets whole events through; what has begun and not ended waits."""

    def __init__(self) -> None:
        self._held = b""

    @property
    def is_between_events(self) -> bool:
        return not self._held

    def feed(self, chunk: bytes) -> bytes:
        """Take the next bytes and return what may go on."""
        data = self._held + chunk if self._held else chunk
        if data.endswith(b"\n\n") or len(data) > MOST_HELD_BYTES:
            self._held = b""
            return data
        # An end may begin in what was held back, but not before its last bytes.
        end = _last_end(data)
        self._held = data[end:]
        return data[:end]

    def close(self) -> bytes:
        """Return what is left at the end of the stream."""
        held, self._held = self._held, b""
        return held


def _last_end(data: bytes) -> int:
    """Return where the last whole event ends."""
    ends = [data.rfind(mark) + len(mark) for mark in (b"\n\n", b"\r\n\r\n") if mark in data]
    if not ends:
        ends = [found.end() for found in _END_OF_EVENT.finditer(data)]
    return max(ends, default=0)


async def deliver(
    answer: RelayAnswer,
    line: ClientLine,
    *,
    dialect: str,
    extra: Iterable[Header] = (),
    rewrite: Rewrite | None = None,
    ping_seconds: float | None = None,
) -> None:
    """Pass an answer on to its end; raises `ClientStalled` and `AnswerCut`.

    What the upstream does not finish ends with an error in the words of the dialect, where there is a way to
    say it: in a stream of events that is not packed. `ping_seconds` is `None` where nothing may be added.
    """
    is_plain = _header(answer.headers, b"content-encoding").lower() in (b"", b"identity")
    is_stream = is_plain and is_event_stream(answer.headers)
    headers, line.is_stream = answer.headers, is_stream
    if rewrite is not None and is_plain:
        headers = tuple(pair for pair in headers if pair[0].lower() != b"content-length")
    await line.start(answer.status, safe_headers(headers, extra))
    async with aclosing(answer.chunks()) as chunks:
        try:
            if is_stream:
                await _deliver_events(chunks, line, rewrite, ping_seconds)
            else:
                await _deliver_bytes(chunks, line, rewrite if is_plain else None)
        except RelayBroken as error:
            if not is_stream:
                raise AnswerCut from None
            await line.write(write_error_event(dialect, _BAD_GATEWAY, _explain(error)))
    await line.end()


def safe_headers(headers: Iterable[Header], extra: Iterable[Header]) -> list[Header]:
    """Return the headers of an upstream's answer, and `extra` of ours.

    It comes from the address of the dashboard: it sets no cookie and none of our headers, and a page in it,
    such as of an error, runs nothing.
    """
    kept = [
        pair for pair in headers if pair[0].lower() != b"set-cookie" and not pair[0].lower().startswith(_OWN)
    ]
    return [*kept, *_HARMLESS, *extra]


def is_event_stream(headers: Iterable[Header]) -> bool:
    """Whether an answer is a stream of events."""
    return _header(headers, b"content-type").lower().startswith(b"text/event-stream")


def _explain(error: RelayBroken) -> str:
    return f"the upstream did not finish its answer: {error.message}"


async def _deliver_bytes(
    chunks: AsyncGenerator[bytes, None], line: ClientLine, rewrite: Rewrite | None
) -> None:
    if rewrite is None:
        async for chunk in chunks:
            await line.write(chunk)
    else:
        await line.write(rewrite.whole(b"".join([chunk async for chunk in chunks])))


async def _deliver_events(
    chunks: AsyncGenerator[bytes, None],
    line: ClientLine,
    rewrite: Rewrite | None,
    ping_seconds: float | None,
) -> None:
    gate = EventGate()
    async with keep_alive(line, gate, ping_seconds):
        async for chunk in chunks:
            ready = gate.feed(chunk)
            await line.write(rewrite.events(ready) if rewrite is not None else ready)
    rest = gate.close()
    await line.write(rewrite.events(rest) if rewrite is not None else rest)


@asynccontextmanager
async def keep_alive(line: ClientLine, gate: EventGate, ping_seconds: float | None) -> AsyncIterator[None]:
    """Write a comment after each silence between two events, which no reader of events takes for one."""
    if ping_seconds is None:
        yield
        return
    task = asyncio.create_task(_ping(line, gate, ping_seconds))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait({task})


async def _ping(line: ClientLine, gate: EventGate, seconds: float) -> None:
    with suppress(ClientStalled, OSError):  # who passes the answer on will notice
        while True:
            await asyncio.sleep(max(seconds - line.idle_seconds, seconds / 10))
            if line.idle_seconds >= seconds and gate.is_between_events:
                await line.write(_PING)


def _header(headers: Iterable[Header], name: bytes) -> bytes:
    return next((value for key, value in headers if key.lower() == name), b"").strip()
