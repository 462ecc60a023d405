"""Earlier looks behind summaries: the calls of the engine's own tools, and their answers."""

from collections.abc import Sequence, Set

from midfold.engines.lossless.history import NumberedMessage
from midfold.engines.lossless.schemas import SCHEMAS
from midfold.messages import Message, ToolCall, ToolResult

OWN_TOOLS = frozenset(str(schema["name"]) for schema in SCHEMAS)


def without_looks(
    originals: Sequence[NumberedMessage], own_calls: set[str] | None = None
) -> list[NumberedMessage]:
    """Leave out earlier looks behind summaries: to find these again helps nobody.

    `own_calls` takes up the calls of these tools, for those who read on.
    """
    own = set[str]() if own_calls is None else own_calls
    own.update(
        part.id
        for each in originals
        for part in each.message.parts
        if isinstance(part, ToolCall) and part.name in OWN_TOOLS
    )
    return [each for each in originals if not _is_look(each.message, own)]


def _is_look(message: Message, own_calls: Set[str]) -> bool:
    ids = [part.id for part in message.parts if isinstance(part, ToolCall)]
    ids += [part.call_id for part in message.parts if isinstance(part, ToolResult)]
    return bool(ids) and own_calls >= set(ids)
