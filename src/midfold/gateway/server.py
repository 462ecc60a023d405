"""The gateway on a port: an ASGI server, loaded when it is used, that stops in order.

The loop is asyncio's own: others keep ten times as much of an answer for each client that reads slowly.
"""

import asyncio
import logging
import socket
import threading
from typing import TYPE_CHECKING

from midfold.errors import ConfigError, ExtraMissing
from midfold.gateway.app import GatewayApp
from midfold.gateway.protocol import limit_protocol

if TYPE_CHECKING:
    import uvicorn

_BACKLOG = 1024
_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}  # noqa: S104 - nothing listens there by itself
"""Addresses that stand for all, and by which this machine calls itself there."""
_KEEP_ALIVE_SECONDS = 75
_CONNECTIONS_PER_REQUEST = 4
"""Clients keep connections open between requests."""
_GRACE_SECONDS = 5
"""More than answers have to end, so that each is told why."""


class GatewayServer:
    """Serves an application on a socket; `sockets` are open before it begins, so that the port is known."""

    def __init__(self, app: GatewayApp) -> None:
        settings = app.gateway.settings.gateway
        self.app = app
        self._socket = _listen(settings.host, settings.port)
        self._server = _make_server(app)

    @property
    def port(self) -> int:
        port: int = self._socket.getsockname()[1]
        return port

    @property
    def url(self) -> str:
        """Where clients find it, without /v1."""
        host = self.app.gateway.settings.gateway.host
        name = _EVERYWHERE.get(host, host)
        return f"http://{f'[{name}]' if ':' in name and '[' not in name else name}:{self.port}"

    @property
    def described(self) -> str:
        """Where it listens, for people."""
        is_everywhere = self.app.gateway.settings.gateway.host in _EVERYWHERE
        return f"{self.url}, and on every other address of this machine" if is_everywhere else self.url

    @property
    def has_started(self) -> bool:
        return self._server.started

    @property
    def has_failed(self) -> bool:
        """Whether it ended before it began, such as by a store that cannot be opened."""
        return self._server.should_exit and not self._server.started

    def run(self) -> None:
        """Serve until a signal comes, or `stop` is called."""
        asyncio.run(self._server.serve(sockets=[self._socket]))

    def stop(self) -> None:
        """Ask it to stop, from any thread: it takes no more requests, and finishes what is under way."""
        self._server.should_exit = True

    def close(self) -> None:
        """Let go of the port, where it was never run."""
        self._socket.close()


class ServerThread:
    """Runs a server beside a program: `with ServerThread(app) as server: ... server.url`."""

    def __init__(self, app: GatewayApp) -> None:
        self.server = GatewayServer(app)
        self._thread = threading.Thread(target=self.server.run, name="midfold-gateway", daemon=True)

    @property
    def url(self) -> str:
        return self.server.url

    def __enter__(self) -> "ServerThread":
        self._thread.start()
        while not self.server.has_started:
            if not self._thread.is_alive():
                raise ConfigError("gateway", None, hint="a gateway that starts; its log says why it did not")
            self._thread.join(0.005)
        return self

    def __exit__(self, *_error: object) -> None:
        self.server.stop()
        self._thread.join()


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # The protocol is named, as asyncio sends small pieces at once on TCP that says it is that.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host.strip("[]"), port))
    except OSError as error:
        listener.close()
        reason = error.strerror or str(error)
        raise ConfigError("gateway.port", port, hint=f"a port that is free on {host} ({reason})") from None
    listener.listen(_BACKLOG)
    listener.setblocking(False)
    return listener


def _make_server(app: GatewayApp) -> "uvicorn.Server":
    try:
        import uvicorn
    except ModuleNotFoundError as error:
        raise ExtraMissing("the gateway", "gateway") from error

    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
    settings = app.gateway.settings.gateway

    class Server(uvicorn.Server):
        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            # Beside uvicorn, which waits for answers under way: these are told when it takes too long.
            stopping = asyncio.create_task(app.stop())
            await super().shutdown(sockets)
            await stopping

    return Server(
        uvicorn.Config(
            app,
            loop="asyncio",
            http=limit_protocol(
                most_connections=settings.max_requests * _CONNECTIONS_PER_REQUEST,
                header_seconds=settings.header_seconds,
            ),
            ws="none",
            lifespan="on",
            log_config=None,
            access_log=False,
            server_header=False,
            date_header=False,
            timeout_keep_alive=_KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=settings.stop_seconds + _GRACE_SECONDS,
        )
    )
