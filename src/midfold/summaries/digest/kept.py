"""Messages that stay in the context, and the names in them: what they speak of is still in use."""

from collections.abc import Iterable
from functools import cached_property

from midfold.messages import Message, Text, ToolCall, ToolResult, texts_of
from midfold.summaries.ledger.name_uses import find_words
from midfold.summaries.tool_calls.output import find_names

_TEXT_CHARS = 40_000
_SHORTEST_NAME = 5


class KeptMessages(tuple[Message, ...]):
    """Messages beside which several summaries are written: all ask for the same names, read once."""

    @cached_property
    def names(self) -> frozenset[str]:
        """The names of files and other things, but for the shortest."""
        return frozenset(name for message in self for name in _names_in(message))

    @cached_property
    def words(self) -> set[str]:
        """All words that a name could be."""
        return find_words("\n".join([text[:_TEXT_CHARS] for message in self for text in texts_of(message)]))


def as_kept(messages: Iterable[Message]) -> KeptMessages:
    """Return the messages with what was read of them before, if anything was."""
    return messages if isinstance(messages, KeptMessages) else KeptMessages(messages)


def _names_in(message: Message) -> Iterable[str]:
    for part in message.parts:
        if isinstance(part, Text | ToolResult):
            text = part.text[:_TEXT_CHARS]
        elif isinstance(part, ToolCall):
            text = part.arguments[:_TEXT_CHARS]
        else:
            continue
        yield from (name for name in find_names(text) if len(name) >= _SHORTEST_NAME)
