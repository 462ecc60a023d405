"""The people's side of the gateway: dashboard, admin API, health, metrics. What is not listed is refused.

Anybody may load the pages, which hold nothing. All else needs the gateway's key where there is one; changes
need a token in a header and a JSON body, too, which no page of another origin can send.
"""

import asyncio
import hmac
import json
import logging
import secrets
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from urllib.parse import urlsplit

from midfold.concurrency import run_in_thread
from midfold.errors import (
    ConfigError,
    MidfoldError,
    NoteNotFound,
    SessionNotFound,
    StoreCorrupt,
    StoreFull,
    StoreUnavailable,
)
from midfold.gateway.access import AccessRules, Caller, Refusal
from midfold.gateway.admin.changes import AdminWriter
from midfold.gateway.admin.openapi import describe_api
from midfold.gateway.admin.pages import SAFE_HEADERS, read_pages
from midfold.gateway.admin.reading import AdminReader
from midfold.gateway.admin.requests import AdminRefusal, AdminRequest, Json, read_json, read_query
from midfold.gateway.admin.routes import API, AdminRoute, find_admin_route
from midfold.gateway.bodies import BodyRefused, ClientLeft
from midfold.gateway.live import LiveEvent, LiveFeed
from midfold.gateway.metrics import CONTENT_TYPE, GatewayMetrics
from midfold.gateway.routes import RoutePolicy
from midfold.gateway.streaming import ClientLine, ClientStalled
from midfold.late_dataclasses import dataclass, field
from midfold.store import Store

log = logging.getLogger("midfold.gateway")

TOKEN_HEADER = "x-midfold-token"  # noqa: S105 - the name of a header
MOST_BODY_BYTES = 256 * 1024
_PING_SECONDS = 15.0
_JSON = "application/json"
_CHECKS = ("/healthz", "/readyz")
_OPERATOR_ROUTES = ("settings",)
_OPERATOR_ONLY = "only the operator's key shows what concerns all tenants"


@dataclass(frozen=True, slots=True)
class PeopleRequest:
    """A request as it came, its body still unread."""

    method: str
    path: str
    query: bytes
    headers: Mapping[str, str] = field(repr=False)
    read_body: Callable[[int], Awaitable[bytes]] = field(repr=False)
    """reads the body up to so many bytes; raises `BodyRefused` where it is larger or late"""
    wait_for_end: Callable[[], Awaitable[None]] = field(repr=False)
    """returns when the client has left"""


@dataclass(frozen=True, slots=True)
class AdminParts:
    """The parts that the admin API works with, once the gateway is open."""

    store: Store
    reader: AdminReader
    writer: AdminWriter
    live: LiveFeed
    metrics: GatewayMetrics
    version: str


class AdminApp:
    """Serves people and their scrapers; `gauges` are read when figures are asked for."""

    def __init__(
        self,
        parts_for: Callable[[str], AdminParts],
        access: AccessRules,
        gauges: Callable[[], Mapping[str, int]],
    ) -> None:
        self._parts_for = parts_for
        self._tenants: dict[str, AdminParts] = {}
        self._access = access
        self._gauges = gauges
        self._token = secrets.token_urlsafe(24)
        self._streams: set[asyncio.Task[None]] = set()
        self._is_stopping = False

    @staticmethod
    def serves(path: str) -> bool:
        """Whether a path is for people; all others are for clients of models."""
        return path in _CHECKS or path in ("/metrics", *read_pages()) or path.startswith(f"{API}/")

    def stop(self) -> None:
        """End what is being watched."""
        self._is_stopping = True
        for stream in set(self._streams):
            stream.cancel()

    async def serve(self, request: PeopleRequest, line: ClientLine) -> int:
        """Answer a request; return the status."""
        caller = self._admit(request)
        if isinstance(caller, Refusal):
            return await _say(line, caller.status, {"error": caller.reason})
        if request.path in _CHECKS:
            return await self._check(request.path, line)
        if request.path == "/metrics":
            text = self._parts_of(caller).metrics.write(self._gauges())
            return await _send(line, 200, CONTENT_TYPE, text.encode())
        if not request.path.startswith(f"{API}/"):
            page = read_pages()[request.path]
            return await _send(line, 200, page.content_type, page.data, cached="no-cache")
        try:
            return await self._call(request, caller, line)
        except AdminRefusal as error:
            return await _say(line, error.status, {"error": str(error)}, error.methods)
        except MidfoldError as error:
            return await _say(line, _status_of(error), {"error": _words_of(error)})
        except (ClientLeft, ClientStalled):
            raise
        except Exception as error:
            log.exception("the dashboard failed: %s", type(error).__name__)
            if line.has_started:
                raise
            return await _say(line, 500, {"error": f"the gateway failed ({type(error).__name__})"})

    def _parts_of(self, caller: Caller) -> AdminParts:
        """Return what the tenant of a caller may see and change."""
        tenant = caller.tenant
        if tenant not in self._tenants:
            self._tenants[tenant] = self._parts_for(tenant)
        return self._tenants[tenant]

    def _admit(self, request: PeopleRequest) -> Caller | Refusal:
        is_public = request.path in (*_CHECKS, *read_pages())
        policy = RoutePolicy.PUBLIC if is_public else RoutePolicy.ADMIN
        caller = self._access.admit(request.headers, policy)
        if isinstance(caller, Refusal):
            return caller
        origin = request.headers.get("origin")
        if origin is not None and urlsplit(origin).netloc != request.headers.get("host"):
            return Refusal(403, "requests of other web pages are not served")
        if not request.path.startswith(f"{API}/") and request.method not in ("GET", "HEAD"):
            return Refusal(405, f"{request.method} is not served here")
        if request.path == "/metrics" and not caller.is_operator:
            return Refusal(403, _OPERATOR_ONLY)
        return caller

    async def _check(self, path: str, line: ClientLine) -> int:
        if path == "/healthz":
            return await _say(line, 200, {"status": "ok"})
        problem = "it is stopping" if self._is_stopping else self._parts_of(Caller()).store.status.problem
        if problem is None:
            return await _say(line, 200, {"status": "ready"})
        log.warning("not ready: %s", problem)
        return await _say(line, 503, {"status": "not ready"})

    async def _call(self, request: PeopleRequest, caller: Caller, line: ClientLine) -> int:
        found = find_admin_route(request.method, request.path.removeprefix(API))
        if isinstance(found, frozenset):
            if found:
                raise AdminRefusal(f"{request.method} is not served here", 405, sorted(found))
            raise AdminRefusal("no such path here; /admin/api/openapi.json lists them", 404)
        route, parts = found
        if route.operation in _OPERATOR_ROUTES and not caller.is_operator:
            raise AdminRefusal(_OPERATOR_ONLY, 403)
        body = await self._read_change(request) if route.is_change else {}
        asked = AdminRequest(parts, read_query(request.query), body, caller.name)
        own = self._parts_of(caller)
        if route.operation == "events":
            return await self._stream(own.live, asked, request, line)
        return await _say(line, 200, await self._answer(own, route, asked))

    async def _read_change(self, request: PeopleRequest) -> Json:
        """Return the body of a change, once it is sure that a person of ours asked for it."""
        token = request.headers.get(TOKEN_HEADER, "")
        if not hmac.compare_digest(token.encode("utf-8", "replace"), self._token.encode()):
            raise AdminRefusal(f"a change needs the token of {API}/token as {TOKEN_HEADER}", 403)
        if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            raise AdminRefusal("requests of other web pages are not served", 403)
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != _JSON:
            raise AdminRefusal("a change is sent as application/json", 415)
        if request.headers.get("content-encoding", "identity").lower() != "identity":
            raise AdminRefusal("a change is not sent compressed", 415)
        try:
            return read_json(await request.read_body(MOST_BODY_BYTES))
        except BodyRefused as error:
            raise AdminRefusal(str(error), error.status) from None

    async def _answer(self, own: AdminParts, route: AdminRoute, asked: AdminRequest) -> Json:
        if route.operation == "openapi":
            return describe_api(own.version)
        if route.operation == "token":
            return {"token": self._token, "version": own.version}
        owner = own.writer if route.is_change else own.reader
        work: Callable[[AdminRequest], Json] = getattr(owner, route.operation)
        return await run_in_thread(work, asked)

    async def _stream(
        self, live: LiveFeed, asked: AdminRequest, request: PeopleRequest, line: ClientLine
    ) -> int:
        if live.is_full or self._is_stopping:
            raise AdminRefusal("too many pages watch already", 503)
        streaming = asyncio.create_task(_send_events(live, asked.number("after", 0), line))
        self._streams.add(streaming)
        leaving = asyncio.ensure_future(request.wait_for_end())
        try:
            await asyncio.wait({streaming, leaving}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (streaming, leaving):
                task.cancel()
            await asyncio.wait({streaming, leaving})
            self._streams.discard(streaming)
        with suppress(ClientStalled):
            await self._end_stopped(line)
        return 200

    async def _end_stopped(self, line: ClientLine) -> None:
        """End an answer properly where the gateway stops, and not the client."""
        if self._is_stopping and line.has_started:
            await line.end()


async def _send_events(live: LiveFeed, after: int, line: ClientLine) -> None:
    headers = {**SAFE_HEADERS, "content-type": "text/event-stream", "cache-control": "no-store"}
    await line.start(200, [(name.encode(), value.encode()) for name, value in headers.items()])
    events = live.watch(after)
    waiting: asyncio.Future[LiveEvent] = asyncio.ensure_future(anext(events))
    try:
        await line.write(b": hello\n\n")
        while True:
            done, _ = await asyncio.wait({waiting}, timeout=_PING_SECONDS)
            if not done:
                await line.write(b": still here\n\n")
                continue
            event = waiting.result()
            waiting = asyncio.ensure_future(anext(events))
            await line.write(_write_event(event))
    except ClientStalled:
        pass
    finally:
        waiting.cancel()
        with suppress(asyncio.CancelledError):
            await waiting


def _write_event(event: LiveEvent) -> bytes:
    """Write an event; JSON has no line break, so that nothing in it can begin another."""
    data = json.dumps({"number": event.number, "kind": event.kind, "at": event.at, **event.facts})
    return f"id: {event.number}\nevent: {event.kind}\ndata: {data}\n\n".encode()


def _status_of(error: MidfoldError) -> int:
    match error:
        case SessionNotFound() | NoteNotFound():
            return 404
        case ConfigError():
            return 400
        case StoreUnavailable() | StoreFull() | StoreCorrupt():
            return 503
        case _:
            return 409


def _words_of(error: MidfoldError) -> str:
    # What an id looks like must not tell a missing one from somebody else's.
    return "there is no such conversation" if isinstance(error, SessionNotFound) else str(error)


async def _say(line: ClientLine, status: int, value: Json, methods: Sequence[str] = ()) -> int:
    body = json.dumps(value, allow_nan=False).encode()
    return await _send(line, status, _JSON, body, methods=methods)


async def _send(
    line: ClientLine,
    status: int,
    content_type: str,
    body: bytes,
    cached: str = "no-store",
    methods: Sequence[str] = (),
) -> int:
    headers = {
        **SAFE_HEADERS,
        "content-type": content_type,
        "content-length": str(len(body)),
        "cache-control": cached,
        **({"allow": ", ".join(methods)} if methods else {}),
    }
    await line.start(status, [(name.encode(), value.encode()) for name, value in headers.items()])
    await line.write(body)
    await line.end()
    return status
