"""The answers that an upstream can give, and the faults that they can meet on their way.

An answer is *what* is said: a `Reply` of a model, an `HttpStatus` with some body, or `Raw` bytes that need
not be HTTP. Each carries a `DeliveryFault`, which is *how* it is sent, so that any answer can meet any fault.
"""

from collections.abc import Callable, Mapping, Sequence
from enum import Enum, StrEnum
from typing import TypeAlias

from midfold.late_dataclasses import dataclass, field
from midfold.messages import ToolCall
from midfold.testing.upstream.received import Received
from midfold.tokens import CanonicalUsage


class Ending(Enum):
    """The state of the connection after an answer."""

    KEEP = "kept for the next request"
    CLOSE = "closed in order"
    RESET = "reset, as by a crashed peer"
    STALL = "left open, and nothing more is said"


class Framing(Enum):
    """The sign by which a client knows where a body ends."""

    LENGTH = "a Content-Length"
    CHUNKED = "chunks"
    BROKEN_CHUNKS = "chunks, of which the second has no readable size"
    UNTIL_CLOSE = "HTTP/1.0: no length, the body ends with the connection"


class UsageReport(Enum):
    """The usage that a reply reports."""

    COUNTED = "what was counted"
    LOW = "a tenth of it"
    HIGH = "ten times as much"
    MISSING = "nothing"


class FinishReason(StrEnum):
    """Why a model stopped, written by each API in its own way."""

    STOP = "stop"
    CALLS = "calls"
    LENGTH = "length"
    FILTER = "filter"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryFault:
    """The delivery of an answer. Left alone, it is sent at once, whole and correct.

    Bytes are those of the body as it travels (compressed if `gzip`), without the framing around them.
    """

    headers_seconds: float = 0
    """The wait before the status line."""
    chunk_seconds: float = 0
    """The wait before every piece of the body but the first; a stream has a piece for each event."""
    pieces: Sequence[int] = ()
    """Write the body in pieces of these many bytes, over and over, whatever events they cut through."""
    cut_at: int | None = None
    """Send no more than so many bytes of the body, then only `ending`."""
    ending: Ending | None = None
    """By default the connection is kept, or closed where the body was cut or has no proper end."""
    framing: Framing | None = None
    """By default a length for a plain answer, chunks for a stream."""
    length_off_by: int = 0
    """Promise so many bytes more than there are, or fewer; the connection is closed after the last one."""
    gzip: bool = False

    def __post_init__(self) -> None:
        if any(size < 1 for size in self.pieces):
            raise ValueError(f"pieces are {self.pieces!r}; expected sizes of at least one byte")


_NO_FAULT = DeliveryFault()


@dataclass(frozen=True, slots=True)
class ApiError:
    """An error of the provider, put into the envelope of the API it is met in."""

    message: str = "The server is overloaded, try again later."
    type: str = "overloaded_error"
    code: str | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """A model's answer, in the grammar of whichever API asked, as a stream or as a whole.

    With `error` it breaks off: a stream gives all its words and then the error instead of an end, a plain
    answer is a 200 with the error for a body. `finish` follows from the contents; any other text is
    passed on as it is.
    """

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    reasoning: str = field(default="", kw_only=True)
    usage: CanonicalUsage | UsageReport = field(default=UsageReport.COUNTED, kw_only=True)
    finish: str | None = field(default=None, kw_only=True)
    error: ApiError | None = field(default=None, kw_only=True)
    headers: Mapping[str, str] = field(default_factory=dict, kw_only=True)
    fault: DeliveryFault = field(default=_NO_FAULT, kw_only=True)

    @property
    def why(self) -> str:
        """The finish as scripted, or as it follows from the contents."""
        return self.finish or (FinishReason.CALLS if self.calls else FinishReason.STOP)


@dataclass(frozen=True, slots=True)
class HttpStatus:
    """An HTTP answer that is no reply. Without a `body` it is the API's error envelope around `error`.

    A mapping is sent as JSON, text and bytes as they are.
    """

    status: int
    body: Mapping[str, object] | str | bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    error: ApiError | None = field(default=None, kw_only=True)
    fault: DeliveryFault = field(default=_NO_FAULT, kw_only=True)


@dataclass(frozen=True, slots=True)
class Raw:
    """Bytes in place of an HTTP answer. The connection is closed after them."""

    data: bytes
    fault: DeliveryFault = field(default=_NO_FAULT, kw_only=True)


Answer: TypeAlias = Reply | HttpStatus | Raw
Script: TypeAlias = Sequence[Answer] | Answer | Callable[[Received], Answer]

HANG_UP = Raw(b"")
"""Read the request and close the connection."""
RESET = Raw(b"", fault=DeliveryFault(ending=Ending.RESET))
"""Read the request and reset the connection."""
NEVER = Raw(b"", fault=DeliveryFault(ending=Ending.STALL))
"""Read the request and say nothing, until the client goes."""


def echo(received: Received) -> Reply:
    """Answer with the newest words of the user."""
    words = (message.text for message in reversed(received.messages) if message.role == "user")
    return Reply(next(filter(None, words), "Nothing was asked."))


def redirect(location: str, status: int = 307) -> HttpStatus:
    """Send the client elsewhere."""
    return HttpStatus(status, "", {"Location": location})
