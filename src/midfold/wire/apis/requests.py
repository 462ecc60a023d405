"""Requests on their way out: brought into the dialect of the API, tools included, and encoded."""

import json
from collections.abc import Sequence

from midfold.errors import DialectError
from midfold.late_dataclasses import replace
from midfold.late_patterns import compile_late
from midfold.messages import Message, Text
from midfold.wire.conversion import convert
from midfold.wire.dialect import Item, ToolOffer, Unreadable, as_item, describe, plain
from midfold.wire.dialects import Request, get_dialect, parse, read_request

_NO_PARAMETERS = {"type": "object", "properties": {}}
_LONE_SURROGATE = compile_late("[\ud800-\udfff]")


def fit_request(request: object, dialect: str) -> Request:
    """Return `request` in `dialect`.

    It may be a `Request`, a text that the user says, a list of messages or a body in any dialect. Fields of a
    body in another dialect that belong to that dialect alone, such as sampling settings, are left behind.
    """
    if isinstance(request, str):
        return Request(dialect, [{"role": "user", "content": request}])
    found = request if isinstance(request, Request) else read_request(request)
    if found.dialect == dialect:
        return found
    converted = convert([*_system_of(found), *parse(found.messages, found.dialect)], dialect)
    return replace(
        found,
        dialect=dialect,
        messages=converted.messages,
        system=converted.system,
        tools=convert_tools(found.tools, dialect) if found.tools else None,
        raw=None,
    )


def convert_tools(tools: Sequence[object], to: str) -> list[object]:
    """Write tools of any API for the API `to`.

    Raises `DialectError` for a tool that a provider runs itself: nobody else has it.
    """
    build_tool = get_dialect(to).build_tool
    return [build_tool(_read_tool(index, tool)) for index, tool in enumerate(tools)]


def _read_tool(index: int, raw: object) -> ToolOffer:
    try:
        fields = _fields_of(as_item(raw))
    except Unreadable as error:
        raise DialectError(f"tool {index} cannot be offered through another API: {error}") from error
    schema = fields.get("parameters") or fields.get("input_schema") or _NO_PARAMETERS
    return ToolOffer(fields["name"], str(fields.get("description") or ""), schema)


def _fields_of(tool: Item) -> Item:
    """Return the object that holds name and schema, which chat completions put one level down."""
    if tool.get("type", "function") != "function" and "input_schema" not in tool:
        raise Unreadable(f"only its own provider runs one of type {tool['type']!r}")
    inner = plain(tool.get("function"))
    fields: Item = inner if isinstance(inner, dict) else tool
    if not isinstance(fields.get("name"), str):
        raise Unreadable("it has no name")
    return fields


def encode_body(body: Item) -> bytes:
    """Write a body as JSON; SDK objects in it are written as the dicts they stand for.

    Lone surrogates, which no provider takes, become U+FFFD. Raises `DialectError` for what is not JSON.
    """
    try:
        text = json.dumps(body, default=_plain, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        raise DialectError(f"the request cannot be written as JSON: {error}") from error
    try:
        return text.encode()
    except UnicodeEncodeError:
        return _LONE_SURROGATE.sub("\ufffd", text).encode()


def _plain(value: object) -> object:
    found = plain(value)
    if found is value:
        raise TypeError(f"it holds {describe(value)}")
    return found


def _system_of(request: Request) -> Sequence[Message]:
    """Return the system prompt that travels beside the messages as one of them."""
    return [Message("system", (Text(request.system_text),))] if request.system_text else []
