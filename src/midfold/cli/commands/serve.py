"""`midfold serve`: the gateway between clients and their providers, until it is stopped.

The gateway is loaded when it is served, not for its help.
"""

import ctypes
import logging
import signal
import sys
from contextlib import suppress

import click

from midfold.cli.options import whole_number
from midfold.config import load_settings

_EPILOG = """\b
Examples:
  midfold serve
  ANTHROPIC_BASE_URL=http://127.0.0.1:8787 claude
  OPENAI_BASE_URL=http://127.0.0.1:8787/v1 aider
  MIDFOLD_COMPRESSION__SUMMARY_MODEL=openai/gpt-5-mini midfold serve
  midfold serve --no-store --port 9000

\b
Clients keep their own keys. Short conversations pass unchanged.
Settings: gateway.*, compression.* and model.* (midfold config show).
Beyond loopback the gateway needs a key: MIDFOLD_GATEWAY_KEY.
"""
_SWITCH_SECONDS = 0.001
_MOST_ARENAS, _TRIM_THRESHOLD = -8, -1
"""Options of glibc's allocator."""
_TRIM_BYTES = 128 * 1024


@click.command(epilog=_EPILOG)
@click.option("--host", metavar="ADDRESS", help="Address to listen on (gateway.host).")
@click.option(
    "--port", metavar="N", type=whole_number(0, 65_535), help="Port to listen on; 0 is any free one."
)
@click.option("--no-store", is_flag=True, help="Keep conversations in memory only.")
@click.option("-v", "--verbose", is_flag=True, help="Log each request, without its content.")
def command(host: str | None, port: int | None, no_store: bool, verbose: bool) -> int:
    """Serve OpenAI and Anthropic clients, and fold their long conversations.

    Point the base URL of a client here. Requests go to the provider as they are until a conversation
    fills its window; then its middle is folded, and the answer says so in x-midfold headers.
    """
    from midfold.gateway import GatewayServer, create_app, make_formatter, start_exporting

    _give_memory_back()
    settings = load_settings(flags={"gateway.host": host, "gateway.port": port})
    if settings.gateway.tracing:
        start_exporting()
    app = create_app(settings, is_stored=not no_store)
    server = GatewayServer(app)
    _log_to_stderr(make_formatter(settings.gateway.log_format), verbose=verbose)
    click.echo(f"listening  {server.described}", err=True)
    for line in app.gateway.describe():
        click.echo(line, err=True)
    click.echo(f"clients    OPENAI_BASE_URL={server.url}/v1  ANTHROPIC_BASE_URL={server.url}", err=True)
    # The server stops in order at these, and raises them once more when it is done.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: None)
    # A thread that reads a long request lets those go first that pass an answer on.
    sys.setswitchinterval(_SWITCH_SECONDS)
    server.run()
    return 0 if server.has_started else 1


def _give_memory_back() -> None:
    """Have the allocator return what requests leave; by itself it keeps some for each thread."""
    with suppress(OSError, AttributeError, TypeError):  # elsewhere than on glibc
        allocator = ctypes.CDLL(None)
        allocator.mallopt(_MOST_ARENAS, 1)
        allocator.mallopt(_TRIM_THRESHOLD, _TRIM_BYTES)


def _log_to_stderr(formatter: logging.Formatter, *, verbose: bool) -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(formatter)
    for name in ("midfold.gateway", "uvicorn.error"):
        logger = logging.getLogger(name)
        logger.addHandler(handler)
        logger.propagate = False
    logging.getLogger("midfold.gateway").setLevel(logging.INFO if verbose else logging.WARNING)
