"""Stored conversations for any MCP client: search, read, count, fold and pin them (`midfold mcp`)."""

from midfold.mcp.server import make_server
from midfold.mcp.sessions import SessionTools

__all__ = ["SessionTools", "make_server"]
