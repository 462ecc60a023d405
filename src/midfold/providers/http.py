"""One pool of connections, and calls through it: no redirects, no cookies, no proxies from the environment.

This is the only module that knows the HTTP client. Its errors carry the headers of the request, and with them
the key, so they end here: what is raised in their place has no link to them.
"""

import asyncio
import io
import os
import socket
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Iterator, Mapping
from contextlib import aclosing, asynccontextmanager, contextmanager
from http import HTTPStatus
from ipaddress import ip_address
from itertools import count

import aiohttp
import aiohttp.abc
from yarl import URL

from midfold.errors import ConfigError
from midfold.providers.connection import DEFAULT_TIMEOUTS, ConnectionBroken, Timeouts
from midfold.providers.keys import MASK
from midfold.providers.relay_request import Upload
from midfold.providers.urls import check_address

DEFAULT_MAX_REPLY_BYTES = 64 * 1024 * 1024
DEFAULT_MAX_CONNECTIONS = 512
# Headers of an answer that is passed on: cookies and policies of large providers come to a few KB.
_MAX_HEADER_BYTES = 64 * 1024
_SWITCHING_PROTOCOLS = 101
_READ_BYTES = 16 * 1024
"""Read of an answer at once, and held before it is read: a client that reads slowly leaves it in memory."""


class Transport:
    """A pool of connections. It belongs to the event loop in which it is first used, and is closed there.

    With `public_only` it connects to addresses on the public internet alone, whatever a name resolves to:
    for base URLs that somebody else chose. `proxy` is a URL; the environment is not asked for one. The two
    exclude each other, as a proxy finds addresses by itself: that is a `ConfigError`.
    """

    def __init__(
        self,
        *,
        timeouts: Timeouts = DEFAULT_TIMEOUTS,
        proxy: str | None = None,
        public_only: bool = False,
        resolver: aiohttp.abc.AbstractResolver | None = None,
        max_reply_bytes: int = DEFAULT_MAX_REPLY_BYTES,
        max_connections: int = DEFAULT_MAX_CONNECTIONS,
    ) -> None:
        if proxy and public_only:
            raise ConfigError(
                "proxy", MASK, hint="none for public addresses only; it would look them up itself"
            )
        self._timeouts = timeouts
        self._proxy = proxy
        self._public_only = public_only
        self._resolver = resolver
        self._max_reply_bytes = max_reply_bytes
        self._max_connections = max_connections
        self._session: aiohttp.ClientSession | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_closed = False

    @property
    def is_closed(self) -> bool:
        """Whether it was closed, so that nothing can be sent any more."""
        return self._is_closed

    @asynccontextmanager
    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> AsyncIterator["Answer"]:
        """Send a request and give its answer, of which the status and the headers have arrived.

        Raises `ConnectionBroken`. What is not read of the answer is given up, and the connection with it.
        """
        # A buffer is sent piece by piece; megabytes at once would hold up the event loop.
        response = await self._send("POST", URL(url, encoded=True), _adding(headers), io.BytesIO(body))
        async with _open_until_left(response):
            yield Answer(response, self._timeouts, self._max_reply_bytes)

    @asynccontextmanager
    async def exchange(
        self,
        method: str,
        base_url: str,
        path: str,
        headers: Iterable[tuple[str, str]],
        upload: Upload,
    ) -> AsyncIterator["Answer"]:
        """Send a request whose every byte is the caller's and give its answer, whose bytes are the server's.

        `path` is appended to the base URL as it stands. Of the headers none but `Host` and the length of the
        body is added. The answer is not unpacked, and there is no limit to it. Raises `ConnectionBroken`;
        where the body could not be read, `upload.error` says why.
        """
        origin = URL(base_url, encoded=True)
        # All of it as one path: the parser of a URL drops a question mark that nothing follows.
        target = URL.build(
            scheme=origin.scheme, authority=origin.raw_authority, path=origin.raw_path + path, encoded=True
        )
        response = await self._send(method, target, _replacing(headers), upload, unpack=False)
        async with _open_until_left(response):
            if response.status == _SWITCHING_PROTOCOLS:
                raise ConnectionBroken("it switches protocols, which nobody asked for", may_pass=False)
            yield Answer(response, self._timeouts, max_bytes=None)

    async def aclose(self) -> None:
        """Close every connection, and make no further one."""
        self._is_closed = True
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def _send(
        self,
        method: str,
        target: URL,
        middleware: aiohttp.ClientMiddlewareType,
        body: io.BytesIO | Upload,
        *,
        unpack: bool = True,
    ) -> aiohttp.ClientResponse:
        self._check_literal(target.host or "")
        session = self._open_session()
        upload = body if isinstance(body, Upload) else None
        try:
            async with asyncio.timeout(self._timeouts.headers) as deadline:
                response = await session.request(
                    method,
                    target,
                    data=upload.start(deadline) if upload else body,
                    headers=upload.framing if upload else None,
                    skip_auto_headers=("Content-Type",),
                    middlewares=(middleware,),
                    allow_redirects=False,
                    proxy=self._proxy,
                    auto_decompress=unpack,
                    max_line_size=_MAX_HEADER_BYTES,
                    max_field_size=_MAX_HEADER_BYTES,
                )
                _limit_reading(response)
                return response
        except (aiohttp.ClientError, OSError, ValueError) as error:
            failure = self._describe_failure(error)
        raise failure

    def _describe_failure(self, error: Exception) -> ConnectionBroken:
        if isinstance(error, aiohttp.ConnectionTimeoutError):
            return ConnectionBroken(f"no connection within {self._timeouts.connect:g} s", may_pass=True)
        if isinstance(error, TimeoutError):
            # It has the request and is at work: asking again would cost as much and take as long.
            return ConnectionBroken(f"no answer within {self._timeouts.headers:g} s", may_pass=False)
        if isinstance(error, aiohttp.ClientConnectorError):
            reason = _reason_of(error)
            return ConnectionBroken(f"cannot connect to {error.host}:{error.port}: {reason}", may_pass=True)
        return ConnectionBroken(
            f"the connection broke before an answer came ({_name_of(error)})", may_pass=True
        )

    def _open_session(self) -> aiohttp.ClientSession:
        if self._is_closed:
            raise ConnectionBroken("its connections are closed", may_pass=False)
        loop = asyncio.get_running_loop()
        if self._session is None:
            self._loop = loop
            self._session = aiohttp.ClientSession(
                connector=self._make_connector(),
                cookie_jar=aiohttp.DummyCookieJar(),
                timeout=aiohttp.ClientTimeout(total=None, connect=self._timeouts.connect),
                trust_env=False,
                read_bufsize=_READ_BYTES,
            )
        if self._loop is not loop:
            raise RuntimeError("this model is open in another event loop; open one in each")
        return self._session

    def _check_literal(self, host: str) -> None:
        """Refuse a private address that is written out: no resolver is asked about it."""
        if self._public_only and _is_address(host) and not check_address(host):
            raise ConnectionBroken(f"{host} is not a public address", may_pass=False)

    def _make_connector(self) -> aiohttp.TCPConnector:
        resolver = self._resolver
        if self._public_only:
            resolver = PublicResolver(resolver or aiohttp.ThreadedResolver())
        return aiohttp.TCPConnector(limit=self._max_connections, resolver=resolver)


class Answer:
    """An answer whose body is yet to be read."""

    def __init__(self, response: aiohttp.ClientResponse, timeouts: Timeouts, max_bytes: int | None) -> None:
        self.status = response.status
        self.reason = response.reason or ""
        self.headers: Mapping[str, str] = response.headers
        self.raw_headers = response.raw_headers
        """The headers as the server wrote and ordered them, as often as it sent each."""
        self._content = response.content
        self._idle_seconds = timeouts.idle
        self.error_seconds = timeouts.error_body
        self._max_bytes = max_bytes

    @property
    def is_success(self) -> bool:
        """Whether this is what was asked for."""
        return HTTPStatus.OK <= self.status < HTTPStatus.MULTIPLE_CHOICES

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """Yield the body as it arrives; raises `ConnectionBroken`."""
        size = 0
        while chunk := await self.next_chunk():
            size += len(chunk)
            if self._max_bytes is not None and size > self._max_bytes:
                raise ConnectionBroken(f"the answer is larger than {self._max_bytes:,} bytes", may_pass=False)
            yield chunk

    async def read(self) -> bytes:
        """Return the whole body; raises `ConnectionBroken`."""
        return b"".join([chunk async for chunk in self.chunks()])

    async def read_error(self, max_bytes: int) -> bytes:
        """Return the start of an error's body, and what there is of it where the rest is late or missing."""
        found = bytearray()
        try:
            async with asyncio.timeout(self.error_seconds), aclosing(self.chunks()) as chunks:
                async for chunk in chunks:
                    found += chunk
                    if len(found) >= max_bytes:
                        break
        except (ConnectionBroken, TimeoutError):
            pass
        return bytes(found[:max_bytes])

    async def next_chunk(self) -> bytes:
        """Return what has arrived, empty at the end; raises `ConnectionBroken`."""
        if self._content.exception() is not None and (rest := self._take_rest()):
            return rest
        try:
            async with asyncio.timeout(self._idle_seconds):
                return await self._content.read(_READ_BYTES)
        except TimeoutError:
            failure = ConnectionBroken(f"nothing more came for {self._idle_seconds:g} s", may_pass=False)
        except (aiohttp.ClientError, OSError, RuntimeError, ValueError) as error:
            # Reading on from a connection that was closed in between is a RuntimeError.
            failure = ConnectionBroken(f"the answer broke off ({_name_of(error)})", may_pass=True)
        raise failure

    def _take_rest(self) -> bytes:
        """Return what had arrived before the answer broke off; the client would throw it away."""
        error = self._content.exception()
        self._content.set_exception(None)  # type: ignore[arg-type]
        rest = self._content.read_nowait()
        if error is not None:
            self._content.set_exception(error)
        return rest


def _limit_reading(response: aiohttp.ClientResponse) -> None:
    """Take no more from the system at once than is held; asyncio takes 256 KB."""
    transport = response.connection.transport if response.connection is not None else None
    if isinstance(getattr(transport, "max_size", None), int):
        transport.max_size = _READ_BYTES  # type: ignore[union-attr]


def _replacing(headers: Iterable[tuple[str, str]]) -> aiohttp.ClientMiddlewareType:
    """Put the headers in place of the client's own, but for the host and the framing of the body.

    The client would send some requests twice; the second time comes through here, and no further.
    """
    calls = count()

    async def put(request: aiohttp.ClientRequest, send: aiohttp.ClientHandlerType) -> aiohttp.ClientResponse:
        if next(calls):
            raise aiohttp.ServerDisconnectedError
        kept = [(name, request.headers[name]) for name in _FRAMING if name in request.headers]
        request.headers.clear()
        request.headers.extend(kept)
        request.headers.extend(headers)
        return await send(request)

    return put


_FRAMING = ("Host", "Content-Length", "Transfer-Encoding")


@asynccontextmanager
async def _open_until_left(response: aiohttp.ClientResponse) -> AsyncIterator[None]:
    """Give up what is not read of an answer, or not sent of its request, and the connection with it."""
    try:
        with _ending_with_its_connection(response):
            yield
    finally:
        connection = response.connection
        if connection is not None and connection.transport is not None:
            # Closing would wait until all that is buffered is sent, and a server that refuses reads no more.
            connection.transport.abort()
        response.release()


def _adding(headers: Mapping[str, str]) -> aiohttp.ClientMiddlewareType:
    """Add the headers when all else is ready: given before, they would stand in frames of the client."""

    async def add(request: aiohttp.ClientRequest, send: aiohttp.ClientHandlerType) -> aiohttp.ClientResponse:
        request.headers.update(headers)
        return await send(request)

    return add


@contextmanager
def _ending_with_its_connection(response: aiohttp.ClientResponse) -> Iterator[None]:
    """Fail the body when the connection is lost: after a malformed chunk nothing else stops the reader."""

    def fail(lost: asyncio.Future[None] | None) -> None:
        if lost is not None:
            lost.exception()  # it is looked at, so that nobody complains that it was not
        if not response.content.is_eof() and response.content.exception() is None:
            response.content.set_exception(aiohttp.ClientPayloadError())

    protocol = response.connection.protocol if response.connection is not None else None
    closed = protocol.closed if protocol is not None else None
    if closed is None:
        fail(closed)  # it was lost while the headers were read, unless all has arrived
        yield
        return
    closed.add_done_callback(fail)
    try:
        yield
    finally:
        closed.remove_done_callback(fail)


class PublicResolver(aiohttp.abc.AbstractResolver):
    """Resolves names to public addresses alone.

    It is asked for every new connection, which then goes to the very address it returned: a name that points
    elsewhere the second time gains nothing.
    """

    def __init__(self, inner: aiohttp.abc.AbstractResolver) -> None:
        self._inner = inner

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[aiohttp.abc.ResolveResult]:
        found = await self._inner.resolve(host, port, family)
        if not all(check_address(result["host"]) for result in found):
            raise OSError(None, f"{host} has an address that is not public")
        return found

    async def close(self) -> None:
        await self._inner.close()


def _reason_of(error: aiohttp.ClientConnectorError) -> str:
    """Say in the system's words why there is no connection; those of the client repeat the address."""
    if error.errno is not None and error.errno > 0:
        return os.strerror(error.errno)
    return error.strerror or _name_of(error.os_error)


def _name_of(error: Exception) -> str:
    """Name an error by its kind: its words may hold what was sent."""
    return type(error).__name__


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
