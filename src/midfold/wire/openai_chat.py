"""OpenAI chat completions, and the many servers that speak it.

Walk: thinking, content, refusal, legacy function call, tool calls. A tool message is one result.
"""

from collections.abc import Iterator, Sequence

from midfold.messages import Media, Message, Opaque, Part, Reasoning, Text, ToolCall, ToolResult
from midfold.wire.blocks import keep_marker, read_result, respell_result, respell_text
from midfold.wire.dialect import (
    Dialect,
    Item,
    Unreadable,
    Walk,
    as_item,
    describe,
    holds_block,
    json_text,
    list_field,
    object_field,
    patch,
    text_field,
)
from midfold.wire.media import media_from_url, stub, url_of
from midfold.wire.plain import plain

_RESULT_ROLES = ("tool", "function")
_REASONING_FIELDS = ("reasoning_content", "reasoning")
_OWN_BLOCKS = frozenset({"image_url", "input_audio", "file", "refusal"})


def recognises(item: Item) -> bool:
    if (
        item.get("tool_calls")
        or item.get("function_call")
        or item.get("role") in ("tool", "function", "developer")
    ):
        return "type" not in item
    if any(field in item for field in _REASONING_FIELDS):
        return True
    return holds_block(item, _OWN_BLOCKS)


def role_of(item: Item) -> str:
    role = item.get("role")
    if not isinstance(role, str) or not role:
        raise Unreadable(f"role is {describe(role)}; expected one of system, user, assistant, tool")
    return "tool" if role == "function" else role


def walk(item: Item) -> Walk:
    content = item.get("content")
    if item.get("role") in _RESULT_ROLES:
        yield ("content",), _read_result(item)
        return
    for field in _REASONING_FIELDS:
        if item.get(field):
            yield (field,), Reasoning(text_field(item, field))
            break
    if type(content) is str:
        yield ("content",), Text(content)
    elif content is not None:
        yield from _walk_blocks(content)
    if item.get("refusal"):
        yield ("refusal",), Text(text_field(item, "refusal"))
    if item.get("function_call"):
        yield ("function_call",), _read_function("", object_field(item, "function_call"))
    if item.get("tool_calls"):
        for position, call in enumerate(list_field(item, "tool_calls")):
            yield ("tool_calls", position), _read_call(call)


def _walk_blocks(content: object) -> Walk:
    if not isinstance(content, list):
        raise Unreadable(f"content is {describe(content)}; expected text or a list of parts")
    for position, block in enumerate(content):
        yield ("content", position), read_block(plain(block))


def read_block(block: object) -> Part:
    """Read one element of a content list."""
    if isinstance(block, str):
        return Text(block)
    block = as_item(block)
    match block.get("type"):
        case "text":
            return Text(text_field(block, "text"))
        case "refusal":
            return Text(text_field(block, "refusal"))
        case "image_url":
            if isinstance(block.get("image_url"), str):
                return media_from_url("image", block["image_url"])
            image = object_field(block, "image_url")
            return media_from_url("image", text_field(image, "url"), detail=text_field(image, "detail"))
        case "input_audio":
            audio = object_field(block, "input_audio")
            return Media("audio", f"audio/{text_field(audio, 'format')}", text_field(audio, "data"))
        case "file":
            file = object_field(block, "file")
            return media_from_url("document", text_field(file, "file_data") or text_field(file, "file_id"))
        case str(kind):
            return Opaque(kind, json_text(block))
        case _:
            raise Unreadable("a content part has no type")


def _read_result(item: Item) -> ToolResult:
    name = item.get("name") or item.get("tool_name")
    name = name if isinstance(name, str) else ""
    is_error = item.get("is_error") is True
    return read_result(text_field(item, "tool_call_id"), item.get("content"), read_block, is_error, name)


def _read_call(call: object) -> ToolCall:
    call = as_item(call)
    if call.get("custom") is not None:
        custom = object_field(call, "custom")
        return ToolCall(text_field(call, "id"), text_field(custom, "name"), text_field(custom, "input"))
    return _read_function(text_field(call, "id"), object_field(call, "function"))


def _read_function(call_id: str, function: Item) -> ToolCall:
    arguments = function.get("arguments")
    if not isinstance(arguments, str):
        arguments = _arguments_text(plain(arguments))
    return ToolCall(call_id, text_field(function, "name"), arguments)


def _arguments_text(arguments: object) -> str:
    """Some servers hand arguments over as objects, and none at all as null."""
    if arguments is None:
        return ""
    if not isinstance(arguments, dict | list):
        raise Unreadable(f"arguments are {describe(arguments)}; expected JSON text")
    return json_text(arguments)


def respell(old: object, part: Part) -> object:
    """Spell `part` where `old` stood."""
    match part:
        case Text(text) | Reasoning(text):
            return respell_text(old, text)
        case ToolResult():
            return respell_result(old, part, read_block)
        case ToolCall():
            return _respell_call(as_item(old), part)
        case _:
            return keep_marker(old, _build_block(part))


def _respell_call(old: Item, call: ToolCall) -> Item:
    if "custom" in old:
        return {**old, "custom": {**as_item(old["custom"]), "name": call.name, "input": call.arguments}}
    if "function" in old:
        return {**old, "function": _respell_function(as_item(old["function"]), call)}
    return _respell_function(old, call)


def _respell_function(old: Item, call: ToolCall) -> Item:
    parsed = isinstance(old.get("arguments"), dict | list)
    return {**old, "name": call.name, "arguments": call.parse_arguments() if parsed else call.arguments}


def build(message: Message) -> list[object]:
    """Spell a message: each result as a tool message of its own, then whatever else it holds."""
    items: list[object] = [
        {"role": "tool", "tool_call_id": result.call_id, "content": _build_result_text(result)}
        for result in message.results
    ]
    item = _build_rest(message)
    if item is not None:
        items.append(item)
    return items


def _build_result_text(result: ToolResult) -> str:
    return "\n".join([*filter(None, [result.text]), *(stub(media) for media in result.media)])


def _build_rest(message: Message) -> Item | None:
    rest = [part for part in message.parts if not isinstance(part, ToolResult)]
    blocks = list(_build_blocks(rest))
    calls = [_build_call(part) for part in rest if isinstance(part, ToolCall)]
    if not blocks and not calls:
        return None
    item: Item = {"role": message.role, "content": _shorten(blocks)}
    thinking = "\n".join(part.text for part in rest if isinstance(part, Reasoning) and part.text)
    if thinking:
        item["reasoning_content"] = thinking
    if calls:
        item["tool_calls"] = calls
    return item


def _build_blocks(parts: Sequence[Part]) -> Iterator[Item]:
    for part in parts:
        if isinstance(part, Media) or (isinstance(part, Text) and part.text):
            yield _build_block(part)


def _build_block(part: Part) -> Item:
    match part:
        case Text(text) | Opaque(_, text):
            return {"type": "text", "text": text}
        case Media("image") as media:
            detail = {"detail": media.detail} if media.detail else {}
            return {"type": "image_url", "image_url": {"url": url_of(media), **detail}}
        case Media("audio", mime, data):
            return {"type": "input_audio", "input_audio": {"data": data, "format": mime.rpartition("/")[2]}}
        case Media() as media:
            return {"type": "text", "text": stub(media)}
        case _:
            raise Unreadable(f"a {type(part).__name__} cannot stand in content")


def _shorten(blocks: list[Item]) -> object:
    """Spell content the way most servers expect: null, a string where it is one text, else the list."""
    if not blocks:
        return None
    if len(blocks) == 1 and blocks[0]["type"] == "text":
        return blocks[0]["text"]
    return blocks


def _build_call(call: ToolCall) -> Item:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}


def rewrite(item: Item, message: Message) -> list[object]:
    """Spell an edited message; content that lost its last block is null, never an empty list."""
    patched = patch(item, message, walk, respell)
    return [{**patched, "content": None} if patched.get("content") == [] else patched]


DIALECT = Dialect("openai_chat", recognises, role_of, walk, rewrite, build)
