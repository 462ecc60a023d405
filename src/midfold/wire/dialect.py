"""Everything of one provider's format in one value, and the walk that reading and writing share.

A dialect reads a wire item by walking its fields in a fixed order; each holds one part or a list of them. So
every part has its path, and an edited one is written back by walking again: only the path to it is copied.

One rule for edits: what is written says what the parts say. Every field of an edited part is written. A
removed part takes its key or list element with it, and a message with nothing left but thinking is not
written at all. A part that cannot stand where the old one stood goes where its kind belongs. What a dialect
cannot say is `Unwritable`, never left out in silence; `ToolResult.name` and `Media.detail` alone, which only
help to read, are said where there is a field for them.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeAlias

from midfold.late_dataclasses import dataclass
from midfold.messages import Message, Opaque, Part, Removed

if TYPE_CHECKING:
    from midfold.wire.apis.api import Api
    from midfold.wire.validate.profiles import Rules

Item: TypeAlias = dict[str, Any]
Path: TypeAlias = tuple[()] | tuple[str] | tuple[str, int]
"""An item as a whole, a field of it, or an element of a list in a field."""
Walk: TypeAlias = list[tuple[str, list[Part]]]
"""The fields of an item in order, each with the parts it holds."""
WHOLE_ITEM = ""
"""Stands in a walk for the name of a field where the whole item is one part."""

_compact_json = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode
_sorted_json = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, sort_keys=True).encode
_quote = json.encoder.encode_basestring
_PLAIN = (dict, list, str)
_SHOWN_KEYS, _SHOWN_KEY_CHARS = 6, 40


class Unreadable(ValueError):
    """A message cannot be read; `parse` adds its index in a `MalformedMessage`."""


class Unwritable(ValueError):
    """A part cannot be said here; `render` adds the index of its message in a `MalformedMessage`."""


class Evidence(IntEnum):
    """The strength of the evidence that an item gives about its writer."""

    NONE = 0
    HINT = 1
    """Others may write this, too."""
    PROOF = 2


@dataclass(frozen=True, slots=True)
class Change:
    """A part that differs from what the raw item says at its path."""

    path: Path
    old: Part
    new: Part


@dataclass(frozen=True, slots=True)
class Edits:
    """The differences of a message from its raw item."""

    changes: list[Change]
    added: list[Part]


RewritePart: TypeAlias = Callable[[object, Change], object]
"""Turns the old value at a path into one that says the new part; `None` where that cannot stand there."""
Add: TypeAlias = Callable[[Item, Part], Item]
"""Puts one more part into an item, where its kind belongs."""


@dataclass(frozen=True, slots=True)
class Features:
    """The things that a dialect can say; all else is lost when a conversation is converted to it."""

    thinking: bool = False
    call_ids: bool = True
    error_results: bool = False
    free_arguments: bool = True
    """arguments that are no object"""
    system_apart: bool = False
    """the system prompt is a field of the request, and roles alternate"""
    media: frozenset[str] = frozenset()
    media_in_results: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class ToolOffer:
    """A tool as it is offered to a model, whatever the API."""

    name: str
    description: str
    schema: object

    @property
    def named(self) -> Item:
        """Name and description, which every API writes alike."""
        return {"name": self.name} | ({"description": self.description} if self.description else {})


def build_function(tool: ToolOffer) -> Item:
    """Offer a tool as chat completions do."""
    return {"type": "function", "function": {**tool.named, "parameters": tool.schema}}


def _recognises_no_body(_body: Item, _messages: Sequence[object]) -> Evidence:
    return Evidence.NONE


@dataclass(frozen=True, slots=True)
class Dialect:
    """One provider's format of messages, and all that depends on it.

    A new dialect is a module with one of these and a line in `dialects.DIALECTS`; nothing else asks for the
    name of a dialect. `rules` and `api` name modules, which load when a request needs them.
    """

    name: str
    label: str
    """the name for people"""
    recognises: Callable[[Item], Evidence]
    role_of: Callable[[Item], str]
    walk: Callable[[Item], Walk]
    rewrite: Callable[[Item, Message, Edits], Item]
    """Write an edited message, sharing with its raw item all that did not change."""
    build: Callable[[Message], list[object]]
    """Write a message from its parts alone, in as many items as the dialect needs, as well as it can."""
    features: Features
    recognises_body: Callable[[Item, Sequence[object]], Evidence] = _recognises_no_body
    """Recognise the writer of a request body, given its messages."""
    message_fields: tuple[str, ...] = ("messages",)
    """where a request body has its messages; the first that is there counts"""
    system_field: str | None = None
    """where a request body has its system prompt, if not among the messages"""
    build_tool: Callable[[ToolOffer], Item] = build_function
    counted_as: str | None = None
    """the model whose tokens count where no model is named; `None` is the usual vocabulary"""
    input_includes_cache: bool = False
    """`input_tokens` of a usage report include what came from a cache"""
    rules: str | None = None
    """the module whose `RULES` say what the provider refuses; `None` where nothing is refused"""
    api: str | None = None
    """the module whose `API` sends requests in this dialect; `None` where nobody takes them"""

    def load_rules(self) -> "Rules | None":
        """Return what the provider refuses."""
        rules: Rules | None = import_module(self.rules).RULES if self.rules else None
        return rules

    def load_api(self) -> "Api | None":
        """Return the API that speaks this dialect."""
        api: Api | None = import_module(self.api).API if self.api else None
        return api

    def read(self, raw: object) -> Message:
        """Read one wire item; the message keeps `raw` itself."""
        item = raw if type(raw) is dict else as_item(raw)
        fields = self.walk(item)
        parts = fields[0][1] if len(fields) == 1 else [part for _, found in fields for part in found]
        return Message(self.role_of(item), tuple(parts), raw)

    def write(self, message: Message) -> list[object]:
        """Write one message: its own raw object when it says what that says."""
        if message.raw is None:
            return self.build(message)
        if not message.edited:
            return [message.raw]
        item = as_item(message.raw)
        edits = _find_edits(_locate(item, self.walk(item)), message)
        if not edits.changes and not edits.added:
            return [message.raw]
        return [] if _lost_its_words(message) else [self.rewrite(item, message, edits)]


def plain(value: object) -> object:
    """Return `value` as a dict or list where it stands for one; anything else comes back as it is.

    Callers append an SDK's reply object to their list as it is; no SDK is imported to understand it.
    """
    if value is None or isinstance(value, _PLAIN):
        return value
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        dumped: object = dump(exclude_unset=True)
        return dumped
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, tuple):
        return list(value)
    return value


def as_item(raw: object) -> Item:
    """Return `raw` as a dict with string keys, or raise `Unreadable`."""
    item = raw if type(raw) is dict else plain(raw)
    if not isinstance(item, dict):
        raise Unreadable(f"expected an object, found {describe(item)}")
    return item


def _locate(item: Item, walk: Walk) -> list[tuple[Path, Part]]:
    located: list[tuple[Path, Part]] = []
    for key, parts in walk:
        if key == WHOLE_ITEM:
            located += [((), part) for part in parts]
        elif isinstance(plain(item.get(key)), list):
            located += [((key, position), part) for position, part in enumerate(parts)]
        else:
            located += [((key,), part) for part in parts]
    return located


def _find_edits(located: Sequence[tuple[Path, Part]], message: Message) -> Edits:
    """Compare with what the raw item says: an edit that was taken back is none."""
    pairs = zip(located, message.parts, strict=False)
    changes = [Change(path, old, new) for (path, old), new in pairs if new != old]
    return Edits(changes, [part for part in message.parts[len(located) :] if not isinstance(part, Removed)])


def _lost_its_words(message: Message) -> bool:
    """Whether so much was removed that only thinking is left, which no provider takes."""
    return Removed() in message.parts and not any(part.is_covered for part in message.parts)


def patch(item: Item, edits: Edits, rewrite_part: RewritePart, add: Add) -> Item:
    """Copy `item` along the paths to the changed parts and write those anew."""
    moved: list[Part] = []
    # From the back, so that taking out a list element leaves the indices before it as they are.
    for change in reversed(edits.changes):
        is_removed = isinstance(change.new, Removed)
        value = None if is_removed else rewrite_part(_value_at(item, change.path), change)
        if value is not None:
            item = _put(item, change.path, value)
            continue
        item = _take_out(item, change.path)
        if not is_removed:
            moved.append(change.new)
    for part in (*reversed(moved), *edits.added):
        item = add(item, part)
    return item


def _value_at(item: Item, path: Path) -> object:
    match path:
        case (key, position):
            return plain(list_field(item, key)[position])
        case (key,):
            return plain(item.get(key))
        case _:
            return item


def _put(item: Item, path: Path, value: Any) -> Item:
    match path:
        case (key, position):
            values = list_field(item, key)
            return {**item, key: [*values[:position], value, *values[position + 1 :]]}
        case (key,):
            return {**item, key: value}
        case _:
            return as_item(value)


def _take_out(item: Item, path: Path) -> Item:
    match path:
        case (key, position):
            values = list_field(item, key)
            return {**item, key: [*values[:position], *values[position + 1 :]]}
        case (key,):
            return {name: value for name, value in item.items() if name != key}
        case _:
            raise Unwritable("another kind of part cannot take the place of this item")


def text_field(item: Item, key: str) -> str:
    """Return a field that must be text; missing and null count as empty."""
    value = item.get(key)
    if type(value) is str or isinstance(value, str):
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
    """Write a JSON value compactly; text that already is one comes back as it is."""
    if isinstance(value, str):
        return value
    try:
        return (_flat_json(value) if type(value) is dict else None) or _compact_json(value)
    except (TypeError, ValueError) as error:
        raise Unreadable(f"a value is not JSON: {error}") from error


def _flat_json(values: Item) -> str | None:
    """Write an object of texts and whole numbers, as nearly all arguments are; `None` for any other.

    The encoder would take longer to set up for each than it takes to read all the rest of a message.
    """
    fields = []
    for key, value in values.items():
        if type(key) is not str:
            return None
        if type(value) is str:
            fields.append(f"{_quote(key)}:{_quote(value)}")
        elif type(value) is int:
            fields.append(f"{_quote(key)}:{value}")
        else:
            return None
    return "{" + ",".join(fields) + "}"


def read_opaque(kind: str, value: object) -> Opaque:
    """Keep what no reader knows, written so that clients may move cache markers and keys inside it."""
    try:
        return Opaque(kind, _sorted_json(_without_markers(value)))
    except (TypeError, ValueError) as error:
        raise Unreadable(f"a value is not JSON: {error}") from error


def _without_markers(value: object) -> object:
    value = plain(value)
    if isinstance(value, dict):
        return {key: _without_markers(inner) for key, inner in value.items() if key != "cache_control"}
    return [_without_markers(inner) for inner in value] if isinstance(value, list) else value


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


def describe_keys(item: Item) -> str:
    """Name the first keys of an object, quoted and shortened: they are the caller's text."""
    keys = sorted(map(str, item))[:_SHOWN_KEYS]
    return ", ".join(repr(key[:_SHOWN_KEY_CHARS]) for key in keys) or "no keys"
