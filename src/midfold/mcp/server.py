"""The MCP server: the tools of `SessionTools` over stdio or streamable HTTP, with the official SDK."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from midfold.errors import ExtraMissing, MidfoldError
from midfold.mcp.sessions import DEFAULT_TOKENS, LATEST, Json, SessionTools

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer

_INSTRUCTIONS = (
    "Conversations that midfold keeps, complete, also where they were folded. Search first; then expand the "
    "messages around a hit. describe says what a conversation is about and what its folds left."
)


def make_server(tools: SessionTools) -> "MCPServer[None]":
    """Make a server over a store; raises `ExtraMissing` where the SDK is not installed."""
    try:
        from mcp.server.mcpserver import MCPServer
        from mcp.types import ToolAnnotations
    except ModuleNotFoundError as error:
        raise ExtraMissing("the MCP server", "mcp") from error
    server: MCPServer[None] = MCPServer("midfold", instructions=_INSTRUCTIONS, log_level="WARNING")
    reading = server.tool(annotations=ToolAnnotations(read_only_hint=True, open_world_hint=False))
    changing = server.tool(
        annotations=ToolAnnotations(read_only_hint=False, destructive_hint=False, open_world_hint=False)
    )
    handlers = _Handlers(tools)
    reading(handlers.search)
    reading(handlers.describe)
    reading(handlers.expand)
    reading(handlers.stats)
    if tools.changes:
        changing(handlers.compress)
        changing(handlers.pin)
    return server


class _Handlers:
    """The tools as a client sees them: names, arguments and descriptions are read off these methods."""

    def __init__(self, tools: SessionTools) -> None:
        self._tools = tools

    def search(
        self,
        query: str,
        session: str = "",
        role: str = "",
        limit: int = 10,
        max_tokens: int = DEFAULT_TOKENS,
    ) -> Json:
        """Find messages by words or a question, the best first: in `session`, or in all conversations.

        "quotes" find a phrase, word* a beginning. role is user, assistant or tool. The answer takes at most
        max_tokens, 300 to 20000.
        """
        return _answer(lambda: self._tools.search(query, session, role, limit, max_tokens))

    def describe(self, session: str = LATEST, max_tokens: int = DEFAULT_TOKENS) -> Json:
        """Say what a conversation is: title, size, folds, the notes that they left, and pinned sentences.

        session is an id, the beginning of one, or latest. The answer takes at most max_tokens,
        300 to 20000.
        """
        return _answer(lambda: self._tools.describe(session, max_tokens))

    def expand(
        self, session: str = LATEST, messages: str | int = "", page: int = 1, max_tokens: int = DEFAULT_TOKENS
    ) -> Json:
        """Show messages word for word, also folded ones, in pages of at most max_tokens, 300 to 20000.

        messages is a number or a range such as 12-20, counted from the start of the conversation; without it
        the newest twenty are shown.
        """
        return _answer(lambda: self._tools.expand(session, str(messages), page, max_tokens))

    def stats(self, session: str = "") -> Json:
        """Count tokens, cost and folds of a conversation; without session, list the newest conversations."""
        return _answer(lambda: self._tools.stats(session))

    def compress(self, session: str = LATEST, focus: str = "") -> Json:
        """Fold a stored conversation that nobody works on, with more room for the topic of `focus`.

        Nothing is lost: the folded messages stay in the store, and a fold can be taken back.
        """
        return _answer(lambda: self._tools.compress(session, focus))

    def pin(self, text: str, session: str = LATEST, remove: bool = False) -> Json:
        """Keep a sentence word for word through every later fold, or let go of it with remove."""
        return _answer(lambda: self._tools.pin(text, session, remove))


def _answer(ask: Callable[[], Json]) -> Json:
    """Turn every expected failure into an error that the client's model can read."""
    from mcp.server.mcpserver.exceptions import ToolError

    try:
        return ask()
    except MidfoldError as error:
        raise ToolError(str(error)) from None
