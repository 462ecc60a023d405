"""Joins messages of one role in a row, for chat templates that refuse them.

A summary followed by the newest request is two user messages. They are kept apart everywhere but here, on
the way out, and stay separate parts of the joined message.
"""

from collections.abc import Sequence

from midfold.wire.dialect import Item
from midfold.wire.plain import plain

_JOINED_ROLES = ("user", "assistant")


def join_neighbours(messages: Sequence[object]) -> list[object]:
    """Return the messages with user after user, and assistant after assistant, joined; the input is kept."""
    joined: list[object] = []
    for raw in messages:
        item = plain(raw)
        previous = plain(joined[-1]) if joined else None
        if isinstance(item, dict) and isinstance(previous, dict) and _can_join(previous, item):
            joined[-1] = {**item, **previous, "content": [*_blocks(previous), *_blocks(item)]}
        else:
            joined.append(raw)
    return joined


def _can_join(previous: Item, item: Item) -> bool:
    """An assistant that called tools is followed by their results, so only words are ever joined."""
    return previous.get("role") == item.get("role") in _JOINED_ROLES and not previous.get("tool_calls")


def _blocks(item: Item) -> list[object]:
    content = plain(item.get("content"))
    if isinstance(content, list):
        return content
    return [{"type": "text", "text": content}] if content else []
