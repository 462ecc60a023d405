"""Anthropic's prompt-cache breakpoints, placed where the next request will find them.

A breakpoint lets the provider keep everything up to it. Four are allowed over tools, system prompt and
messages; a fifth, or one on an empty text, is an error that stops the conversation for good.
"""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, TypeAlias

from midfold.errors import ConfigError
from midfold.late_dataclasses import dataclass
from midfold.wire import anthropic, openai_chat
from midfold.wire.dialect import Item, plain

System: TypeAlias = str | list[Any] | None

MAX_BREAKPOINTS = 4
MESSAGE_BREAKPOINTS = 3

LOOK_BACK_BLOCKS = 18
"""The provider looks some 20 blocks back from a breakpoint; two are left for blocks that we cannot see."""

_KEY = "cache_control"
_HOLDERS = ("content", "tool_calls", "function", "source")
"""Where blocks and tools have others inside, which may carry a marker of their own."""

_SYSTEM_ROLES = ("system", "developer")
_RESULT_ROLES = ("tool", "function")
_UNMARKABLE = ("thinking", "redacted_thinking", "fallback", "mcp_tool_listing")
"""The kinds of block for which the API has no `cache_control`."""

_BEFORE_SYSTEM = -2
_BEFORE_MESSAGES = -1


@dataclass(frozen=True, slots=True)
class _Present:
    """A marker that the caller set: in message `position`, or before the messages where that is negative."""

    position: int
    ttl: str


def caching_applies(model: str, route: str) -> bool:
    """Say whether breakpoints help: Claude models, on the native API or OpenRouter."""
    return "claude" in model.lower() and route.lower() in ("anthropic", "native", "openrouter")


def apply_cache_control(
    messages: Sequence[Any],
    system: System = None,
    ttl: str = "5m",
    native: bool = True,
    tools: Sequence[Any] | None = None,
) -> tuple[list[Any], System]:
    """Return messages and system prompt with breakpoints: one on the system prompt, three on messages.

    The system prompt is `system`, or else a leading system message. The messages are the newest three that
    can carry a marker, unless a turn has grown past what the provider looks back: then the oldest of the
    three gives way to the end of the previous request, which is the last message before the newest run of
    assistant messages. With `native` false, `tool` messages and calls without words carry no marker and older
    messages do instead.

    Markers of the caller stay and count, those in `tools` included; a message or system prompt that has one
    gets no other. Next to the caller's, ours take the TTL that keeps the order legal, be it not `ttl`.
    Nothing is changed in place: what gets a marker is copied along the path to it, SDK objects as dicts, and
    all else is the same object. Raises `ConfigError` for a `ttl` other than 5m and 1h.
    """
    if ttl not in ("5m", "1h"):
        raise ConfigError("model.cache_ttl", ttl, hint="5m or 1h")
    present = list(_present_markers(messages, system, tools))
    marked = {marker.position for marker in present}
    items = [_item(message) for message in messages]
    chosen = [position for position in _choose(items, system, native=native) if position not in marked]

    placed: list[Any] = list(messages)
    placed_system = list(system) if isinstance(system, list) else system
    for position in chosen[: max(0, MAX_BREAKPOINTS - len(present))]:
        marker = _marker(_legal_ttl(position, present, ttl))
        if position == _BEFORE_MESSAGES:
            placed_system = _mark_content(system, marker)
        else:
            placed[position] = _mark_message(items[position], marker)
    return placed, placed_system


def count_markers(messages: Sequence[Any], system: System = None, tools: Sequence[Any] | None = None) -> int:
    """Count the breakpoints of a request. A `cache_control` of the request itself is one more."""
    return sum(1 for _ in _present_markers(messages, system, tools))


def strip_cache_control(messages: Sequence[Any], system: System = None) -> tuple[list[Any], System]:
    """Return the messages and the system prompt without any marker; what had none is the same object."""
    stripped_system = [_strip(block) for block in system] if isinstance(system, list) else system
    return [_strip(message) for message in messages], stripped_system


def _choose(items: Sequence[Item], system: System, *, native: bool) -> list[int]:
    """Return the positions that deserve a breakpoint, the most useful first.

    They depend on the words alone, never on markers, so that a second application finds them marked.
    """
    openai_shaped = _is_openai_shaped(items, system)

    def carriers(newest: int) -> Iterator[int]:
        for position in range(newest, -1, -1):
            if _can_carry(items[position], openai_shaped=openai_shaped, native=native):
                yield position

    newest = list(islice(carriers(len(items) - 1), MESSAGE_BREAKPOINTS))
    end = next(carriers(_end_of_previous_request(items)), None)
    if end is not None and sum(map(_count_blocks, items[end + 1 : newest[0] + 1])) > LOOK_BACK_BLOCKS:
        newest = [newest[0], end, *(position for position in newest[1:] if position != end)]
    return [*_system_position(items, system), *newest[:MESSAGE_BREAKPOINTS]]


def _system_position(items: Sequence[Item], system: System) -> list[int]:
    """Return where the system prompt is, if there is one with words in it."""
    if system is not None:
        return [_BEFORE_MESSAGES] if _last_markable(system) is not None else []
    if items and items[0].get("role") in _SYSTEM_ROLES:
        return [0] if _last_markable(plain(items[0].get("content"))) is not None else []
    return []


def _end_of_previous_request(items: Sequence[Item]) -> int:
    """Return the last message of the previous request, which filled the cache up to it; -1 if there is none.

    The newest run of assistant messages is the reply to that request; it and all after it, such as the
    results of twenty parallel calls, are new. Only a breakpoint near the message before the run finds what
    is cached. Where it cannot carry a marker, the next older one that can stands for it, as it did then.
    """
    position = len(items) - 1
    while position >= 0 and items[position].get("role") != "assistant":
        position -= 1
    while position >= 0 and items[position].get("role") == "assistant":
        position -= 1
    return position


def _count_blocks(item: Item) -> int:
    """Count the blocks that the provider makes of a message, one too many rather than one too few."""
    content = plain(item.get("content"))
    calls = plain(item.get("tool_calls"))
    own = len(content) if isinstance(content, list) and item.get("role") not in _RESULT_ROLES else 1
    return own + (len(calls) if isinstance(calls, list) else 0)


def _is_openai_shaped(items: Sequence[Item], system: System) -> bool:
    """Say whether a message may carry a marker itself; Anthropic refuses unknown keys on messages."""
    for item in items:
        if openai_chat.recognises(item):
            return True
        if anthropic.recognises(item):
            return False
    return system is None


def _can_carry(item: Item, *, openai_shaped: bool, native: bool) -> bool:
    role = item.get("role")
    if role in _RESULT_ROLES:
        return native
    if role not in ("user", "assistant"):
        return False
    content = plain(item.get("content"))
    if _last_markable(content) is not None:
        return True
    # Gateways drop a marker beside an assistant's calls, and with it one of the four.
    return openai_shaped and _is_blank(content) and (native or role == "user")


def _last_markable(content: object) -> int | None:
    """Return the position of the last block that may carry a marker; a text is one block."""
    if isinstance(content, str):
        return 0 if content.strip() else None
    if not isinstance(content, list):
        return None
    for position in range(len(content) - 1, -1, -1):
        block = plain(content[position])
        if isinstance(block, dict) and block.get("type") not in _UNMARKABLE and not _is_blank_text(block):
            return position
    return None


def _is_blank(content: object) -> bool:
    if isinstance(content, list):
        return all(_is_blank_text(plain(block)) for block in content)
    return content is None or (isinstance(content, str) and not content.strip())


def _is_blank_text(block: object) -> bool:
    return (
        isinstance(block, dict) and block.get("type") == "text" and not str(block.get("text") or "").strip()
    )


def _mark_message(item: Item, marker: Item) -> Item:
    """Mark the last block that may be; a result in OpenAI's shape, or a message without words, on itself."""
    content = plain(item.get("content"))
    if item.get("role") in _RESULT_ROLES or _last_markable(content) is None:
        return {**item, _KEY: marker}
    return {**item, "content": _mark_content(content, marker)}


def _mark_content(content: Any, marker: Item) -> list[Any]:
    if isinstance(content, str):
        return [{"type": "text", "text": content, _KEY: marker}]
    position = _last_markable(content)
    return [
        {**_item(block), _KEY: marker} if index == position else block for index, block in enumerate(content)
    ]


def _marker(ttl: str) -> Item:
    return {"type": "ephemeral", "ttl": ttl} if ttl == "1h" else {"type": "ephemeral"}


def _legal_ttl(position: int, present: Sequence[_Present], wanted: str) -> str:
    """Return `wanted`, or what the caller's markers demand: the API refuses 1h anywhere behind 5m."""
    if any(marker.position > position and marker.ttl == "1h" for marker in present):
        return "1h"
    if any(marker.position < position and marker.ttl != "1h" for marker in present):
        return "5m"
    return wanted


def _present_markers(
    messages: Sequence[Any], system: System, tools: Sequence[Any] | None
) -> Iterator[_Present]:
    sections = [(_BEFORE_SYSTEM, tools), (_BEFORE_MESSAGES, system), *enumerate(messages)]
    for position, section in sections:
        for marker in _markers_in(section):
            yield _Present(position, "1h" if _item(marker).get("ttl") == "1h" else "5m")


def _markers_in(value: object) -> Iterator[object]:
    """Find the markers of a message, a tool or a list of blocks, and of what is inside them."""
    unread = [value]
    while unread:
        node = plain(unread.pop())
        if isinstance(node, list):
            unread.extend(node)
        elif isinstance(node, dict):
            if node.get(_KEY):
                yield node[_KEY]
            unread.extend(node[key] for key in _HOLDERS if key in node)


def _strip(value: Any) -> Any:
    """Return `value` without markers: itself where there is none, else a copy along the paths to them."""
    node = plain(value)
    if isinstance(node, list):
        stripped = [_strip(member) for member in node]
        return stripped if any(new is not old for new, old in zip(stripped, node, strict=True)) else value
    if not isinstance(node, dict):
        return value
    changed = {key: new for key in _HOLDERS if key in node and (new := _strip(node[key])) is not node[key]}
    if not changed and _KEY not in node:
        return value
    return {key: changed.get(key, member) for key, member in node.items() if key != _KEY}


def _item(value: object) -> Item:
    """Read `value` as a dict; what is none can carry no marker."""
    node = plain(value)
    return node if isinstance(node, dict) else {}
