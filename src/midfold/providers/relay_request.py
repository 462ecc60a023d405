"""A client's request that is passed on: its target, its headers and its body.

Some headers belong to one connection alone; they go no further, in either direction.
"""

import asyncio
import io
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator, Mapping
from contextlib import suppress
from math import inf
from urllib.parse import unquote

from midfold.errors import MidfoldError
from midfold.late_dataclasses import dataclass
from midfold.late_patterns import compile_late

CREDENTIAL_HEADERS = frozenset({"authorization", "x-api-key", "api-key", "x-goog-api-key"})
"""The headers in which clients bring a key."""

_HOP_BY_HOP = frozenset(
    {"connection", "http2-settings", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade"}
)
# Written anew for the upstream; and cookies, which are between a client and the server it talks to.
_OURS = frozenset({"host", "content-length", "expect", "cookie"})
_NAME = compile_late(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_UNFIT_VALUE = compile_late(r"[\x00-\x08\x0a-\x1f\x7f]")
_METHOD = compile_late(r"[A-Z][A-Z-]{0,31}")
_UNFIT_PATH = compile_late(r"[^!-~]|[\\#]")
_SEPARATOR = compile_late(r"[/\\]")
_CONTROL = compile_late(r"[\x00-\x1f\x7f]")
# Servers behind servers each decode once; a path that is still encoded after this is nobody's.
_MOST_DECODINGS = 4

Header = tuple[bytes | str, bytes | str]


class RequestRefused(MidfoldError):
    """A request is not passed on, as it cannot be, or would go elsewhere than to its upstream."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"the request is not passed on: {reason}")
        self.reason = reason


@dataclass(frozen=True, slots=True, repr=False)
class RelayRequest:
    """A client's request. Query, headers and body may hold keys, so a repr leaves them out.

    `path` is what follows the base URL of the upstream, query included, percent-encoded as it came. Headers
    are pairs in the client's order; bytes are taken as UTF-8. Beside an iterator, `length` is the number of
    its bytes, where it is known: otherwise they are sent in chunks.
    """

    method: str
    path: str
    headers: Iterable[Header] | Mapping[str, str] = ()
    body: bytes | AsyncIterable[bytes] = b""
    length: int | None = None

    def __repr__(self) -> str:
        return f"RelayRequest({self.method} {self.path.partition('?')[0]})"


class HeaderPairs:
    """Headers to be sent, each as often as it stands there; a repr has their names alone."""

    __slots__ = ("_pairs",)

    def __init__(self, pairs: Iterable[tuple[str, str]]) -> None:
        self._pairs = tuple(pairs)

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return iter(self._pairs)

    def __repr__(self) -> str:
        return f"HeaderPairs({', '.join(name for name, _ in self._pairs)})"


class Upload:
    """A body, and what went wrong while its pieces came; used once.

    `length` is how many bytes the pieces come to, where the client says so.
    """

    def __init__(self, body: bytes | AsyncIterable[bytes], length: int | None = None) -> None:
        self.error: Exception | None = None
        self._body = body
        self._length = None if isinstance(body, bytes) else length

    @property
    def framing(self) -> dict[str, str]:
        """The length, where the body itself does not show it."""
        return {} if self._length is None else {"Content-Length": str(self._length)}

    def start(self, deadline: asyncio.Timeout) -> io.BytesIO | AsyncIterator[bytes] | None:
        """Return the body in the form that is sent; each piece puts off the deadline by as much again."""
        if isinstance(self._body, bytes):
            # A buffer is sent piece by piece; megabytes at once would hold up the event loop.
            return io.BytesIO(self._body) if self._body else None
        return self._pieces(self._body, deadline)

    async def _pieces(self, pieces: AsyncIterable[bytes], deadline: asyncio.Timeout) -> AsyncIterator[bytes]:
        clock = asyncio.get_running_loop().time
        end = deadline.when()
        patience = None if end is None else end - clock()
        left: float = inf if self._length is None else self._length
        try:
            async for piece in pieces:
                if patience is not None:
                    with suppress(RuntimeError):  # the answer came before all was sent
                        deadline.reschedule(clock() + patience)
                left -= len(piece)
                if left < 0:
                    break
                yield piece
        except Exception as error:
            self.error = error
            raise
        if left not in (0, inf):
            self.error = RequestRefused("its body is not as long as it says")
            raise self.error


def check_target(request: RelayRequest) -> None:
    """Raise `RequestRefused` unless method and path are fit to be appended to a base URL.

    A path goes down from the base and nowhere else, however often it is decoded on its way. What stands in
    the query is the upstream's to read.
    """
    if not _METHOD.fullmatch(request.method) or request.method in ("CONNECT", "TRACE"):
        raise RequestRefused("its method is none that an API has")
    if _UNFIT_PATH.search(request.path):
        raise RequestRefused("its path is not of visible ASCII characters, or has a backslash or a #")
    if not request.path.startswith("/") or request.path.startswith("//"):
        raise RequestRefused("its path does not start with one slash")
    path = request.path.partition("?")[0]
    for _ in range(_MOST_DECODINGS):
        if any(part.partition(";")[0] in (".", "..") for part in _SEPARATOR.split(path)):
            raise RequestRefused("its path leaves the base URL")
        if _CONTROL.search(path):
            raise RequestRefused("its path has a control character")
        decoded = unquote(path, "latin-1")
        if decoded == path:
            return
        path = decoded
    raise RequestRefused("its path is encoded over and over")


def client_headers(request: RelayRequest) -> list[tuple[str, str]]:
    """Return the headers of a client that are meant for the upstream; raises `RequestRefused`."""
    given = request.headers.items() if isinstance(request.headers, Mapping) else request.headers
    pairs = [(_name(name), _value(value)) for name, value in given]
    dropped = _named_by_connection(pairs) | _OURS
    return [(name, value) for name, value in pairs if not _is_dropped(name.lower(), dropped)]


def replace_credentials(
    headers: Iterable[tuple[str, str]], own: Iterable[tuple[str, str]]
) -> list[tuple[str, str]]:
    """Return the headers with our credentials in place of all that the client brought."""
    kept = [(name, value) for name, value in headers if name.lower() not in CREDENTIAL_HEADERS]
    return [*kept, *((name, value) for name, value in own if name.lower() in CREDENTIAL_HEADERS)]


def answer_headers(raw: Iterable[tuple[bytes, bytes]]) -> tuple[tuple[bytes, bytes], ...]:
    """Return the headers of an answer that are meant for the client, each as often as it came.

    Without its chunks a chunked body has no length but the one that the connection to the client gives it.
    """
    pairs = tuple(raw)
    named = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in pairs]
    dropped = _named_by_connection(named)
    if any(name.lower() == "transfer-encoding" for name, _ in named):
        dropped |= {"content-length"}
    return tuple(pair for pair in pairs if not _is_dropped(pair[0].decode("latin-1").lower(), dropped))


def _is_dropped(name: str, dropped: frozenset[str]) -> bool:
    return name in _HOP_BY_HOP or name in dropped or name.startswith("proxy-")


def _named_by_connection(pairs: Iterable[tuple[str, str]]) -> frozenset[str]:
    """Return the headers that `Connection` declares to be of one connection alone."""
    lists = (value.split(",") for name, value in pairs if name.lower() == "connection")
    return frozenset(name.strip().lower() for names in lists for name in names)


def _name(name: bytes | str) -> str:
    text = name.decode("latin-1") if isinstance(name, bytes) else name
    if not _NAME.fullmatch(text):
        raise RequestRefused("a header has a name that HTTP does not allow")
    return text


def _value(value: bytes | str) -> str:
    try:
        text = value.decode() if isinstance(value, bytes) else value
        text.encode()
    except UnicodeError:
        raise RequestRefused("a header is not UTF-8") from None
    if _UNFIT_VALUE.search(text):
        raise RequestRefused("a header has a control character")
    return text
