"""Offers of tools, respelled for another API."""

from collections.abc import Sequence
from dataclasses import dataclass

from midfold.errors import DialectError
from midfold.wire.dialect import Item, Unreadable, as_item
from midfold.wire.plain import plain

_NO_PARAMETERS = {"type": "object", "properties": {}}


@dataclass(frozen=True, slots=True)
class _Tool:
    name: str
    description: str
    schema: object


def convert_tools(tools: Sequence[object], to: str) -> list[object]:
    """Spell tools of any API for the API `to`.

    Raises `DialectError` for a tool that a provider runs itself: nobody else has it.
    """
    return [_spell(_read(index, tool), to) for index, tool in enumerate(tools)]


def _read(index: int, raw: object) -> _Tool:
    try:
        fields = _fields_of(as_item(raw))
    except Unreadable as error:
        raise DialectError(f"tool {index} cannot be offered through another API: {error}") from error
    schema = fields.get("parameters") or fields.get("input_schema") or _NO_PARAMETERS
    return _Tool(fields["name"], str(fields.get("description") or ""), schema)


def _fields_of(tool: Item) -> Item:
    """Return the object that holds name and schema, which chat completions put one level down."""
    if tool.get("type", "function") != "function" and "input_schema" not in tool:
        raise Unreadable(f"only its own provider runs one of type {tool['type']!r}")
    inner = plain(tool.get("function"))
    fields: Item = inner if isinstance(inner, dict) else tool
    if not isinstance(fields.get("name"), str):
        raise Unreadable("it has no name")
    return fields


def _spell(tool: _Tool, to: str) -> Item:
    named = {"name": tool.name} | ({"description": tool.description} if tool.description else {})
    match to:
        case "anthropic":
            return {**named, "input_schema": tool.schema}
        case "openai_responses":
            return {"type": "function", **named, "parameters": tool.schema}
        case _:
            return {"type": "function", "function": {**named, "parameters": tool.schema}}
