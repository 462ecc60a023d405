"""`midfold mcp`: stored conversations as tools for MCP clients; the server is loaded when it is served."""

import asyncio

import click

from midfold.cli.options import whole_number
from midfold.config import load_settings

_USUAL_WINDOW = 200_000
_EPILOG = """\b
Examples:
  midfold mcp                      over standard input and output
  midfold mcp --http 8642          at http://127.0.0.1:8642/mcp
  claude mcp add midfold -- midfold mcp
"""


@click.command(epilog=_EPILOG)
@click.option("--http", "port", type=whole_number(1, 65_535), metavar="PORT", help="Serve HTTP on this port.")
@click.option("--read-only", is_flag=True, help="Leave out the tools that fold and pin.")
def command(port: int | None, read_only: bool) -> int:
    """Serve stored conversations to MCP clients: search, describe, expand, stats, compress, pin.

    Without --http the client starts this command and uses standard input and output. HTTP
    listens on this machine only.
    """
    from midfold.cli.conversations import own_store
    from midfold.mcp import SessionTools, make_server

    settings = load_settings()
    policy = settings.policy(settings.model.context_length or _USUAL_WINDOW)
    with own_store() as store:
        tools = SessionTools(store, policy, settings.context.engine, changes=not read_only)
        server = make_server(tools)
        if port is None:
            asyncio.run(server.run_stdio_async())
        else:
            click.echo(f"MCP at http://127.0.0.1:{port}/mcp (this machine only); Ctrl-C stops it", err=True)
            asyncio.run(server.run_streamable_http_async(host="127.0.0.1", port=port))
    return 0
