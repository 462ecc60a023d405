"""Anthropic Messages: content is text or blocks, results ride in user messages, thinking is signed.

Walk: the content's blocks, in order.
"""

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
    object_field,
    patch,
    text_field,
)
from midfold.wire.media import is_reference, stub
from midfold.wire.plain import plain

_OWN_BLOCKS = frozenset(
    {"tool_use", "tool_result", "thinking", "redacted_thinking", "server_tool_use", "document", "image"}
)


def recognises(item: Item) -> bool:
    return item.get("role") in ("user", "assistant") and holds_block(item, _OWN_BLOCKS)


def role_of(item: Item) -> str:
    role = item.get("role")
    if not isinstance(role, str) or not role:
        raise Unreadable(f"role is {describe(role)}; expected user or assistant")
    return role


def walk(item: Item) -> Walk:
    content = item.get("content")
    if type(content) is str:
        yield ("content",), Text(content)
    elif isinstance(content, list):
        for position, block in enumerate(content):
            yield ("content", position), read_block(block if type(block) is dict else plain(block))
    elif content is not None:
        raise Unreadable(f"content is {describe(content)}; expected text or a list of blocks")


def read_block(block: object) -> Part:
    """Read one content block."""
    if type(block) is not dict:
        if isinstance(block, str):
            return Text(block)
        block = as_item(block)
    match block.get("type"):
        case "text":
            return Text(text_field(block, "text"))
        case "tool_use":
            return ToolCall(
                text_field(block, "id"), text_field(block, "name"), _arguments_of(block.get("input"))
            )
        case "tool_result":
            return _read_result(block)
        case "thinking":
            return Reasoning(text_field(block, "thinking"), text_field(block, "signature"))
        case "redacted_thinking":
            return Reasoning("", text_field(block, "data"))
        case "image" | "document" as kind if isinstance(plain(block.get("source")), dict):
            return _read_media(kind, object_field(block, "source"))
        case str(kind):
            return Opaque(
                kind, json_text({key: value for key, value in block.items() if key != "cache_control"})
            )
        case _:
            raise Unreadable("a content block has no type")


def _read_result(block: Item) -> ToolResult:
    is_error = block.get("is_error") is True
    return read_result(text_field(block, "tool_use_id"), block.get("content"), read_block, is_error=is_error)


def _arguments_of(given: object) -> str:
    return "{}" if given is None else json_text(plain(given))


def _read_media(kind: str, source: Item) -> Media:
    place = text_field(source, "data") or text_field(source, "url") or text_field(source, "file_id")
    return Media(kind, text_field(source, "media_type"), place)


def respell(old: object, part: Part) -> object:
    """Spell `part` where `old` stood."""
    match part:
        case Text(text):
            return respell_text(old, text)
        case ToolResult():
            block = as_item(old)
            return {**block, "content": respell_result(plain(block.get("content")), part, read_block)}
        case ToolCall():
            return {**as_item(old), "name": part.name, "input": _input_of(part)}
        case _:
            return keep_marker(old, build_block(part))


def _input_of(call: ToolCall) -> object:
    """Return the arguments as the object that Anthropic demands."""
    arguments = call.parse_arguments() if call.arguments else {}
    return arguments if isinstance(arguments, dict) else {"input": arguments}


def build(message: Message) -> list[object]:
    """Spell a message, results first as the provider demands."""
    results = [build_block(part) for part in message.results]
    rest = [build_block(part) for part in message.parts if _has_substance(part)]
    role = "assistant" if message.role == "assistant" else "user"
    return [{"role": role, "content": [*results, *rest]}] if results or rest else []


def _has_substance(part: Part) -> bool:
    match part:
        case Text(text) | Opaque(_, text):
            return bool(text.strip())
        case Reasoning(_, signature):
            return bool(signature)
        case ToolCall() | Media():
            return True
        case _:
            return False


def build_block(part: Part) -> Item:
    """Spell one part as a block."""
    match part:
        case Text(text) | Opaque(_, text):
            return {"type": "text", "text": text}
        case ToolCall(call_id, name, _):
            return {"type": "tool_use", "id": call_id, "name": name, "input": _input_of(part)}
        case ToolResult(call_id, text, is_error, media):
            content = [{"type": "text", "text": text}] if text.strip() else []
            block: Item = {"type": "tool_result", "tool_use_id": call_id}
            block["content"] = [*content, *map(build_block, media)] if media else text
            return {**block, "is_error": True} if is_error else block
        case Media("image" | "document" as kind, mime, source) if mime:
            return {"type": kind, "source": {"type": "base64", "media_type": mime, "data": source}}
        case Media("image" | "document" as kind, _, source) if is_reference(part):
            return {"type": kind, "source": {"type": "url", "url": source}}
        case Media():
            return {"type": "text", "text": stub(part)}
        case Reasoning(text, signature) if text:
            return {"type": "thinking", "thinking": text, "signature": signature}
        case Reasoning(_, signature):
            return {"type": "redacted_thinking", "data": signature}
        case _:
            raise Unreadable(f"a {type(part).__name__} cannot stand in content")


def rewrite(item: Item, message: Message) -> list[object]:
    """Spell an edited message."""
    return [patch(item, message, walk, respell)]


DIALECT = Dialect("anthropic", recognises, role_of, walk, rewrite, build)
