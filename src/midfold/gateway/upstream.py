"""The upstreams of the gateway: which one a request goes to, and with which headers.

The route decides, never the client: a body or a header can name no host. A key of ours is bound to the
address that it was set up with.
"""

from collections.abc import Iterable, Mapping

from midfold.gateway.routes import ANTHROPIC as ANTHROPIC_DIALECT
from midfold.gateway.routes import PREFIX, Route
from midfold.gateway.settings import ANTHROPIC, OPENAI, UpstreamSettings
from midfold.providers import PROVIDERS, Provider, Relay, Timeouts, Transport, open_transport

RawHeaders = Iterable[tuple[bytes, bytes]]

_OWN = b"x-midfold-"
_FORWARDED = (b"forwarded", b"x-forwarded-", b"x-real-ip", b"via", b"origin", b"referer")
"""What tells of the way between a client and the gateway is nobody else's business."""


class Upstreams:
    """The relays to all upstreams, over one pool of connections; in one event loop."""

    def __init__(
        self,
        settings: Mapping[str, UpstreamSettings],
        *,
        providers: Mapping[str, Provider] = PROVIDERS,
        timeouts: Timeouts,
    ) -> None:
        self.settings = settings
        self._transport: Transport = open_transport(timeouts)
        self._relays = {
            name: Relay.open(
                each.provider,
                base_url=each.base_url,
                key=each.key,
                keys=each.keys,
                providers=providers,
                transport=self._transport,
            )
            for name, each in settings.items()
        }

    def choose(self, route: Route, headers: Mapping[str, str]) -> UpstreamSettings:
        """Return the upstream of a request."""
        dialect = route.dialect or (ANTHROPIC_DIALECT if "anthropic-version" in headers else "")
        return self.settings[ANTHROPIC if dialect == ANTHROPIC_DIALECT else OPENAI]

    def relay_to(self, upstream: UpstreamSettings) -> Relay:
        return self._relays[upstream.name]

    async def aclose(self) -> None:
        """Close every connection."""
        for relay in self._relays.values():
            await relay.aclose()
        await self._transport.aclose()


def target_of(path: str, query: bytes) -> str:
    """Return what follows the base URL of an upstream, with the query as it came."""
    below = path.removeprefix(PREFIX)
    return f"{below}?{query.decode('latin-1')}" if query else below


def headers_for(headers: RawHeaders, *, without: Iterable[bytes] = ()) -> list[tuple[bytes, bytes]]:
    """Return the headers of a client that are meant for its provider, known or not, in their order.

    Headers of one connection, and credentials where the key is ours, are seen to by the relay.
    """
    dropped = tuple(without)
    return [
        (name, value)
        for name, value in headers
        if not name.lower().startswith((_OWN, *_FORWARDED)) and name.lower() not in dropped
    ]
