"""Reads an answer on the side while it is passed on: the words of the model, and the tokens they used.

Nothing that happens here reaches the answer itself. An answer that cannot be read, or is too much to be read,
is noted in the observation, and the bytes go on.
"""

from http import HTTPStatus

from midfold.late_dataclasses import dataclass
from midfold.messages import Reasoning, Text
from midfold.providers.decoder import Decoder, Undecodable
from midfold.tokens import CanonicalUsage
from midfold.wire import StreamTooLong, Unreadable
from midfold.wire.apis import Api, Completion, ReplyError, StreamReader, read_reply, stated_status
from midfold.wire.failures import Failure, classify

MAX_REPLY_BYTES = 16 * 1024 * 1024
"""Of a reply that comes as one piece of JSON; images make it this large."""
MAX_STREAM_BYTES = 128 * 1024 * 1024
"""Of a stream, of which a token takes 200 to 400 bytes on its way and a few once it is read."""
MAX_FAILURE_BYTES = 1024 * 1024

_NOTHING = "this path answers with no completion"
# What may stand before the first byte that counts: a byte order mark, and blanks.
_BLANK = b"\xef\xbb\xbf \t\r\n"


@dataclass(frozen=True, slots=True)
class Observation:
    """The facts that were read of an answer that was passed on."""

    completion: Completion | None = None
    """The turn, or as much of it as came: then `complete` is false and its finish is `Finish.CUT`."""
    usage: CanonicalUsage | None = None
    """`None` where the provider reported none."""
    failure: Failure | None = None
    """The failure that the provider reports, with an error status or inside of a 200."""
    complete: bool = False
    """Whether the answer came to its end: where it is a reply, to the end of what the model said."""
    reason: str = ""
    """Why there is no completion, or not all of it; empty where there is nothing to say."""


class Observer:
    """Takes a copy of every chunk of one answer. It never raises, and what it keeps is bounded.

    `api` is the one that the request was for, `None` where its answer is no completion; `output_cap` the most
    tokens it asked for.
    """

    def __init__(
        self,
        api: Api | None,
        status: int = 200,
        *,
        encoding: str = "",
        output_cap: int | None = None,
        max_reply_bytes: int = MAX_REPLY_BYTES,
        max_stream_bytes: int = MAX_STREAM_BYTES,
    ) -> None:
        self._reader = _open_reader(api, status, output_cap, max_reply_bytes, max_stream_bytes)
        self._decoder: Decoder | None = None
        self._stopped = ""
        self._observation: Observation | None = None
        try:
            self._decoder = Decoder(encoding) if self._reader is not None else None
        except Undecodable as error:
            self._stopped = str(error)

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes, as they travel."""
        if self._reader is None or self._decoder is None:
            return
        try:
            for piece in self._decoder.decode(chunk):
                self._reader.feed(piece)
        except Exception as error:  # noqa: BLE001 - whatever a provider sends, the answer goes on
            self._stopped = _describe(error)
            self._decoder = None

    def finish(self, *, broken: str | None = None) -> Observation:
        """Say what was read, once the answer has ended, or broke off for the reason given.

        Said once, it stays so.
        """
        if self._observation is None:
            try:
                self._observation = self._observe(broken)
            except Exception as error:  # noqa: BLE001 - as above
                self._observation = Observation(reason=_describe(error))
            self._reader = self._decoder = None
        return self._observation

    def _observe(self, broken: str | None) -> Observation:
        if self._reader is None:
            return Observation(complete=broken is None, reason=broken or _NOTHING)
        if self._stopped:
            return _unfinished(self._reader.partial(), self._stopped)
        return self._reader.finish(broken)


def _describe(error: Exception) -> str:
    if isinstance(error, Undecodable | StreamTooLong | Unreadable | _TooMuch):
        return str(error)
    return f"the answer could not be read ({type(error).__name__})"


class _TooMuch(Exception):
    def __init__(self, max_bytes: int) -> None:
        super().__init__(f"the answer is larger than the {max_bytes:,} bytes that are read of it")


class _ReplyReader:
    """Reads a reply: JSON, or a stream, which shows in its first byte whatever the headers say."""

    def __init__(self, api: Api, output_cap: int | None, max_reply_bytes: int, max_stream_bytes: int) -> None:
        self._api = api
        self._output_cap = output_cap
        self._max_bytes = max_stream_bytes
        self._max_reply_bytes = max_reply_bytes
        self._size = 0
        self._stream: StreamReader | None = StreamReader(api, output_cap=output_cap)
        self._whole = bytearray()
        self._has_begun = False
        self._error: ReplyError | None = None

    def feed(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._size > self._max_bytes:
            raise _TooMuch(self._max_bytes)
        if not self._has_begun:
            piece = self._begin(piece)
        if self._stream is None:
            self._whole += piece
        elif self._error is None:
            try:
                for _ in self._stream.feed(piece):
                    pass
            except ReplyError as error:
                self._error = error

    def _begin(self, piece: bytes) -> bytes:
        """Return the piece from the first byte on that counts."""
        start = piece.lstrip(_BLANK)
        self._has_begun = bool(start)
        if start.startswith((b"{", b"[", b"<")):
            self._stream = None
            self._max_bytes = self._max_reply_bytes
        return start

    def finish(self, broken: str | None) -> Observation:
        try:
            completion = self._read(broken)
        except ReplyError as error:
            failure = classify(stated_status(error.error), error.body)
            return _unfinished(self.partial(), "the provider failed", failure)
        except (Unreadable, StreamTooLong) as error:
            return _unfinished(self.partial(), broken or str(error))
        return Observation(completion, _usage_of(completion), complete=True)

    def _read(self, broken: str | None) -> Completion:
        if self._stream is None:
            if broken is not None:
                raise Unreadable(broken)
            return read_reply(self._api, bytes(self._whole), output_cap=self._output_cap)
        if self._error is not None:
            raise self._error
        if broken is None:
            for _ in self._stream.finish():
                pass
        elif not self._stream.is_over:
            raise Unreadable(broken)
        return self._stream.completion()

    def partial(self) -> Completion | None:
        """Return what came of a stream; half a piece of JSON makes no sense."""
        return self._stream.partial() if self._stream is not None and self._has_begun else None


class _FailureReader:
    """Reads the start of an answer whose status says that the request failed."""

    def __init__(self, status: int) -> None:
        self._status = status
        self._body = bytearray()

    def feed(self, piece: bytes) -> None:
        self._body += piece[: MAX_FAILURE_BYTES - len(self._body)]

    def finish(self, broken: str | None) -> Observation:
        failure = classify(self._status, bytes(self._body))
        return Observation(
            failure=failure, complete=broken is None, reason=broken or f"status {self._status}"
        )

    def partial(self) -> None:
        return None


def _open_reader(
    api: Api | None, status: int, output_cap: int | None, max_reply_bytes: int, max_stream_bytes: int
) -> _ReplyReader | _FailureReader | None:
    if status >= HTTPStatus.BAD_REQUEST:
        return _FailureReader(status)
    if api is None or status != HTTPStatus.OK:
        return None
    return _ReplyReader(api, output_cap, max_reply_bytes, max_stream_bytes)


def _unfinished(partial: Completion | None, reason: str, failure: Failure | None = None) -> Observation:
    """Keep what was said, if anything was, and what the provider had reported by then."""
    if partial is None:
        return Observation(failure=failure, reason=reason)
    parts = (part for message in partial.messages for part in message.parts)
    is_something = any(part not in (Text(""), Reasoning("")) for part in parts)
    return Observation(partial if is_something else None, _usage_of(partial), failure, reason=reason)


def _usage_of(completion: Completion) -> CanonicalUsage | None:
    return completion.usage if completion.raw_usage is not None else None
