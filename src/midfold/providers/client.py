"""Clients of one endpoint: they open a pool of connections or share one, and close what is theirs."""

from abc import ABC, abstractmethod
from types import TracebackType
from typing import TYPE_CHECKING, Self

from midfold.errors import ExtraMissing
from midfold.providers.connection import DEFAULT_TIMEOUTS, Timeouts
from midfold.providers.endpoint import Endpoint

if TYPE_CHECKING:
    from midfold.providers.http import Transport


class Closeable(ABC):
    """Closed by `close()`, or at the end of a `with` block."""

    @abstractmethod
    def close(self) -> None: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class AsyncCloseable(ABC):
    """Closed by `aclose()`, or at the end of an `async with` block."""

    @abstractmethod
    async def aclose(self) -> None: ...

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


class Client(AsyncCloseable):
    """Calls one endpoint, in one event loop.

    Clients that are given a transport share its connections, and its maker closes it; without one a client
    opens its own, with these timeouts. Raises `ExtraMissing`.
    """

    def __init__(
        self, endpoint: Endpoint, transport: "Transport | None", *, timeouts: Timeouts = DEFAULT_TIMEOUTS
    ) -> None:
        self.endpoint = endpoint
        self._transport = transport or open_transport(timeouts)
        self._owns_transport = transport is None
        self._is_closed = False

    async def aclose(self) -> None:
        """Close the connections, unless they are shared."""
        self._is_closed = True
        if self._owns_transport:
            await self._transport.aclose()


def open_transport(timeouts: Timeouts = DEFAULT_TIMEOUTS) -> "Transport":
    """Make a pool of connections, to be shared by models; raises `ExtraMissing`."""
    try:
        from midfold.providers.http import Transport
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "midfold":
            raise
        raise ExtraMissing("models over HTTP", "models") from error
    return Transport(timeouts=timeouts)
