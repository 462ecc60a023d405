"""The recall tool for agents of one's own: its schema for any API, and a handler for the model's calls."""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

from midfold.agent.tools.recall import recall_tool as store_recall_tool
from midfold.agent.tools.registry import Tool, ToolFailed
from midfold.errors import MidfoldError, UnknownDialect
from midfold.folding import Compression
from midfold.late_dataclasses import dataclass
from midfold.store import Store, open_store
from midfold.wire import DEFAULT_DIALECT, describe, detect, plain
from midfold.wire.apis import convert_tools

_MEMORY_URL = "sqlite::memory:"


@dataclass(frozen=True)
class RecallTool:
    """A tool with which a model searches its folded messages.

    Put `schema()` among the tools of a request, and answer a call of `name` with `handle(arguments)`.
    """

    find_tool: Callable[[], Tool]

    @property
    def name(self) -> str:
        """The name by which the model calls it."""
        return self._tool.name

    def schema(self, dialect: str = DEFAULT_DIALECT) -> dict[str, object]:
        """Return the tool as an API wants it: openai_chat, openai_responses or anthropic."""
        written = plain(convert_tools([self._tool.schema], dialect)[0])
        return dict(written) if isinstance(written, Mapping) else {}

    def handle(self, arguments: Mapping[str, object] | str) -> str:
        """Answer a call, given a mapping or JSON; an error is text for the model."""
        try:
            given = json.loads(arguments or "{}") if isinstance(arguments, str) else arguments
        except ValueError:
            return "Error: the arguments are no JSON"
        if not isinstance(given, Mapping):
            return "Error: the arguments are no JSON object"
        try:
            answer = self._tool.run(given)
        except (ToolFailed, MidfoldError) as error:
            return f"Error: {error}"
        return answer if isinstance(answer, str) else ""

    @cached_property
    def _tool(self) -> Tool:
        return self.find_tool()


def recall_tool(
    source: "Store | Compression[object] | Sequence[object]", *, session_id: str | None = None
) -> RecallTool:
    """Make a recall tool: `midfold.recall_tool(source)`.

    It searches a store, by default all of it, or with `session_id` one conversation unless the model asks for
    all; or what a compression started from; or a list of messages as it is now, of any dialect.
    """
    if isinstance(source, Compression):
        return RecallTool(lambda: _search_list(source.originals))
    if isinstance(source, str | bytes) or not (isinstance(source, Sequence) or hasattr(source, "search")):
        found = describe(source)
        raise UnknownDialect(f"expected a store, a result of compress or a list of messages, found {found}")
    if isinstance(source, Sequence):
        items = list(source)
        return RecallTool(lambda: _search_list(items))
    return RecallTool(lambda: store_recall_tool(source, lambda: session_id))


def _search_list(items: Sequence[object]) -> Tool:
    """Search messages as any other session, in a store that lives in memory."""
    store = open_store(_MEMORY_URL)
    session = store.create_session(dialect=detect(items) if items else None).id
    if items:
        store.append(session, items)
    return store_recall_tool(store, lambda: session)
