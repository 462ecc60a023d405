"""What a dialect is, and the walk that reading and writing share.

A dialect reads a wire item as parts by walking its locations in a fixed order. Part *n* belongs to the
*n*-th location, so an edited part is written back by walking again: only the path to it is copied.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from midfold.messages import Message, Part, Removed
from midfold.wire.plain import plain

Item: TypeAlias = dict[str, Any]
Path: TypeAlias = tuple[str | int, ...]
Walk: TypeAlias = Iterator[tuple[Path, Part]]
Respell: TypeAlias = Callable[[object, Part], object]
"""Turns the old value at a location into one that says what the new part says."""

compact_json = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode
_quote = json.encoder.encode_basestring


class Unreadable(ValueError):
    """A message cannot be read; whoever knows its index says so in a `MalformedMessage`."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """How one provider spells messages."""

    name: str
    recognises: Callable[[Item], bool]
    """True for an item that no other dialect writes."""
    role_of: Callable[[Item], str]
    walk: Callable[[Item], Walk]
    rewrite: Callable[[Item, Message], list[object]]
    """Spell an edited message, sharing with its raw item all that did not change."""
    build: Callable[[Message], list[object]]
    """Spell a message from its parts alone, in as many items as the dialect needs for it."""

    def read(self, raw: object) -> Message:
        """Read one wire item; the message keeps `raw` itself."""
        item = raw if type(raw) is dict else as_item(raw)
        return Message(self.role_of(item), tuple([part for _, part in self.walk(item)]), raw)

    def write(self, message: Message) -> list[object]:
        """Spell one message: its own raw object when nothing was edited."""
        if message.raw is None:
            return self.build(message)
        if not message.edited:
            return [message.raw]
        return self.rewrite(as_item(message.raw), message)


def as_item(raw: object) -> Item:
    """Return `raw` as a dict with string keys, or raise `Unreadable`."""
    item = raw if type(raw) is dict else plain(raw)
    if not isinstance(item, dict):
        raise Unreadable(f"expected an object, found {describe(item)}")
    return item


def patch(item: Item, message: Message, walk: Callable[[Item], Walk], respell: Respell) -> Item:
    """Copy `item` along the paths to the edited parts and spell those anew."""
    paths = [path for path, _ in walk(item)]
    patched: Item = item
    # From the back, so that removing a list element leaves the locations before it in place.
    for position in sorted(message.edited, reverse=True):
        patched = _put(patched, paths[position], message.parts[position], respell)
    return patched


def _put(node: Any, path: Path, part: Part, respell: Respell) -> Any:
    """Copy `node` and what leads from it along `path`, with `part` spelled at the end."""
    key = path[0]
    copy = node.copy()
    if len(path) > 1:
        copy[key] = _put(plain(node[key]), path[1:], part, respell)
    elif isinstance(part, Removed):
        del copy[key]
    else:
        copy[key] = respell(plain(node[key]), part)
    return copy


def holds_block(item: Item, kinds: frozenset[str]) -> bool:
    """Whether the content is a list with a block of one of these kinds; SDK objects count."""
    content = item.get("content")
    if not isinstance(content, list):
        return False
    found = [
        block.get("type") if isinstance(block, dict) else getattr(block, "type", None) for block in content
    ]
    return any(isinstance(kind, str) and kind in kinds for kind in found)


def text_field(item: Item, key: str) -> str:
    """Return a field that must be text; missing and null count as empty."""
    value = item.get(key)
    if isinstance(value, str):
        return value
    if value is not None:
        raise Unreadable(f"{key} is {describe(value)}; expected text")
    return ""


def object_field(item: Item, key: str) -> Item:
    """Return a field that must be an object."""
    value = item.get(key)
    if type(value) is not dict:
        value = plain(value)
    if not isinstance(value, dict):
        raise Unreadable(f"{key} is {describe(value)}; expected an object")
    return value


def list_field(item: Item, key: str) -> list[object]:
    """Return a field that must be a list; missing and null count as empty."""
    value = plain(item.get(key))
    if value is None:
        return []
    if not isinstance(value, list):
        raise Unreadable(f"{key} is {describe(value)}; expected a list")
    return value


def json_text(value: object) -> str:
    """Spell a JSON value compactly; text that already is one comes back as it is."""
    if isinstance(value, str):
        return value
    flat = _flat_json(value) if type(value) is dict else None
    if flat is not None:
        return flat
    try:
        return compact_json(value)
    except (TypeError, ValueError) as error:
        raise Unreadable(f"a value is not JSON: {error}") from error


def _flat_json(values: Item) -> str | None:
    """Spell an object of texts and whole numbers, as nearly all arguments are; `None` for any other.

    The encoder would take longer to set up for each than it takes to read all the rest of a message.
    """
    spelled = []
    for key, value in values.items():
        if type(key) is not str:
            return None
        if type(value) is str:
            spelled.append(f"{_quote(key)}:{_quote(value)}")
        elif type(value) is int:
            spelled.append(f"{_quote(key)}:{value}")
        else:
            return None
    return "{" + ",".join(spelled) + "}"


def describe(value: object) -> str:
    """Name the type of a value in the words of JSON, for an error message."""
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case str():
            return "text"
        case int() | float():
            return "a number"
        case list():
            return "a list"
        case dict():
            return "an object"
        case _:
            return f"a {type(value).__name__}"
