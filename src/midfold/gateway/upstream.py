"""The upstreams of the gateway: which one a request goes to, and with which headers.

The route decides, never the client: a body or a header can name no host. A key of ours is bound to the
address that it was set up with.
"""

from collections.abc import Collection, Iterable, Mapping

from midfold.gateway.routes import ANTHROPIC as ANTHROPIC_DIALECT
from midfold.gateway.routes import PREFIX, Route
from midfold.gateway.settings import ANTHROPIC, OPENAI, UpstreamSettings
from midfold.providers import PROVIDERS, Provider, Relay, Timeouts, Transport, open_transport

RawHeaders = Iterable[tuple[bytes, bytes]]

_OWN = b"x-midfold-"
_ALLOWED = (
    b"accept",
    b"anthropic-",
    b"authorization",
    b"api-key",
    b"chatgpt-account-id",
    b"content-",
    b"conversation-id",
    b"conversation_id",
    b"helicone-",
    b"http-referer",
    b"idempotency-key",
    b"openai-",
    b"originator",
    b"session-id",
    b"session_id",
    b"user-agent",
    b"version",
    b"x-api-key",
    b"x-app",
    b"x-client-",
    b"x-codex-",
    b"x-goog-",
    b"x-request-id",
    b"x-stainless-",
    b"x-title",
)
"""Beginnings of the headers that clients of these APIs send; no other goes out with a key of ours."""
_FORWARDED = (b"forwarded", b"x-forwarded-", b"x-real-ip", b"via", b"origin", b"referer")
"""Headers about the connection between a client and the gateway, which are not passed on."""


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

    def choose(
        self, route: Route, headers: Mapping[str, str], allowed: Collection[str] = ()
    ) -> UpstreamSettings | None:
        """Return the upstream of a request; `None` where none of the `allowed` ones takes it.

        Without `allowed` it is the usual one.
        """
        dialect = route.dialect or (ANTHROPIC_DIALECT if "anthropic-version" in headers else "")
        api = ANTHROPIC if dialect == ANTHROPIC_DIALECT else OPENAI
        names = allowed or (api,)
        known = (self.settings[name] for name in names if name in self.settings)
        return next((upstream for upstream in known if upstream.api == api), None)

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


def headers_for(
    headers: RawHeaders, *, without: Iterable[bytes] = (), listed_only: bool = False
) -> list[tuple[bytes, bytes]]:
    """Return the headers of a client that are meant for its provider, in their order.

    A client that brings its own key talks to its own provider: what it sends there is not ours to judge. With
    `listed_only`, as where the key is ours, only headers of a list go out. Headers of one connection, and
    credentials where the key is ours, are seen to by the relay.
    """
    dropped = tuple(without)
    return [
        (name, value)
        for name, value in headers
        if not name.lower().startswith((_OWN, *_FORWARDED))
        and name.lower() not in dropped
        and (not listed_only or name.lower().startswith(_ALLOWED))
    ]
