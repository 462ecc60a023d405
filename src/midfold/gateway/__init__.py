"""An HTTP server in front of model providers: unchanged clients, conversations without an end.

`create_app` makes an ASGI application of the settings; `midfold serve` runs it. It needs the extra `gateway`.
"""

from pathlib import Path

from midfold.config import Settings, load_settings
from midfold.engines import Summarizer
from midfold.gateway.app import GatewayApp
from midfold.gateway.gateway import Gateway
from midfold.gateway.logs import make_formatter
from midfold.gateway.server import GatewayServer, ServerThread
from midfold.gateway.tracing import start_exporting
from midfold.providers import Timeouts
from midfold.store import Store

__all__ = [
    "Gateway",
    "GatewayApp",
    "GatewayServer",
    "ServerThread",
    "create_app",
    "make_formatter",
    "start_exporting",
]


def create_app(
    settings: Settings | None = None,
    *,
    store: Store | None = None,
    is_stored: bool = True,
    home: Path | None = None,
    summarizer: Summarizer | None = None,
    timeouts: Timeouts | None = None,
) -> GatewayApp:
    """Make the gateway as an ASGI application; raises `ConfigError`.

    Without `settings`, those of the file and the environment hold. A `store` that is given stays open;
    without one and with `is_stored` false, everything is kept in memory. `summarizer` takes the place of a
    model that writes summaries.
    """
    gateway = Gateway(
        settings or load_settings(),
        store=store,
        is_stored=is_stored,
        home=home,
        summarizer=summarizer,
        timeouts=timeouts,
    )
    return GatewayApp(gateway)
