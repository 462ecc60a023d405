"""The gateway as an ASGI application: reads requests, checks who may, and sees each to its end.

A client that goes away cancels its request, and with it the upstream's work. Errors of ours are answered in
the words of the API that was called.
"""

import asyncio
import json
import logging
import math
from collections.abc import Mapping, MutableMapping
from contextlib import suppress
from typing import Any, TypeAlias

from midfold.concurrency import run_in_thread
from midfold.errors import MidfoldError, ProviderError
from midfold.gateway.access import Caller, Refusal, refuse_leak
from midfold.gateway.admin import AdminApp, PeopleRequest
from midfold.gateway.bodies import (
    MOST_VALUES,
    BodyRefused,
    ClientLeft,
    Receive,
    check_values,
    read_body,
    unpack_body,
)
from midfold.gateway.exchange import ClientRequest, RequestExchange, status_of
from midfold.gateway.gateway import Gateway
from midfold.gateway.logs import FACTS
from midfold.gateway.routes import NoRoute, Route, RouteAction, find_route
from midfold.gateway.settings import UpstreamSettings
from midfold.gateway.streaming import AnswerCut, ClientLine, ClientStalled, Header, Send
from midfold.gateway.turns import HostileRequest
from midfold.keys import KeyGate, OverBudget
from midfold.late_dataclasses import dataclass
from midfold.providers import KeySource, RequestRefused
from midfold.wire.apis import write_error, write_error_event

log = logging.getLogger("midfold.gateway")

Scope: TypeAlias = MutableMapping[str, Any]

_MAX_HEADER_BYTES = 64 * 1024
_RETRY_SECONDS = 5
_STOPPING = "the gateway is stopping; send the request again"


@dataclass(frozen=True, slots=True)
class _Admitted:
    """A request that is served: who sends it, and where it goes."""

    caller: Caller
    upstream: UpstreamSettings


class GatewayApp:
    """Serves clients; `gateway` does the work. One event loop, any ASGI server."""

    def __init__(self, gateway: Gateway) -> None:
        self.gateway = gateway
        self._tasks: dict[asyncio.Task[None], ClientLine] = {}
        self._is_stopping = False
        self._admin: AdminApp | None = None
        self._gate = KeyGate()
        self._reading = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        match scope["type"]:
            case "lifespan":
                await self._live(receive, send)
            case "http":
                await self._count(scope, receive, send)
            case "websocket":
                await receive()
                await send({"type": "websocket.close", "code": 1008})
            case kind:
                raise ValueError(f"nothing serves {kind!r}")

    @property
    def open_requests(self) -> int:
        """The number of requests under way."""
        return len(self._tasks)

    async def stop(self) -> None:
        """Take no more requests, wait for those under way, and end those that take too long."""
        self._is_stopping = True
        if self._admin is not None:
            self._admin.stop()
        tasks = set(self._tasks)
        if tasks:
            await asyncio.wait(tasks, timeout=self.gateway.settings.gateway.stop_seconds)
        left = dict(self._tasks)
        for task in left:
            task.cancel()
        if left:
            await asyncio.wait(set(left))

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        try:
            await self.gateway.open()
        except MidfoldError as error:
            await send({"type": "lifespan.startup.failed", "message": str(error)})
            return
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await self.stop()
        await self.gateway.aclose()
        await send({"type": "lifespan.shutdown.complete"})

    async def _count(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request, and count it by its kind and status."""
        await self.gateway.open()
        started, status = asyncio.get_running_loop().time(), 0
        facts: dict[str, object] = {}

        async def watched(message: MutableMapping[str, Any]) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        try:
            await self._serve(scope, receive, watched, facts)
        finally:
            kind = "model" if scope["path"].startswith("/v1/") else "people"
            seconds = asyncio.get_running_loop().time() - started
            self.gateway.parts.metrics.count_request(kind, status, seconds)
            told = {"kind": kind, "method": scope["method"], "status": status, "seconds": round(seconds, 3)}
            words = "%s %s %d in %.3f s"
            asked = facts.get("route", "?")
            log.info(words, scope["method"], asked, status, seconds, extra={FACTS: {**told, **facts}})

    async def _serve(self, scope: Scope, receive: Receive, send: Send, facts: dict[str, object]) -> None:
        """Serve a request; `facts` are filled in for the log, from tables of ours alone."""
        line = ClientLine(send, self.gateway.settings.gateway.stall_seconds)
        raw_headers: tuple[Header, ...] = tuple(
            (bytes(name), bytes(value)) for name, value in scope["headers"]
        )
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in raw_headers}
        sent = [name.lower() for name, _ in raw_headers]
        # Of two, servers on the way may have checked the other one.
        headers |= {name: "?" for name in ("host", "origin") if sent.count(name.encode()) > 1}
        path = bytes(scope.get("raw_path") or scope["path"].encode()).decode("latin-1")
        path = path.partition("?")[0]
        if AdminApp.serves(path):
            facts["route"] = "dashboard"
            return await self._serve_people(scope, path, headers, line, receive)
        route = find_route(scope["method"], path)
        dialect = route.dialect if isinstance(route, Route) else ""
        facts["route"] = f"/v1{route.path.pattern}" if isinstance(route, Route) else "unknown"
        query = bytes(scope.get("query_string", b""))
        admitted = await self._admit(route, headers, raw_headers, query)
        if isinstance(admitted, Refusal):
            return await _fail(line, dialect, admitted.status, admitted.reason, admitted.retry_seconds)
        assert isinstance(route, Route)  # noqa: S101 - all else was refused
        caller = admitted.caller
        facts |= {"key": caller.name, "tenant": caller.tenant, "upstream": admitted.upstream.name}
        with self._gate.count_open(caller.key):
            try:
                packed, body = await self._read_request(route, receive, headers)
            except ClientLeft:
                return None
            except BodyRefused as error:
                return await _fail(line, dialect, error.status, str(error))
            request = ClientRequest(
                route, scope["method"], path, query, raw_headers, headers, body, caller, packed
            )
            parts = self.gateway.parts_for(caller.tenant)
            exchange = RequestExchange(parts, request, line, admitted.upstream)
            return await self._watch(exchange, line, receive)

    async def _read_request(
        self, route: Route, receive: Receive, headers: Mapping[str, str]
    ) -> tuple[bytes | None, bytes]:
        """Return the body as it came where it is packed, and as it is read."""
        most = self.gateway.settings.gateway.max_body_bytes
        self._reading += 1
        try:
            body = await read_body(receive, headers, most, "gateway.max_body_bytes")
            encoding = headers.get("content-encoding", "")
            if route.action is RouteAction.PASS or not encoding:
                return None, await _check(body)
            plain = await run_in_thread(unpack_body, body, encoding, most)
            return (None, body) if plain is None else (body, await _check(plain))
        finally:
            self._reading -= 1

    async def _admit(
        self,
        route: Route | NoRoute,
        headers: Mapping[str, str],
        raw_headers: tuple[Header, ...],
        query: bytes,
    ) -> "_Admitted | Refusal":
        """Return who sends a request and where it goes, or why not; nothing of its body is read before."""
        await self.gateway.open()
        settings = self.gateway.settings.gateway
        if sum(len(name) + len(value) for name, value in raw_headers) > _MAX_HEADER_BYTES:
            return Refusal(431, "the headers are larger than 65,536 bytes")
        if isinstance(route, NoRoute):
            return Refusal(route.status, route.reason)
        caller = self.gateway.access.admit(headers, route.policy)
        if isinstance(caller, Refusal):
            return caller
        allowed = caller.key.upstreams if caller.key is not None else ()
        upstream = self.gateway.parts.upstreams.choose(route, headers, allowed)
        if upstream is None:
            return Refusal(403, "this key is not for this API")
        refusal = refuse_leak(caller, raw_headers, query, keys_are_ours=upstream.keys is KeySource.OURS)
        if refusal is not None:
            return refusal
        if self._is_stopping or len(self._tasks) + self._reading >= settings.max_requests:
            words = _STOPPING if self._is_stopping else "too many requests at once; try again"
            return Refusal(503, words, _RETRY_SECONDS)
        wait = self._gate.wait_seconds(caller.key) if caller.key is not None else 0.0
        if wait:
            return Refusal(429, "this key sends more requests than it may; try again later", math.ceil(wait))
        return _Admitted(caller, upstream)

    async def _serve_people(
        self, scope: Scope, path: str, headers: Mapping[str, str], line: ClientLine, receive: Receive
    ) -> None:
        """Serve the dashboard and what belongs to it."""
        await self.gateway.open()
        if self._admin is None:
            self._admin = self.gateway.open_admin(lambda: {"midfold_open_requests": self.open_requests})
        request = PeopleRequest(
            scope["method"],
            path,
            bytes(scope.get("query_string", b"")),
            headers,
            lambda most: read_body(receive, headers, most),
            lambda: _wait_for_end(receive),
        )
        with suppress(ClientLeft, ClientStalled):
            await self._admin.serve(request, line)

    async def _watch(self, exchange: RequestExchange, line: ClientLine, receive: Receive) -> None:
        """Run an exchange until it ends, or its client leaves."""
        serving = asyncio.create_task(_run(exchange, line, self))
        self._tasks[serving] = line
        leaving = asyncio.create_task(_wait_for_end(receive))
        try:
            await asyncio.wait({serving, leaving}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (serving, leaving):
                task.cancel()
            await asyncio.wait({serving, leaving})
            del self._tasks[serving]
        with suppress(asyncio.CancelledError):
            serving.result()

    @property
    def is_stopping(self) -> bool:
        """Whether no more requests are taken."""
        return self._is_stopping


async def _run(exchange: RequestExchange, line: ClientLine, app: GatewayApp) -> None:
    """Run an exchange, and tell the client what keeps it from its answer, in its own dialect."""
    try:
        await exchange.run()
    except asyncio.CancelledError:
        if not app.is_stopping or line.has_ended:
            raise
        await _end(line, exchange.dialect, 503, _STOPPING)
    except (ClientStalled, AnswerCut):
        pass  # there is no more to be said; leaving now closes the connection
    except (RequestRefused, HostileRequest) as error:
        await _end(line, exchange.dialect, 400, str(error))
    except OverBudget as error:
        await _end(line, exchange.dialect, 402, str(error))
    except ProviderError as error:
        await _end(line, exchange.dialect, status_of(error), str(error))
    except Exception as error:
        log.exception("a request failed: %s", type(error).__name__)
        await _end(line, exchange.dialect, 500, f"the gateway failed ({type(error).__name__})")


async def _check(body: bytes) -> bytes:
    """Return a body; raises `BodyRefused` where reading it would take far more memory than it has bytes."""
    if len(body) > MOST_VALUES:
        await run_in_thread(check_values, body)
    return body


async def _wait_for_end(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _end(line: ClientLine, dialect: str, status: int, reason: str) -> None:
    """Say what went wrong: as an answer, or where that has begun, as its last event."""
    with suppress(ClientStalled):
        if not line.has_started:
            await _fail(line, dialect, status, reason)
        elif line.is_stream and not line.has_ended:
            await line.write(write_error_event(dialect, status, reason))
            await line.end()


async def _fail(
    line: ClientLine, dialect: str, status: int, reason: str, retry_seconds: int | None = None
) -> None:
    body = json.dumps(write_error(dialect, status, reason)).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    wait = _RETRY_SECONDS if retry_seconds is None and status == 503 else retry_seconds
    await line.start(status, headers if wait is None else [*headers, (b"retry-after", str(wait).encode())])
    await line.write(body)
    await line.end()
